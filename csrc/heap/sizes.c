/* SPDX-License-Identifier: Apache-2.0
 *
 * How many bytes an object takes, without what it refers to: what `sys.getsizeof()` says, by the fields of the object
 * where these are known.
 */
#include "heap.h"

#include <string.h>

/* Digits of an int: from 3.12 on the field holds them shifted by three bits of flags. */
static size_t items(const Kind *kind, PyObject *object) {
    Py_ssize_t size = Py_SIZE(object);
    if (kind->is_long && python_version >= 0x030C0000) {
        return (size_t)size >> 3;
    }
    return (size_t)(size < 0 ? -size : size);
}

/* A list's room, and a string's width, are not in the stable ABI. Where they are was the same in 3.10 to 3.13, and is
 * tried out on some of each when the module is loaded; if it does not hold, the objects are asked. */
enum { BY_FIELDS, LIST, STRING };

static int known_list, known_string;

static size_t list_size(PyObject *list) {
    Py_ssize_t room;
    memcpy(&room, (char *)list + sizeof(PyVarObject) + sizeof(void *), sizeof room);
    return 40 + (size_t)room * sizeof(void *);
}

/* 0 for a string that is not in one piece, or has its UTF-8 beside it: it is to be asked. */
static size_t string_size(PyObject *string) {
    int old = python_version < 0x030C0000;
    uint32_t state;
    size_t length;
    memcpy(&length, (char *)string + 16, sizeof length);
    memcpy(&state, (char *)string + 32, sizeof state);
    size_t kind = state >> 2 & 7, compact = state >> 5 & 1, ascii = state >> 6 & 1;
    return compact && ascii && kind == 1 ? (old ? 48 : 40) + length + 1 : 0;
}

Py_ssize_t text_length(PyObject *text) {
    Py_ssize_t length;
    if (!known_string) {
        return PyUnicode_GetLength(text);
    }
    memcpy(&length, (char *)text + 16, sizeof length);
    return length;
}

static int agrees(PyObject *object, size_t size) {
    PyObject *number = PyObject_CallMethod(object, "__sizeof__", NULL);
    size_t asked = number == NULL ? 0 : PyLong_AsSize_t(number);
    Py_XDECREF(number);
    Py_DecRef(object);
    PyErr_Clear();
    return asked == size;
}

static int try_list(Py_ssize_t length) {
    PyObject *list = PyList_New(length);
    for (Py_ssize_t at = 0; list != NULL && at < length; at++) {
        PyList_SetItem(list, at, Py_NewRef(Py_None));
    }
    if (list == NULL || PyList_Append(list, Py_None) < 0) {
        Py_XDECREF(list);
        return 0;
    }
    return agrees(list, list_size(list));
}

static int try_string(const char *text, int simple) {
    PyObject *string = PyUnicode_FromString(text);
    if (string == NULL) {
        return 0;
    }
    size_t size = string_size(string);
    if (simple) {
        return agrees(string, size);
    }
    Py_DecRef(string);
    return size == 0;
}

void kinds_shapes(void) {
    known_list = try_list(0) && try_list(3) && try_list(100);
    known_string = try_string("", 1) && try_string("a", 1) && try_string("a longer one, of words", 1) &&
                   try_string("\xc3\xa9", 0) && try_string("\xe2\x82\xac", 0) && try_string("\xf0\x9f\x98\x80 x", 0);
    PyErr_Clear();
}

static size_t quick_size(const Kind *kind, PyObject *object) {
    return kind->shape == LIST ? list_size(object) : kind->shape == STRING ? string_size(object) : 0;
}

uint8_t shape_of(PyTypeObject *type) {
    return type == &PyList_Type && known_list ? LIST : type == &PyUnicode_Type && known_string ? STRING : BY_FIELDS;
}

/* The C function of a method without arguments, so that no call has to be set up for each object. */
static void find_measure(Kind *kind, PyObject *object) {
    PyObject *bound = read_descriptor(kind->sizer, object);
    if (bound != NULL && PyCFunction_CheckExact(bound) && PyCFunction_GetFlags(bound) == METH_NOARGS) {
        kind->measure = PyCFunction_GetFunction(bound);
    }
    Py_XDECREF(bound);
    PyErr_Clear();
}

static size_t asked_size(Kind *kind, PyObject *object) {
    if (kind->measure == NULL) {
        find_measure(kind, object);
    }
    PyObject *number = kind->measure != NULL ? kind->measure(object, NULL)
                                             : PyObject_CallFunctionObjArgs(kind->sizer, object, NULL);
    size_t size = number == NULL ? 0 : PyLong_AsSize_t(number);
    Py_XDECREF(number);
    if (number == NULL || PyErr_Occurred()) {
        PyErr_Clear();
        size = (size_t)kind->basic;
    }
    return size;
}

/* A kind's own `__sizeof__`, or None; asked of Python once a type. */
static PyObject *own_sizer(Walk *walk, uint32_t at) {
    Kind *kind = &AT(walk->kinds.kinds, Kind, at);
    if (kind->own == NULL) {
        PyObject *found = PyObject_CallFunctionObjArgs(walk->rules.sizer, kind->type, NULL);
        PyErr_Clear();
        AT(walk->kinds.kinds, Kind, at).own = found == NULL ? Py_NewRef(Py_None) : found;
    }
    return AT(walk->kinds.kinds, Kind, at).own;
}

/* What `__sizeof__` says of an object where a type of C code has its own, which is never asked during a walk. */
size_t own_size(Walk *walk, uint32_t at, PyObject *object) {
    Kind *kind = &AT(walk->kinds.kinds, Kind, at);
    if (kind->sizer != NULL || kind->shape != BY_FIELDS) {
        return shallow_size(kind, object);
    }
    PyObject *own = own_sizer(walk, at);
    PyObject *number = own == Py_None ? NULL : PyObject_CallFunctionObjArgs(own, object, NULL);
    size_t size = number == NULL ? 0 : PyLong_AsSize_t(number);
    Py_XDECREF(number);
    kind = &AT(walk->kinds.kinds, Kind, at);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return shallow_size(kind, object);
    }
    return size + kind->header;
}

size_t shallow_size(Kind *kind, PyObject *object) {
    size_t quick = quick_size(kind, object);
    if (quick != 0) {
        return quick + kind->header;
    }
    if (kind->sizer != NULL) {
        return asked_size(kind, object) + kind->header;
    }
    size_t more = kind->item > 0 ? (size_t)kind->item * items(kind, object) : 0;
    size_t bytes = (size_t)kind->basic + more;
    return (kind->rounded ? (bytes + 7) & ~(size_t)7 : bytes) + kind->header;
}
