/* SPDX-License-Identifier: Apache-2.0
 *
 * What one object refers to, in steps that can stop in the middle of it.
 *
 * A long list, tuple, mapping, set or deque is read entry by entry, after the first few of its referents: those
 * that a subclass adds (namespace, slots, type) come before the entries in every traversal. Anything else is
 * traversed anew after a pause, passing over as many referents as had been visited: about a nanosecond each.
 */
#include "heap.h"

#define LONG 2048
#define HEAD 256
#define TRIES 3

static int visit(PyObject *child, void *walk_) {
    Walk *walk = walk_;
    if (walk->skip > 0) {
        walk->skip--;
        return 0;
    }
    walk->place++;
    return walk_push(walk, child, walk->current) < 0 ? -1 : walk->over || walk->place == walk->head;
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

/* An iterator of a set or deque refuses to go on when that has changed: then from the start, a few times. */
static void restart(Walk *walk) {
    if (PyErr_Occurred()) {
        PyErr_Clear();
        walk->changed++;
        walk->resuming = ++walk->again < TRIES;
    }
    Py_CLEAR(walk->iterator);
}

static void by_iterator(Walk *walk, PyObject *object, getiterfunc iterate) {
    PyObject *child = NULL;
    if (walk->iterator == NULL) {
        walk->iterator = iterate(object);
    }
    walk->resuming = 0;
    while (walk->iterator != NULL && (child = PyIter_Next(walk->iterator)) != NULL) {
        int failed = walk_push(walk, child, walk->current) < 0;
        Py_DecRef(child); /* the container has it */
        if (failed || walk->over) {
            walk->resuming = 1;
            return;
        }
    }
    restart(walk);
}

static Py_ssize_t entries(const Kind *kind, PyObject *object) {
    return kind->entries == TUPLE_LIKE ? Py_SIZE(object) : (Py_ssize_t)container_length(kind, object);
}

static void begin(Walk *walk, const Kind *kind, PyObject *object) {
    walk->place = 0;
    walk->length_then = -1;
    walk->again = 0;
    walk->head = walk->sliced && kind->entries != WHOLE && entries(kind, object) > LONG ? HEAD : -1;
}

static void by_parts(Walk *walk, const Kind *kind, PyObject *object) {
    if (walk->head == HEAD) {
        by_traversal(walk, object, kind->traverse);
        if (walk->resuming && walk->place < HEAD) {
            return; /* the slice is over */
        }
        walk->head = walk->place = 0;
    }
    if (walk->over) {
        walk->resuming = 1;
    } else if (kind->entries == MAP) {
        by_entry(walk, object);
    } else if (kind->entries == ITERATED) {
        by_iterator(walk, object, kind->iterate);
    } else {
        by_place(walk, object, kind->entries == TUPLE_LIKE);
    }
}

/* 0, or -1 when there is no memory; `walk->resuming` says whether the object is to be followed further. */
int follow(Walk *walk, uint32_t at) {
    PyObject *object = (PyObject *)(uintptr_t)AT(walk->address, uint64_t, at);
    uint32_t flags = AT(walk->type, uint32_t, at);
    Kind *there = &AT(walk->kinds.kinds, Kind, flags & KIND_MASK);
    walk->current = at;
    if (!walk->resuming) {
        if (there->sizer != NULL && flags & FOLLOW) {
            walk_measure(walk, there, object, at);
        }
        begin(walk, there, object);
    }
    if (walk->head < 0) {
        by_traversal(walk, object, there->traverse);
    } else {
        Kind kind = *there; /* the table may move while types are met */
        by_parts(walk, &kind, object);
    }
    return walk->failure == NULL ? 0 : -1;
}

/* The collector does not look into a static type: its namespace and subclasses, by the type's own means. */
int follow_static(Walk *walk, uint32_t at) {
    PyObject *type = (PyObject *)(uintptr_t)AT(walk->address, uint64_t, at);
    walk->current = at;
    walk->skip = walk->place = 0;
    walk->head = -1;
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
