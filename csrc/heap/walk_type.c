/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk as Python sees it. No reference to what was walked is left when advance() returns True.
 */
#include "heap.h"

PyTypeObject *walk_type;

static PyObject *refused(Walk *walk) {
    PyErr_SetString(PyExc_MemoryError, walk->failure);
    return NULL;
}

static int hide(Walk *walk, PyObject *object) {
    if (walk_room(walk) < 0) {
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

static void set_widths(Walk *walk) {
    walk->address.width = walk->length.width = walk->groups.keys.width = walk->kinds.addresses.width = 8;
    walk->parent.width = walk->type.width = walk->size.width = walk->group.width = 4;
    walk->position.width = walk->late.width = walk->statics.width = 4;
    walk->edges.width = walk->edge_start.width = walk->edge_end.width = walk->garbage.width = 4;
    walk->seen.bits.width = walk->seen.chunks.width = 8;
    walk->dropped.width = sizeof(PyObject *);
    walk->groups.groups.width = sizeof(Group);
    walk->kinds.kinds.width = sizeof(Kind);
    Column *large[] = {&walk->address, &walk->parent, &walk->type, &walk->size, &walk->group, &walk->seen.bits};
    for (size_t at = 0; at < sizeof large / sizeof *large; at++) {
        large[at]->small_pages = walk->sliced;
    }
}

static void keep_rules(Walk *walk, PyObject *rules) {
    PyObject **slots[] = {&walk->rules.containers, &walk->rules.late, &walk->rules.plain,
                          &walk->rules.sizers,     &walk->rules.names, &walk->rules.basic,
                          &walk->rules.item,       &walk->rules.namespaces, &walk->rules.subclasses};
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
    set_widths(walk);
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
    failed = walk_prepare(walk);
    Py_END_ALLOW_THREADS
    if (failed) {
        Py_DecRef((PyObject *)walk);
        return PyErr_NoMemory();
    }
    return (PyObject *)walk;
}

static void release_held(Walk *walk) {
    for (size_t at = 0; at < walk->type.used; at++) {
        if (AT(walk->type, uint32_t, at) & HELD && column_reserve(&walk->dropped, 1) == 0) {
            AT(walk->dropped, PyObject *, walk->dropped.used++) =
                (PyObject *)(uintptr_t)AT(walk->address, uint64_t, at);
        }
    }
}

/* Needs no interpreter. */
static void release_tables(Walk *walk) {
    Column *columns[] = {&walk->address,    &walk->parent,   &walk->type,   &walk->size,    &walk->group,
                         &walk->late,       &walk->position, &walk->length, &walk->statics, &walk->edges,
                         &walk->edge_start, &walk->edge_end, &walk->garbage};
    for (size_t at = 0; at < sizeof columns / sizeof *columns; at++) {
        column_free(columns[at]);
    }
    index_free(&walk->index);
    seen_free(&walk->seen);
    groups_free(&walk->groups);
}

static void release_references(Walk *walk) {
    Py_CLEAR(walk->iterator);
    Py_CLEAR(walk->ring_front);
    Py_CLEAR(walk->ring_back);
    walk_drop(walk);
    column_free(&walk->dropped);
    kinds_free(&walk->kinds);
    Py_CLEAR(walk->hidden);
    Py_CLEAR(walk->roots);
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
    if (done == 1 && walk->recording && edges_garbage(walk) < 0) {
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
        release_held(walk);
    }
    Py_BEGIN_ALLOW_THREADS
    release_tables(walk);
    Py_END_ALLOW_THREADS
    walk->busy = 0;
    release_references(walk);
    return Py_NewRef(Py_None);
}

static void walk_dealloc(PyObject *self) {
    Walk *walk = (Walk *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release_held(walk);
    release_tables(walk);
    release_references(walk);
    PyObject *rules[] = {walk->rules.containers, walk->rules.late,  walk->rules.plain,
                         walk->rules.sizers,     walk->rules.names, walk->rules.basic,
                         walk->rules.item,       walk->rules.namespaces, walk->rules.subclasses};
    for (size_t at = 0; at < sizeof rules / sizeof *rules; at++) {
        Py_XDECREF(rules[at]);
    }
    free_object(self);
    Py_DecRef((PyObject *)type);
}

/* Position of an object from an argument; `count` is the end. */
static int position(PyObject *argument, size_t count, size_t *found) {
    size_t at = PyLong_AsSize_t(argument);
    if (at == (size_t)-1 && PyErr_Occurred()) {
        return -1;
    }
    if (at >= count) {
        PyErr_SetString(PyExc_IndexError, "the walk found no object of this number");
        return -1;
    }
    *found = at;
    return 0;
}

static PyObject *chain_from(const Walk *walk, uint32_t at) {
    PyObject *chain = PyList_New(0);
    while (chain != NULL && at != NOBODY) {
        PyObject *address = PyLong_FromUnsignedLongLong(AT(walk->address, uint64_t, at));
        if (address == NULL || PyList_Append(chain, address) < 0) {
            Py_CLEAR(chain);
        }
        Py_XDECREF(address);
        at = AT(walk->parent, uint32_t, at);
    }
    if (chain != NULL && PyList_Reverse(chain) < 0) {
        Py_CLEAR(chain);
    }
    return chain;
}

static PyObject *walk_chain(PyObject *self, PyObject *argument) {
    size_t at;
    return position(argument, ((Walk *)self)->position.used, &at) < 0
               ? NULL
               : chain_from((Walk *)self, AT(((Walk *)self)->position, uint32_t, at));
}

static PyObject *walk_way(PyObject *self, PyObject *argument) {
    size_t at;
    return position(argument, ((Walk *)self)->address.used, &at) < 0 ? NULL : chain_from((Walk *)self, (uint32_t)at);
}

static PyObject *walk_container(PyObject *self, PyObject *argument) {
    Walk *walk = (Walk *)self;
    size_t at;
    if (position(argument, walk->position.used, &at) < 0) {
        return NULL;
    }
    uint32_t object = AT(walk->position, uint32_t, at), parent = AT(walk->parent, uint32_t, object);
    return Py_BuildValue("KKOK", AT(walk->address, uint64_t, object), AT(walk->length, uint64_t, at),
                         AT(walk->kinds.kinds, Kind, AT(walk->type, uint32_t, object) & KIND_MASK).type,
                         parent == NOBODY ? (uint64_t)0 : AT(walk->address, uint64_t, parent));
}

static PyObject *walk_object(PyObject *self, PyObject *argument) {
    Walk *walk = (Walk *)self;
    size_t at;
    if (position(argument, walk->address.used, &at) < 0) {
        return NULL;
    }
    uint32_t parent = AT(walk->parent, uint32_t, at);
    return Py_BuildValue("KOLII", AT(walk->address, uint64_t, at),
                         AT(walk->kinds.kinds, Kind, AT(walk->type, uint32_t, at) & KIND_MASK).type,
                         parent == NOBODY ? (long long)-1 : (long long)parent, AT(walk->size, uint32_t, at),
                         AT(walk->group, uint32_t, at));
}

static PyObject *walk_group(PyObject *self, PyObject *argument) {
    Walk *walk = (Walk *)self;
    size_t at;
    if (position(argument, walk->groups.groups.used, &at) < 0) {
        return NULL;
    }
    const Group *group = &AT(walk->groups.groups, Group, at);
    PyObject *type = group->kind == NOBODY ? Py_None : (PyObject *)AT(walk->kinds.kinds, Kind, group->kind).type;
    return Py_BuildValue("KLOIKL", AT(walk->groups.keys, uint64_t, at),
                         group->parent == NOBODY ? (long long)-1 : (long long)group->parent, type, group->count,
                         group->bytes, group->first == NOBODY ? (long long)-1 : (long long)group->first);
}

/* Every so many-th member of a group, a few of them. */
static PyObject *walk_members(PyObject *self, PyObject *arguments) {
    Walk *walk = (Walk *)self;
    PyObject *which;
    Py_ssize_t most;
    size_t group;
    if (!PyArg_ParseTuple(arguments, "On", &which, &most) || position(which, walk->groups.groups.used, &group) < 0) {
        return NULL;
    }
    size_t count = AT(walk->groups.groups, Group, group).count;
    size_t step = most > 0 && count > (size_t)most ? count / (size_t)most : 1, met = 0;
    PyObject *list = PyList_New(0);
    for (size_t at = 0; list != NULL && at < walk->group.used && PyList_Size(list) < most; at++) {
        if (AT(walk->group, uint32_t, at) == group && met++ % step == 0) {
            PyObject *one = PyLong_FromSize_t(at);
            if (one == NULL || PyList_Append(list, one) < 0) {
                Py_CLEAR(list);
            }
            Py_XDECREF(one);
        }
    }
    return list;
}

static PyObject *walk_retained(PyObject *self, PyObject *argument) {
    Walk *walk = (Walk *)self;
    size_t group;
    uint64_t bytes = 0;
    if (position(argument, walk->groups.groups.used, &group) < 0) {
        return NULL;
    }
    if (!walk->recording || walk->stage != DONE || walk->busy) {
        PyErr_SetString(PyExc_RuntimeError, "retained() needs a finished walk that was made with edges=True");
        return NULL;
    }
    walk->busy++;
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = edges_retained(walk, (uint32_t)group, &bytes);
    Py_END_ALLOW_THREADS
    walk->busy--;
    return failed < 0 ? PyErr_NoMemory() : PyLong_FromUnsignedLongLong(bytes);
}

/* Pairs of type and count. */
static PyObject *walk_garbage(PyObject *self, PyObject *unused) {
    (void)unused;
    Walk *walk = (Walk *)self;
    PyObject *list = PyList_New(0);
    for (size_t at = 0; list != NULL && at < walk->garbage.used; at++) {
        uint32_t count = AT(walk->garbage, uint32_t, at), kind = AT(walk->groups.groups, Group, at).kind;
        if (count == 0) {
            continue;
        }
        PyObject *pair = Py_BuildValue("OI", AT(walk->kinds.kinds, Kind, kind).type, count);
        if (pair == NULL || PyList_Append(list, pair) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(pair);
    }
    return list;
}

static PyObject *number(size_t value) { return PyLong_FromSize_t(value); }

static PyObject *get_objects(PyObject *self, void *unused) {
    (void)unused;
    return number(((Walk *)self)->address.used);
}

static PyObject *get_containers(PyObject *self, void *unused) {
    (void)unused;
    return number(((Walk *)self)->position.used);
}

static PyObject *get_groups(PyObject *self, void *unused) {
    (void)unused;
    return number(((Walk *)self)->groups.groups.used);
}

static PyObject *get_nbytes(PyObject *self, void *unused) {
    (void)unused;
    const Walk *walk = (Walk *)self;
    const Column *columns[] = {&walk->address,       &walk->parent,      &walk->type,
                               &walk->size,          &walk->group,       &walk->late,
                               &walk->position,      &walk->length,      &walk->statics,
                               &walk->seen.bits,      &walk->groups.keys, &walk->groups.groups,
                               &walk->kinds.kinds,   &walk->dropped,     &walk->groups.index.slots,
                               &walk->kinds.addresses, &walk->edges,      &walk->edge_start,
                               &walk->edge_end};
    size_t bytes = 0;
    for (size_t at = 0; at < sizeof columns / sizeof *columns; at++) {
        bytes += columns[at]->used * columns[at]->width;
    }
    return number(bytes);
}

static PyObject *get_counts(PyObject *self, void *unused) {
    (void)unused;
    const Walk *walk = (Walk *)self;
    return Py_BuildValue("{s:i,s:i,s:n,s:n,s:n,s:n}", "rings", walk->rings_known, "collecting",
                         walk->rings_in_motion, "frozen", (Py_ssize_t)walk->frozen_seen,
                         "unrooted", (Py_ssize_t)walk->unrooted, "changed", (Py_ssize_t)walk->changed, "values",
                         (Py_ssize_t)walk->values);
}

static PyMethodDef methods[] = {
    {"advance", walk_advance_py, METH_O, "Walk on for so many milliseconds (0: to the end); True when done."},
    {"close", walk_close, METH_NOARGS, "Give all memory and references back."},
    {"chain", walk_chain, METH_O, "Addresses from the root down to a container."},
    {"way", walk_way, METH_O, "Addresses from the root down to an object."},
    {"container", walk_container, METH_O, "Address, length, type and owner's address of a container."},
    {"object", walk_object, METH_O, "Address, type, parent, shallow size and group of an object."},
    {"retained", walk_retained, METH_O, "Bytes that only the members of a group keep alive, their own included."},
    {"garbage", walk_garbage, METH_NOARGS, "Type and number of objects that are cyclic garbage."},
    {"group", walk_group, METH_O, "Key, parent, type, objects, bytes and first object of a group."},
    {"members", walk_members, METH_VARARGS, "A few objects of a group, evenly spread."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"objects", get_objects, NULL, "Objects that were seen.", NULL},
    {"containers", get_containers, NULL, "Containers among them.", NULL},
    {"groups", get_groups, NULL, "Groups that they fall into.", NULL},
    {"nbytes", get_nbytes, NULL, "Bytes of the tables.", NULL},
    {"counts", get_counts, NULL, "What the walk met on the way.", NULL},
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
