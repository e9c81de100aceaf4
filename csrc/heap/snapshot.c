/* SPDX-License-Identifier: Apache-2.0
 *
 * How long each container was at a census, and which are longer at the next one.
 *
 * Addresses, lengths, types and owners only: no reference, and nothing of Python is called while two snapshots
 * are compared, so other threads run meanwhile.
 */
#include "heap.h"

#include <stdlib.h>

typedef struct {
    uint64_t owner;
    uint32_t code;
    uint32_t at;
} Slot;

typedef struct {
    PyObject_HEAD
    Column address; /* uint64_t */
    Column length;  /* uint64_t */
    Column owner;   /* uint64_t */
    Column code;    /* uint32_t */
    Index index;
    int busy;
} Snapshot;

static PyTypeObject *snapshot_type;

static int fill(Snapshot *snapshot, const Walk *walk) {
    size_t count = walk->position.used;
    Column *columns[] = {&snapshot->address, &snapshot->length, &snapshot->owner, &snapshot->code};
    for (size_t at = 0; at < sizeof columns / sizeof *columns; at++) {
        if (column_reserve(columns[at], count) < 0) {
            return -1;
        }
        columns[at]->used = count;
    }
    if (index_reserve(&snapshot->index, count + 1, &snapshot->address) < 0) {
        return -1;
    }
    for (size_t at = 0; at < count; at++) {
        uint32_t object = AT(walk->position, uint32_t, at), parent = AT(walk->parent, uint32_t, object);
        uint32_t kind = AT(walk->type, uint32_t, object) & KIND_MASK;
        uint64_t address = AT(walk->address, uint64_t, object);
        AT(snapshot->address, uint64_t, at) = address;
        AT(snapshot->length, uint64_t, at) = AT(walk->length, uint64_t, at);
        AT(snapshot->owner, uint64_t, at) = parent == NOBODY ? 0 : AT(walk->address, uint64_t, parent);
        AT(snapshot->code, uint32_t, at) = (uint32_t)AT(walk->kinds.kinds, Kind, kind).name;
        size_t slot = spread(address) & snapshot->index.mask;
        while (AT(snapshot->index.slots, uint32_t, slot) != 0) {
            slot = (slot + 1) & snapshot->index.mask;
        }
        AT(snapshot->index.slots, uint32_t, slot) = (uint32_t)at + 1;
    }
    return 0;
}

static uint32_t place(const Snapshot *snapshot, uint64_t address) {
    size_t slot = spread(address) & snapshot->index.mask;
    for (uint32_t entry; (entry = AT(snapshot->index.slots, uint32_t, slot)) != 0;
         slot = (slot + 1) & snapshot->index.mask) {
        if (AT(snapshot->address, uint64_t, entry - 1) == address) {
            return entry - 1;
        }
    }
    return NOBODY;
}

int is_snapshot(PyObject *object) { return PyObject_TypeCheck(object, snapshot_type); }

uint32_t snapshot_place(PyObject *snapshot, uint64_t address) { return place((Snapshot *)snapshot, address); }

/* An address alone may have been taken anew. */
static int is_still(const Snapshot *one, size_t at, const Snapshot *other, uint32_t there) {
    return there != NOBODY && AT(one->code, uint32_t, at) == AT(other->code, uint32_t, there) &&
           AT(one->owner, uint64_t, at) == AT(other->owner, uint64_t, there);
}

static int by_slot(const void *left_, const void *right_) {
    const Slot *left = left_, *right = right_;
    if (left->owner != right->owner) {
        return left->owner < right->owner ? -1 : 1;
    }
    return left->code < right->code ? -1 : left->code > right->code;
}

static int same_slot(const Slot *left, const Slot *right) {
    return left->owner == right->owner && left->code == right->code;
}

/* Containers of one snapshot that are not in the other, by owner and type. */
static int missing(const Snapshot *one, const Snapshot *other, Column *found) {
    for (size_t at = 0; at < one->address.used; at++) {
        if (AT(one->owner, uint64_t, at) != 0 && !is_still(one, at, other, place(other, AT(one->address, uint64_t, at)))) {
            if (column_reserve(found, 1) < 0) {
                return -1;
            }
            AT(*found, Slot, found->used++) =
                (Slot){AT(one->owner, uint64_t, at), AT(one->code, uint32_t, at), (uint32_t)at};
        }
    }
    if (found->used > 0) {
        qsort(found->base, found->used, sizeof(Slot), by_slot);
    }
    return 0;
}

/* Past all entries that share a slot. */
static size_t past(const Column *slots, size_t at) {
    size_t end = at + 1;
    while (end < slots->used && same_slot(&AT(*slots, Slot, at), &AT(*slots, Slot, end))) {
        end++;
    }
    return end;
}

static int grew(Column *found, uint32_t container, uint64_t before, uint64_t now) {
    if (now <= before) {
        return 0;
    }
    if (column_reserve(found, 1) < 0) {
        return -1;
    }
    AT(*found, Slot, found->used++) = (Slot){now - before, 0, container};
    return 0;
}

static int same_identity(const Snapshot *now, const Snapshot *before, Column *found) {
    for (size_t at = 0; at < now->address.used; at++) {
        uint32_t then = place(before, AT(now->address, uint64_t, at));
        if (then != NOBODY && AT(before->code, uint32_t, then) == AT(now->code, uint32_t, at) &&
            grew(found, (uint32_t)at, AT(before->length, uint64_t, then), AT(now->length, uint64_t, at)) < 0) {
            return -1;
        }
    }
    return 0;
}

/* A container that took the place of a shorter one: the only new and the only gone of an owner's type. */
static int same_owner(const Snapshot *now, const Snapshot *before, const Column *fresh, const Column *gone,
                      Column *found) {
    size_t at = 0, there = 0;
    while (at < fresh->used && there < gone->used) {
        const Slot *left = &AT(*fresh, Slot, at), *right = &AT(*gone, Slot, there);
        int order = by_slot(left, right);
        size_t at_end = past(fresh, at), there_end = past(gone, there);
        if (order == 0 && at_end == at + 1 && there_end == there + 1 &&
            grew(found, left->at, AT(before->length, uint64_t, right->at), AT(now->length, uint64_t, left->at)) < 0) {
            return -1;
        }
        at = order <= 0 ? at_end : at;
        there = order >= 0 ? there_end : there;
    }
    return 0;
}

static int by_growth(const void *left_, const void *right_) {
    const Slot *left = left_, *right = right_;
    if (left->owner != right->owner) {
        return left->owner > right->owner ? -1 : 1;
    }
    return left->at < right->at ? -1 : left->at > right->at;
}

static int compare(const Snapshot *now, const Snapshot *before, Column *found) {
    Column fresh = {NULL, sizeof(Slot), 0, 0, 0}, gone = {NULL, sizeof(Slot), 0, 0, 0};
    int failed = same_identity(now, before, found) < 0 || missing(now, before, &fresh) < 0 ||
                 missing(before, now, &gone) < 0 || same_owner(now, before, &fresh, &gone, found) < 0;
    column_free(&fresh);
    column_free(&gone);
    if (!failed && found->used > 0) {
        qsort(found->base, found->used, sizeof(Slot), by_growth);
    }
    return failed ? -1 : 0;
}

static PyObject *listed(const Column *found) {
    PyObject *list = PyList_New(0);
    for (size_t at = 0; list != NULL && at < found->used; at++) {
        const Slot *one = &AT(*found, Slot, at);
        PyObject *pair = Py_BuildValue("IK", one->at, one->owner);
        if (pair == NULL || PyList_Append(list, pair) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(pair);
    }
    return list;
}

static PyObject *snapshot_growers(PyObject *self, PyObject *argument) {
    if (!PyObject_TypeCheck(argument, snapshot_type)) {
        PyErr_SetString(PyExc_TypeError, "growers() takes an earlier snapshot");
        return NULL;
    }
    Column found = {NULL, sizeof(Slot), 0, 0, 0};
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = compare((Snapshot *)self, (Snapshot *)argument, &found);
    Py_END_ALLOW_THREADS
    PyObject *list = failed < 0 ? PyErr_NoMemory() : listed(&found);
    column_free(&found);
    return list;
}

static PyObject *snapshot_container(PyObject *self, PyObject *argument) {
    uint64_t address = PyLong_AsUnsignedLongLongMask(argument);
    if (PyErr_Occurred()) {
        return NULL;
    }
    uint32_t at = place((Snapshot *)self, address);
    return PyLong_FromLong(at == NOBODY ? -1 : (long)at);
}

static PyObject *snapshot_new(PyTypeObject *type, PyObject *arguments, PyObject *named) {
    PyObject *walk;
    (void)named;
    if (!PyArg_ParseTuple(arguments, "O!", walk_type, &walk)) {
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Snapshot *snapshot = (Snapshot *)allocate(type, 0);
    if (snapshot == NULL) {
        return NULL;
    }
    snapshot->address.width = snapshot->length.width = snapshot->owner.width = 8;
    snapshot->code.width = 4;
    ((Walk *)walk)->busy++;
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = fill(snapshot, (Walk *)walk);
    Py_END_ALLOW_THREADS
    ((Walk *)walk)->busy--;
    if (failed < 0) {
        Py_DecRef((PyObject *)snapshot);
        return PyErr_NoMemory();
    }
    return (PyObject *)snapshot;
}

static void snapshot_dealloc(PyObject *self) {
    Snapshot *snapshot = (Snapshot *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
    column_free(&snapshot->address);
    column_free(&snapshot->length);
    column_free(&snapshot->owner);
    column_free(&snapshot->code);
    index_free(&snapshot->index);
    free_object(self);
    Py_DecRef((PyObject *)type);
}

static Py_ssize_t snapshot_length(PyObject *self) { return (Py_ssize_t)((Snapshot *)self)->address.used; }

static PyMethodDef methods[] = {
    {"growers", snapshot_growers, METH_O, "Pairs of container and growth since an earlier snapshot, largest first."},
    {"container", snapshot_container, METH_O, "Number of the container at an address, or -1."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Lengths of all containers of one walk."}, {Py_tp_new, snapshot_new}, {Py_tp_dealloc, snapshot_dealloc},
    {Py_tp_methods, methods},  {Py_sq_length, snapshot_length}, {0, NULL},
};

static PyType_Spec spec = {.name = "vllm_soak.heap._heap.Snapshot",
                           .basicsize = sizeof(Snapshot),
                           .flags = Py_TPFLAGS_DEFAULT,
                           .slots = slots};

PyObject *make_snapshot_type(void) {
    PyObject *type = PyType_FromSpec(&spec);
    snapshot_type = (PyTypeObject *)type;
    return type;
}
