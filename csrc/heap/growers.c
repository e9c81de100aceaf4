/* SPDX-License-Identifier: Apache-2.0
 *
 * Which containers are longer at one snapshot than at an earlier one.
 *
 * Nothing of Python is called while two snapshots are compared, so other threads run meanwhile.
 */
#include "snapshot.h"

#include <stdlib.h>

typedef struct {
    uint64_t owner;
    uint32_t code;
    uint32_t at;
} Slot;

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
        if (AT(one->owner, uint64_t, at) != 0 &&
            !is_still(one, at, other, snapshot_find(other, AT(one->address, uint64_t, at)))) {
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
        uint32_t then = snapshot_find(before, AT(now->address, uint64_t, at));
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

PyObject *snapshot_growers(PyObject *self, PyObject *argument) {
    if (!is_snapshot(argument)) {
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
