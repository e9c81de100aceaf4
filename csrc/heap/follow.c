/* SPDX-License-Identifier: Apache-2.0
 *
 * What one object refers to, in steps that can stop in the middle of it.
 *
 * A long list, tuple or dict is read by place. Anything else is traversed anew after a pause, without looking at
 * as many referents as had been visited: about a nanosecond each.
 */
#include "heap.h"

#define LONG 2048

static int visit(PyObject *child, void *walk_) {
    Walk *walk = walk_;
    if (walk->skip > 0) {
        walk->skip--;
        return 0;
    }
    walk->place++;
    return walk_push(walk, child, walk->current) < 0 ? -1 : walk->over;
}

static void by_traversal(Walk *walk, PyObject *object, traverseproc traverse) {
    walk->skip = walk->place;
    walk->resuming = traverse(object, visit, walk) != 0;
    walk->skip = 0; /* it may have shrunk */
}

static void moved(Walk *walk, Py_ssize_t length) {
    walk->changed += walk->length_then >= 0 && walk->length_then != length;
    walk->length_then = length;
}

static void by_place(Walk *walk, PyObject *object, int tuple) {
    Py_ssize_t length = Py_SIZE(object);
    moved(walk, length);
    while (walk->place < length) {
        PyObject *child = tuple ? PyTuple_GetItem(object, walk->place) : PyList_GetItem(object, walk->place);
        walk->place++;
        if (child == NULL) {
            PyErr_Clear(); /* a slot that is being filled */
        } else if (walk_push(walk, child, walk->current) < 0 || walk->over) {
            break;
        }
    }
    walk->resuming = walk->place < length;
}

/* The collector does not look at the keys of a dict that has only strings; nor is a string followed. */
static void by_entry(Walk *walk, PyObject *dict) {
    PyObject *key, *value;
    moved(walk, PyDict_Size(dict));
    walk->resuming = 0;
    while (PyDict_Next(dict, &walk->place, &key, &value)) {
        if ((value != NULL && walk_push(walk, value, walk->current) < 0) ||
            (!PyUnicode_CheckExact(key) && walk_push(walk, key, walk->current) < 0)) {
            return;
        }
        if (walk->over) {
            walk->resuming = 1;
            return;
        }
    }
}

/* 0, or -1 when there is no memory; `walk->resuming` says whether the object is to be followed further. */
int follow(Walk *walk, uint32_t at) {
    PyObject *object = (PyObject *)(uintptr_t)AT(walk->address, uint64_t, at);
    const Kind *kind = &AT(walk->kinds.kinds, Kind, AT(walk->type, uint32_t, at) & KIND_MASK);
    traverseproc traverse = kind->traverse; /* the table may move while types are met */
    PyTypeObject *type = kind->type;
    if (!walk->resuming) {
        walk->place = 0;
        walk->length_then = -1;
    }
    walk->current = at;
    if (walk->sliced && type == &PyDict_Type && PyDict_Size(object) > LONG) {
        by_entry(walk, object);
    } else if (walk->sliced && (type == &PyList_Type || type == &PyTuple_Type) && Py_SIZE(object) > LONG) {
        by_place(walk, object, type == &PyTuple_Type);
    } else {
        by_traversal(walk, object, traverse);
    }
    return walk->failure == NULL ? 0 : -1;
}

/* The collector does not look into a static type: its namespace and subclasses, by the type's own means. */
int follow_static(Walk *walk, uint32_t at) {
    PyObject *type = (PyObject *)(uintptr_t)AT(walk->address, uint64_t, at);
    walk->current = at;
    walk->skip = walk->place = 0;
    PyObject *proxy = read_descriptor(walk->rules.namespaces, type);
    if (proxy != NULL) {
        traverseproc traverse = (traverseproc)PyType_GetSlot(Py_TYPE(proxy), Py_tp_traverse);
        traverse(proxy, visit, walk);
    }
    PyObject *below = PyObject_CallFunctionObjArgs(walk->rules.subclasses, type, NULL);
    for (Py_ssize_t one = 0; below != NULL && PyList_Check(below) && one < PyList_Size(below); one++) {
        walk_push(walk, PyList_GetItem(below, one), at);
    }
    PyErr_Clear();
    int failed = walk_flush(walk);
    Py_XDECREF(below);
    Py_XDECREF(proxy);
    return failed;
}
