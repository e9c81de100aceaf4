/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds of objects, one a type: how they are followed, named and measured.
 */
#ifndef VLLM_SOAK_KINDS_H
#define VLLM_SOAK_KINDS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "column.h"

/* How the objects of one type are treated. */
typedef struct {
    PyTypeObject *type; /* strong */
    traverseproc traverse;
    PyObject *sizer; /* borrowed from the rules: `__sizeof__` of a type that we trust, or NULL */
    PyCFunction measure; /* the function behind it, once one was asked for */
    PyObject *own;   /* `__sizeof__` of its own, once it was asked for, or None; strong */
    uint64_t name;   /* hash of its name and size: the same in every walk */
    Py_ssize_t basic;
    Py_ssize_t item;
    uint32_t header;
    uint8_t base; /* 1 + place among the container types, or 0 */
    uint8_t follow;
    uint8_t linked; /* the collector knows its objects, or all but static types */
    uint8_t late;
    uint8_t plain; /* a builtin container: its type says nothing of what it is for */
    uint8_t rounded; /* its size, to whole words */
    uint8_t is_type;
    uint8_t is_long;
    uint8_t shape;        /* how its size is told: see shallow_size() */
    uint8_t spread;       /* its instances' attributes lie in front of them, in a block of their own */
    uint8_t entries;      /* how it can be read in parts: see follow.c */
    getiterfunc iterate;  /* of its base type */
} Kind;

typedef struct {
    PyObject *containers; /* tuple of types, most derived first */
    PyObject *late;       /* tuple of types */
    PyObject *plain;      /* tuple of types */
    PyObject *sizers;     /* tuple of (type, __sizeof__) */
    PyObject *names;      /* type.__dict__["__name__"] */
    PyObject *basic;      /* type.__dict__["__basicsize__"] */
    PyObject *item;       /* type.__dict__["__itemsize__"] */
    PyObject *namespaces; /* type.__dict__["__dict__"] */
    PyObject *subclasses; /* type.__subclasses__ */
    PyObject *sizer;      /* a type's own `__sizeof__`, or None */
} Rules;

typedef struct {
    Column kinds;     /* Kind */
    Column addresses; /* uint64_t, of the types: keys of the index */
    Index index;
    struct {
        PyTypeObject *type;
        uint32_t kind;
    } recent[256];
} Kinds;

int kinds_find(Kinds *kinds, const Rules *rules, PyTypeObject *type, uint32_t *found);

#define HASH_START UINT64_C(0xCBF29CE484222325) /* FNV-1a */
#define HASH_PRIME UINT64_C(0x100000001B3)
uint64_t hash_text(uint64_t hash, PyObject *text);
enum { WHOLE, MAP, LIST_LIKE, TUPLE_LIKE, ITERATED };

void kinds_shapes(void); /* to be called once: checks what is known of lists and strings */
void kinds_free(Kinds *kinds);
Py_ssize_t text_length(PyObject *text);
uint8_t shape_of(PyTypeObject *type);
size_t shallow_size(Kind *kind, PyObject *object);
int is_static_type(const Kind *kind, PyObject *object);
size_t container_length(const Kind *kind, PyObject *object);
PyObject *read_descriptor(PyObject *descriptor, PyObject *object);

#endif
