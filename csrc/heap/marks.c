/* SPDX-License-Identifier: Apache-2.0
 *
 * Marks of what gained entries: by the walk's own snapshot, an earlier one, and what the census has named.
 */
#include "answers.h"

static int room_for_marks(Walk *walk) {
    walk->marks.used = 0;
    if (column_reserve(&walk->marks, walk->address.used + 1) < 0) {
        return -1;
    }
    walk->marks.used = walk->address.used;
    return 0;
}

/* What is new since an earlier snapshot; entries of a container count when it was met. */
static void mark_new(Walk *walk, PyObject *before) {
    for (size_t at = 0; at < walk->position.used; at++) {
        uint32_t object = AT(walk->position, uint32_t, at);
        int is_new = before != Py_None && AT(walk->length, uint64_t, at) > 0 &&
                     snapshot_place(before, AT(walk->address, uint64_t, object)) == NOBODY;
        AT(walk->marks, uint8_t, object) = is_new ? GAINED : 0;
    }
}

static int mark_named(Walk *walk, PyObject *now, PyObject *pairs) {
    for (Py_ssize_t at = 0; at < PyList_Size(pairs); at++) {
        unsigned long long address;
        long long growth;
        if (!PyArg_ParseTuple(PyList_GetItem(pairs, at), "KL", &address, &growth)) {
            return -1;
        }
        uint32_t container = snapshot_place(now, address);
        if (container != NOBODY && container < walk->position.used) {
            AT(walk->marks, uint8_t, AT(walk->position, uint32_t, container)) = NAMED | (growth > 0 ? GAINED : 0);
        }
    }
    return 0;
}

PyObject *marks_make(PyObject *self, PyObject *arguments) {
    Walk *walk = (Walk *)self;
    PyObject *now, *before, *pairs;
    if (!PyArg_ParseTuple(arguments, "OOO!", &now, &before, &PyList_Type, &pairs)) {
        return NULL;
    }
    if (!is_snapshot(now) || (before != Py_None && !is_snapshot(before))) {
        PyErr_SetString(PyExc_TypeError, "mark() takes the walk's snapshot and an earlier one, or None");
        return NULL;
    }
    int failed = room_for_marks(walk);
    if (!failed) {
        walk->busy++;
        Py_BEGIN_ALLOW_THREADS
        mark_new(walk, before);
        Py_END_ALLOW_THREADS
        walk->busy--;
    }
    if (failed) {
        return PyErr_NoMemory();
    }
    return mark_named(walk, now, pairs) < 0 ? NULL : Py_NewRef(Py_None);
}
