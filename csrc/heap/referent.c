/* SPDX-License-Identifier: Apache-2.0
 *
 * The object at an address, if another one refers to it: its referents are visited, and none is kept.
 */
#include "heap.h"

#define HAS_GC (1ul << 14)

typedef struct {
    uintptr_t address;
    PyObject *found; /* borrowed: its owner is there, and nothing runs meanwhile */
} Wanted;

static int visit(PyObject *child, void *wanted_) {
    Wanted *wanted = wanted_;
    if ((uintptr_t)child != wanted->address || Py_REFCNT(child) <= 0) {
        return 0; /* dead: see discover.c */
    }
    wanted->found = child;
    return 1;
}

static int is_traversed(PyTypeObject *type, PyObject *object) {
    unsigned long flags = PyType_GetFlags(type);
    int is_static = (flags & Py_TPFLAGS_TYPE_SUBCLASS) && !(PyType_GetFlags((PyTypeObject *)object) & Py_TPFLAGS_HEAPTYPE);
    return (flags & HAS_GC) && !is_static && PyType_GetSlot(type, Py_tp_traverse) != NULL;
}

PyObject *referent(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *object;
    unsigned long long address;
    if (!PyArg_ParseTuple(arguments, "OK", &object, &address)) {
        return NULL;
    }
    Wanted wanted = {(uintptr_t)address, NULL};
    if (is_traversed(Py_TYPE(object), object)) {
        ((traverseproc)PyType_GetSlot(Py_TYPE(object), Py_tp_traverse))(object, visit, &wanted);
    }
    return Py_NewRef(wanted.found == NULL ? Py_None : wanted.found);
}
