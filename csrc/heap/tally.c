/* SPDX-License-Identifier: Apache-2.0
 *
 * How many objects and bytes each group had at a census, and which groups have more at the next one.
 */
#include "answers.h"

#include <stdlib.h>

typedef struct {
    uint64_t key;
    uint64_t bytes;
    uint32_t count;
    uint32_t group;
} Count;

typedef struct {
    PyObject_HEAD
    Column counts; /* Count, by key */
} Tally;

static PyTypeObject *tally_type;

static int by_key(const void *left_, const void *right_) {
    const Count *left = left_, *right = right_;
    return left->key < right->key ? -1 : left->key > right->key;
}

static int fill(Tally *tally, const Walk *walk) {
    if (column_reserve(&tally->counts, walk->groups.groups.used + 1) < 0) {
        return -1;
    }
    for (size_t at = UNROOTED_GROUP + 1; at < walk->groups.groups.used; at++) {
        const Group *group = &AT(walk->groups.groups, Group, at);
        AT(tally->counts, Count, tally->counts.used++) =
            (Count){AT(walk->groups.keys, uint64_t, at), group->bytes, group->count, (uint32_t)at};
    }
    if (tally->counts.used > 0) {
        qsort(tally->counts.base, tally->counts.used, sizeof(Count), by_key);
    }
    return 0;
}

static int add(PyObject *list, const Count *now, const Count *before) {
    PyObject *row = Py_BuildValue("IIIKK", now->group, before->count, now->count, before->bytes, now->bytes);
    int failed = row == NULL || PyList_Append(list, row) < 0;
    Py_XDECREF(row);
    return failed ? -1 : 0;
}

static PyObject *tally_grown(PyObject *self, PyObject *argument) {
    if (!PyObject_TypeCheck(argument, tally_type)) {
        PyErr_SetString(PyExc_TypeError, "grown() takes an earlier tally");
        return NULL;
    }
    const Column *now = &((Tally *)self)->counts, *before = &((Tally *)argument)->counts;
    PyObject *list = PyList_New(0);
    const Count nothing = {0, 0, 0, 0};
    for (size_t at = 0, there = 0; list != NULL && at < now->used; at++) {
        const Count *one = &AT(*now, Count, at);
        while (there < before->used && AT(*before, Count, there).key < one->key) {
            there++;
        }
        const Count *then = there < before->used && AT(*before, Count, there).key == one->key
                                ? &AT(*before, Count, there)
                                : &nothing;
        if ((one->count > then->count || one->bytes > then->bytes) && add(list, one, then) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* Objects of one type. */
typedef struct {
    uint64_t living; /* near enough to a root to be told from others */
    uint64_t added;
} Kept;

static int keep(const Tally *now, const Tally *before, const Walk *walk, Column *kept, uint64_t *astray) {
    if (column_reserve(kept, walk->kinds.kinds.used + 1) < 0) {
        return -1;
    }
    kept->used = walk->kinds.kinds.used;
    for (size_t at = 0, there = 0; at < now->counts.used; at++) {
        const Count *one = &AT(now->counts, Count, at);
        const Group *group = &AT(walk->groups.groups, Group, one->group);
        while (there < before->counts.used && AT(before->counts, Count, there).key < one->key) {
            there++;
        }
        int known = there < before->counts.used && AT(before->counts, Count, there).key == one->key;
        uint32_t then = known ? AT(before->counts, Count, there).count : 0, added = one->count > then ? one->count - then : 0;
        if (group->kind == NOBODY) {
            continue;
        }
        AT(*kept, Kept, group->kind).living += group->depth < DEEPEST ? one->count : 0;
        AT(*kept, Kept, group->kind).added += added;
        *astray += group->depth < DEEPEST ? 0 : added;
    }
    return 0;
}

static PyObject *kinds_of(const Walk *walk, const Column *kept) {
    PyObject *list = PyList_New(0);
    for (size_t at = 0; list != NULL && at < kept->used; at++) {
        const Kept *one = &AT(*kept, Kept, at);
        PyObject *row = Py_BuildValue("OKK", AT(walk->kinds.kinds, Kind, at).type, one->living, one->added);
        if (row == NULL || PyList_Append(list, row) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *tally_kinds(PyObject *self, PyObject *arguments) {
    PyObject *before, *walk_;
    Column kept = {NULL, sizeof(Kept), 0, 0, 0};
    uint64_t astray = 0;
    if (!PyArg_ParseTuple(arguments, "O!O!", walk_type, &walk_, tally_type, &before)) {
        return NULL;
    }
    Walk *walk = (Walk *)walk_;
    if (walk->groups.groups.used < ((Tally *)self)->counts.used) {
        PyErr_SetString(PyExc_ValueError, "kinds() takes the walk that the tally was made of, not closed yet");
        return NULL;
    }
    walk->busy++;
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = keep((Tally *)self, (Tally *)before, walk, &kept, &astray);
    Py_END_ALLOW_THREADS
    walk->busy--;
    PyObject *list = failed < 0 ? PyErr_NoMemory() : kinds_of(walk, &kept);
    column_free(&kept);
    return list == NULL ? NULL : Py_BuildValue("NK", list, astray);
}

static PyObject *tally_find(PyObject *self, PyObject *argument) {
    const Column *counts = &((Tally *)self)->counts;
    Count wanted = {PyLong_AsUnsignedLongLongMask(argument), 0, 0, 0};
    if (PyErr_Occurred()) {
        return NULL;
    }
    const Count *found = counts->used == 0 ? NULL : bsearch(&wanted, counts->base, counts->used, sizeof(Count), by_key);
    return found == NULL ? Py_NewRef(Py_None) : Py_BuildValue("IIK", found->group, found->count, found->bytes);
}

static PyObject *tally_new(PyTypeObject *type, PyObject *arguments, PyObject *named) {
    PyObject *walk;
    (void)named;
    if (!PyArg_ParseTuple(arguments, "O!", walk_type, &walk)) {
        return NULL;
    }
    if (answer_groups((Walk *)walk) < 0) {
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Tally *tally = (Tally *)allocate(type, 0);
    if (tally == NULL) {
        return NULL;
    }
    tally->counts.width = sizeof(Count);
    ((Walk *)walk)->busy++;
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = fill(tally, (Walk *)walk);
    Py_END_ALLOW_THREADS
    ((Walk *)walk)->busy--;
    if (failed < 0) {
        Py_DecRef((PyObject *)tally);
        return PyErr_NoMemory();
    }
    return (PyObject *)tally;
}

static void tally_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
    column_free(&((Tally *)self)->counts);
    free_object(self);
    Py_DecRef((PyObject *)type);
}

static PyMethodDef methods[] = {
    {"grown", tally_grown, METH_O,
     "Groups with more objects or bytes than in an earlier tally: group, objects before and now, bytes before and now."},
    {"kinds", tally_kinds, METH_VARARGS,
     "By the tally's walk and an earlier tally: type, living objects and added ones; and those added too far from a root."},
    {"find", tally_find, METH_O, "Group, objects and bytes by a group's key, or None."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Objects and bytes of all groups of one walk."}, {Py_tp_new, tally_new},
    {Py_tp_dealloc, tally_dealloc}, {Py_tp_methods, methods}, {0, NULL},
};

static PyType_Spec spec = {
    .name = "vllm_soak.heap._heap.Tally", .basicsize = sizeof(Tally), .flags = Py_TPFLAGS_DEFAULT, .slots = slots};

PyObject *make_tally_type(void) {
    PyObject *type = PyType_FromSpec(&spec);
    tally_type = (PyTypeObject *)type;
    return type;
}
