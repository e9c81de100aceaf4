/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk as Python sees it. No reference to what was walked is left when advance() returns True.
 */
#include "answers.h"

PyTypeObject *walk_type;

static PyObject *refused(Walk *walk) {
    PyErr_SetString(PyExc_MemoryError, walk->failure);
    return NULL;
}

static int hide(Walk *walk, PyObject *object) {
    if (tables_room(walk) < 0) {
        return -1;
    }
    int fresh = walk_meet(walk, object);
    return fresh <= 0 ? fresh : walk_discover(walk, object, NOBODY, OWN_GROUP, 0);
}

static int enter_own(Walk *walk) {
    uint32_t group;
    if (groups_root(&walk->groups, 0, NOBODY, &group) < 0 || groups_root(&walk->groups, 2, NOBODY, &group) < 0) {
        return -1;
    }
    walk->hiding = 1;
    int failed = hide(walk, walk->hidden) < 0 || hide(walk, walk->roots) < 0;
    for (Py_ssize_t at = 0; !failed && at < PyList_Size(walk->hidden); at++) {
        failed = hide(walk, PyList_GetItem(walk->hidden, at)) < 0;
    }
    walk->hiding = 0;
    walk->hidden_count = walk->address.used;
    return failed ? -1 : 0;
}

static void keep_rules(Walk *walk, PyObject *rules) {
    PyObject **slots[] = {&walk->rules.containers, &walk->rules.late, &walk->rules.plain,
                          &walk->rules.sizers,     &walk->rules.names, &walk->rules.basic,
                          &walk->rules.item,       &walk->rules.namespaces, &walk->rules.subclasses,
                          &walk->rules.sizer};
    for (size_t at = 0; at < sizeof slots / sizeof *slots; at++) {
        *slots[at] = PyTuple_GetItem(rules, (Py_ssize_t)at); /* NULL sets an IndexError */
        Py_XINCREF(*slots[at]);
    }
}

static PyObject *walk_new(PyTypeObject *type, PyObject *arguments, PyObject *named) {
    static char *names[] = {"rules", "hidden", "roots", "sliced", "registries", "expected", "edges", NULL};
    PyObject *rules, *hidden, *roots;
    int sliced = 0, registries = 1, edges = 0;
    Py_ssize_t expected = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "O!O!O!|ppnp", names, &PyTuple_Type, &rules, &PyList_Type, &hidden,
                                     &PyList_Type, &roots, &sliced, &registries, &expected, &edges)) {
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Walk *walk = (Walk *)allocate(type, 0); /* zeroed */
    if (walk == NULL) {
        return NULL;
    }
    walk->sliced = sliced;
    tables_widths(walk);
    keep_rules(walk, rules);
    walk->registries = registries;
    walk->recording = edges && !sliced;
    walk->recorded = NOBODY;
    walk->expected = expected > 0 && expected < KIND_MASK ? (size_t)expected : 0;
    walk->hidden = Py_NewRef(hidden);
    walk->roots = Py_NewRef(roots);
    if (PyErr_Occurred()) {
        Py_DecRef((PyObject *)walk);
        return NULL;
    }
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = tables_prepare(walk);
    Py_END_ALLOW_THREADS
    if (failed) {
        Py_DecRef((PyObject *)walk);
        return PyErr_NoMemory();
    }
    return (PyObject *)walk;
}

/* A collection would free what is queued; it is put off, not run, while the walk is in motion. */
static int advance(Walk *walk, double milliseconds) {
    int enabled = PyGC_Disable();
    walk->over = 0;
    walk->ends = milliseconds > 0 ? now_ns() + (int64_t)(milliseconds * 1e6) : 0;
    if (walk->address.used == 0 && walk->groups.groups.used == 0) {
        rings_find(walk);
        if (enter_own(walk) < 0 && walk->failure == NULL) {
            walk->failure = "no memory for the walk's own groups";
        }
    }
    int done = walk->failure == NULL ? walk_advance(walk) : -1;
    if (done == 1 && walk->recording && (walk_group(walk) < 0 || edges_garbage(walk) < 0)) {
        walk->failure = "no memory to look for garbage";
        done = -1;
    }
    if (enabled) {
        PyGC_Enable();
    }
    return done;
}

static PyObject *walk_advance_py(PyObject *self, PyObject *argument) {
    Walk *walk = (Walk *)self;
    double milliseconds = PyFloat_AsDouble(argument);
    if (milliseconds == -1.0 && PyErr_Occurred()) {
        return NULL;
    }
    if (walk->busy || walk->hidden == NULL || (milliseconds > 0 && !walk->sliced)) {
        PyErr_SetString(PyExc_RuntimeError, "advance() needs an open walk, one caller at a time, and for a limit a "
                                            "walk that was made with sliced=True");
        return NULL;
    }
    walk->busy = 1;
    int done = advance(walk, milliseconds);
    walk_drop(walk);
    walk->busy = 0;
    return done < 0 ? refused(walk) : PyBool_FromLong(done);
}

/* Groups are made of the tables alone, so other threads run meanwhile. */
static PyObject *walk_finish(PyObject *self, PyObject *unused) {
    (void)unused;
    Walk *walk = (Walk *)self;
    if (walk->busy) {
        PyErr_SetString(PyExc_RuntimeError, "finish() cannot be called while advance() runs");
        return NULL;
    }
    int failed;
    walk->busy = 1;
    Py_BEGIN_ALLOW_THREADS
    failed = walk_group(walk);
    Py_END_ALLOW_THREADS
    walk->busy = 0;
    return failed < 0 ? refused(walk) : Py_NewRef(Py_None);
}

static PyObject *walk_close(PyObject *self, PyObject *unused) {
    (void)unused;
    Walk *walk = (Walk *)self;
    if (walk->busy) {
        PyErr_SetString(PyExc_RuntimeError, "close() cannot be called while advance() runs");
        return NULL;
    }
    walk->stage = DONE;
    walk->busy = 1;
    if (walk->sliced) {
        tables_release_held(walk);
    }
    Py_BEGIN_ALLOW_THREADS
    tables_release(walk);
    Py_END_ALLOW_THREADS
    walk->busy = 0;
    tables_release_references(walk);
    return Py_NewRef(Py_None);
}

static void walk_dealloc(PyObject *self) {
    Walk *walk = (Walk *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
    tables_release_held(walk);
    tables_release(walk);
    tables_release_references(walk);
    PyObject *rules[] = {walk->rules.containers, walk->rules.late,  walk->rules.plain,
                         walk->rules.sizers,     walk->rules.names, walk->rules.basic,
                         walk->rules.item,       walk->rules.namespaces, walk->rules.subclasses,
                         walk->rules.sizer};
    for (size_t at = 0; at < sizeof rules / sizeof *rules; at++) {
        Py_XDECREF(rules[at]);
    }
    free_object(self);
    Py_DecRef((PyObject *)type);
}

static PyMethodDef methods[] = {
    {"advance", walk_advance_py, METH_O, "Walk on for so many milliseconds (0: to the end); True when done."},
    {"finish", walk_finish, METH_NOARGS, "Give the objects their groups; they have them when they are asked for, else."},
    {"close", walk_close, METH_NOARGS, "Give all memory and references back."},
    {"chain", answer_chain, METH_O, "Addresses from the root down to a container."},
    {"way", answer_way, METH_O, "Addresses from the root down to an object."},
    {"container", answer_container, METH_O, "Address, length, type and owner's address of a container."},
    {"object", answer_object, METH_O, "Address, type, parent, shallow size and group of an object."},
    {"retained", answer_retained, METH_O, "Bytes that only the members of a group keep alive, their own included."},
    {"garbage", answer_garbage, METH_NOARGS, "Type and number of objects that are cyclic garbage."},
    {"group", answer_group, METH_O, "Key, parent, type, objects, bytes and first object of a group."},
    {"members", members_some, METH_VARARGS, "So many objects of a group, evenly spread."},
    {"fresh", members_fresh, METH_VARARGS,
     "A few of so many objects of a group: of those that gained entries or hang on what did, where there are any."},
    {"held", members_held, METH_VARARGS,
     "Pairs of a container that was named and the members of a group, of so many, that it holds."},
    {"mark", marks_make, METH_VARARGS,
     "Tell what gained entries: by the walk's snapshot, an earlier one, and pairs of address and growth."},
    {"top", members_top, METH_VARARGS, "The outermost object of a group, so far above an object at most."},
    {"below", members_below, METH_VARARGS, "The sum of the numbers in pairs of a group and a number that lie below a group."},
    {"exclusive", entry_exclusive, METH_O, "Bytes that only the container keeps alive of a list of its entries."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"objects", answer_objects, NULL, "Objects that were seen.", NULL},
    {"containers", answer_containers, NULL, "Containers among them.", NULL},
    {"groups", answer_group_count, NULL, "Groups that they fall into.", NULL},
    {"nbytes", answer_nbytes, NULL, "Bytes of the tables.", NULL},
    {"counts", answer_counts, NULL, "What the walk met on the way.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "One walk of the object graph."}, {Py_tp_new, walk_new},   {Py_tp_dealloc, walk_dealloc},
    {Py_tp_methods, methods},                     {Py_tp_getset, getset}, {0, NULL},
};

static PyType_Spec spec = {
    .name = "vllm_soak.heap._heap.Walk", .basicsize = sizeof(Walk), .flags = Py_TPFLAGS_DEFAULT, .slots = slots};

PyObject *make_walk_type(void) {
    PyObject *type = PyType_FromSpec(&spec);
    walk_type = (PyTypeObject *)type;
    return type;
}
