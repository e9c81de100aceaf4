/* SPDX-License-Identifier: Apache-2.0
 *
 * What a walk answers of what it found, object by object and group by group.
 */
#include "answers.h"

int answer_position(PyObject *argument, size_t count, size_t *found) {
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

/* Without finish(), objects have their groups when they are asked for. */
int answer_groups(Walk *walk) {
    if (walk->grouped == walk->address.used) {
        return 0;
    }
    if (walk->busy) {
        PyErr_SetString(PyExc_RuntimeError, "a walk has no groups to tell while advance() runs");
        return -1;
    }
    if (walk_group(walk) < 0) {
        PyErr_SetString(PyExc_MemoryError, walk->failure);
        return -1;
    }
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

PyObject *answer_chain(PyObject *self, PyObject *argument) {
    size_t at;
    return answer_position(argument, ((Walk *)self)->position.used, &at) < 0
               ? NULL
               : chain_from((Walk *)self, AT(((Walk *)self)->position, uint32_t, at));
}

PyObject *answer_way(PyObject *self, PyObject *argument) {
    size_t at;
    return answer_position(argument, ((Walk *)self)->address.used, &at) < 0 ? NULL : chain_from((Walk *)self, (uint32_t)at);
}

PyObject *answer_container(PyObject *self, PyObject *argument) {
    Walk *walk = (Walk *)self;
    size_t at;
    if (answer_position(argument, walk->position.used, &at) < 0) {
        return NULL;
    }
    uint32_t object = AT(walk->position, uint32_t, at), parent = AT(walk->parent, uint32_t, object);
    return Py_BuildValue("KKOK", AT(walk->address, uint64_t, object), AT(walk->length, uint64_t, at),
                         AT(walk->kinds.kinds, Kind, AT(walk->type, uint32_t, object) & KIND_MASK).type,
                         parent == NOBODY ? (uint64_t)0 : AT(walk->address, uint64_t, parent));
}

PyObject *answer_object(PyObject *self, PyObject *argument) {
    Walk *walk = (Walk *)self;
    size_t at;
    if (answer_groups(walk) < 0 || answer_position(argument, walk->address.used, &at) < 0) {
        return NULL;
    }
    uint32_t parent = AT(walk->parent, uint32_t, at);
    return Py_BuildValue("KOLII", AT(walk->address, uint64_t, at),
                         AT(walk->kinds.kinds, Kind, AT(walk->type, uint32_t, at) & KIND_MASK).type,
                         parent == NOBODY ? (long long)-1 : (long long)parent, AT(walk->size, uint32_t, at),
                         AT(walk->group, uint32_t, at));
}

PyObject *answer_group(PyObject *self, PyObject *argument) {
    Walk *walk = (Walk *)self;
    size_t at;
    if (answer_groups(walk) < 0 || answer_position(argument, walk->groups.groups.used, &at) < 0) {
        return NULL;
    }
    const Group *group = &AT(walk->groups.groups, Group, at);
    PyObject *type = group->kind == NOBODY ? Py_None : (PyObject *)AT(walk->kinds.kinds, Kind, group->kind).type;
    return Py_BuildValue("KLOIKL", AT(walk->groups.keys, uint64_t, at),
                         group->parent == NOBODY ? (long long)-1 : (long long)group->parent, type, group->count,
                         group->bytes, group->first == NOBODY ? (long long)-1 : (long long)group->first);
}

PyObject *answer_retained(PyObject *self, PyObject *argument) {
    Walk *walk = (Walk *)self;
    size_t group;
    uint64_t bytes = 0;
    if (answer_position(argument, walk->groups.groups.used, &group) < 0) {
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
PyObject *answer_garbage(PyObject *self, PyObject *unused) {
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

PyObject *answer_objects(PyObject *self, void *unused) {
    (void)unused;
    return number(((Walk *)self)->address.used);
}

PyObject *answer_containers(PyObject *self, void *unused) {
    (void)unused;
    return number(((Walk *)self)->position.used);
}

PyObject *answer_group_count(PyObject *self, void *unused) {
    (void)unused;
    return answer_groups((Walk *)self) < 0 ? NULL : number(((Walk *)self)->groups.groups.used);
}

PyObject *answer_nbytes(PyObject *self, void *unused) {
    (void)unused;
    const Walk *walk = (Walk *)self;
    const Column *columns[] = {&walk->address,     &walk->parent,      &walk->type,         &walk->size,
                               &walk->group,       &walk->late,        &walk->position,     &walk->length,
                               &walk->statics,     &walk->large,       &walk->seen.bits,    &walk->groups.keys,
                               &walk->dropped,     &walk->kinds.kinds, &walk->groups.groups, &walk->groups.index.slots,
                               &walk->edges,       &walk->edge_start,  &walk->edge_end,     &walk->kinds.addresses,
                               &walk->order,       &walk->begins,      &walk->marks};
    size_t bytes = 0;
    for (size_t at = 0; at < sizeof columns / sizeof *columns; at++) {
        bytes += columns[at]->used * columns[at]->width;
    }
    return number(bytes);
}

PyObject *answer_counts(PyObject *self, void *unused) {
    (void)unused;
    const Walk *walk = (Walk *)self;
    return Py_BuildValue("{s:i,s:i,s:n,s:n,s:n,s:n}", "rings", walk->rings_known, "collecting",
                         walk->rings_in_motion, "frozen", (Py_ssize_t)walk->frozen_seen,
                         "unrooted", (Py_ssize_t)walk->unrooted, "changed", (Py_ssize_t)walk->changed, "values",
                         (Py_ssize_t)walk->values);
}
