/* SPDX-License-Identifier: Apache-2.0
 *
 * The members of a group, and what holds them: containers that grew tell which members are new (see marks.c).
 *
 * Objects are put in the order of their groups when a member is first asked for. Only the tables are read, and other
 * threads run meanwhile, since a group may have a million members.
 */
#include "answers.h"

#include <stdlib.h>

/* Objects by group, each group's in their own order. Counting leaves where a group ends, where the next one begins. */
static int put_in_order(Walk *walk) {
    size_t count = walk->address.used, groups = walk->groups.groups.used;
    if (walk->order.used == count) {
        return 0;
    }
    walk->order.used = walk->begins.used = 0;
    if (column_reserve(&walk->order, count) < 0 || column_reserve(&walk->begins, groups) < 0) {
        return -1;
    }
    uint32_t sum = 0;
    for (size_t at = 0; at < groups; at++) {
        AT(walk->begins, uint32_t, at) = sum;
        sum += AT(walk->groups.groups, Group, at).count;
    }
    for (size_t at = 0; at < count; at++) {
        AT(walk->order, uint32_t, AT(walk->begins, uint32_t, AT(walk->group, uint32_t, at))++) = (uint32_t)at;
    }
    walk->order.used = count;
    walk->begins.used = groups;
    return 0;
}

/* Members that are looked at: every so many-th. */
typedef struct {
    const uint32_t *first;
    size_t step;
    size_t count;
} Some;

static Some some(const Walk *walk, size_t group, size_t most) {
    size_t count = AT(walk->groups.groups, Group, group).count;
    size_t step = most > 0 && count > most ? count / most : 1, found = (count + step - 1) / step;
    size_t begins = group == 0 ? 0 : AT(walk->begins, uint32_t, group - 1);
    return (Some){&AT(walk->order, uint32_t, begins), step, found > most ? most : found};
}

static uint32_t member(const Some *some, size_t at) { return some->first[at * some->step]; }

/* A column of 32 bits, every so many-th entry, as a list of a few numbers; all memory of the column is given back. */
static PyObject *few_of(Column *column, size_t few) {
    size_t step = few > 0 && column->used > few ? column->used / few : 1;
    PyObject *list = PyList_New(0);
    for (size_t at = 0; list != NULL && at < column->used && (size_t)PyList_Size(list) < few; at += step) {
        PyObject *one = PyLong_FromUnsignedLong(AT(*column, uint32_t, at));
        if (one == NULL || PyList_Append(list, one) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(one);
    }
    column_free(column);
    return list;
}

/* Members that pass, or their holders where these are asked for. */
typedef int (*Filter)(const Walk *walk, uint32_t member, uint32_t *found);

static int any(const Walk *walk, uint32_t member, uint32_t *found) {
    (void)walk;
    *found = member;
    return 1;
}

static int is_fresh(const Walk *walk, uint32_t member, uint32_t *found) {
    *found = member;
    return ((mark_of(walk, member) | mark_of(walk, AT(walk->parent, uint32_t, member))) & GAINED) != 0;
}

static int is_held(const Walk *walk, uint32_t member, uint32_t *found) {
    *found = AT(walk->parent, uint32_t, member);
    return (mark_of(walk, *found) & NAMED) != 0;
}

static int keep(Walk *walk, size_t group, size_t most, Filter filter, Column *kept) {
    if (put_in_order(walk) < 0) {
        return -1;
    }
    Some looked_at = some(walk, group, most);
    if (column_reserve(kept, looked_at.count) < 0) {
        return -1;
    }
    for (size_t at = 0; at < looked_at.count; at++) {
        kept->used += (size_t)filter(walk, member(&looked_at, at), &AT(*kept, uint32_t, kept->used));
    }
    return 0;
}

/* Without the interpreter. */
static int kept_of(Walk *walk, size_t group, Py_ssize_t most, Filter filter, Column *kept) {
    int failed;
    walk->busy++;
    Py_BEGIN_ALLOW_THREADS
    failed = keep(walk, group, most > 0 ? (size_t)most : 0, filter, kept);
    Py_END_ALLOW_THREADS
    walk->busy--;
    if (failed < 0) {
        column_free(kept);
        PyErr_NoMemory();
    }
    return failed;
}

static int read_group(Walk *walk, PyObject *arguments, size_t *group, Py_ssize_t *most, Py_ssize_t *few) {
    PyObject *which;
    if (!PyArg_ParseTuple(arguments, few == NULL ? "On" : "On" "n", &which, most, few) || answer_groups(walk) < 0) {
        return -1;
    }
    return answer_position(which, walk->groups.groups.used, group);
}

/* Of a group and a number of members that are looked at, as a method was given them. */
static int kept_as_asked(Walk *walk, PyObject *arguments, Filter filter, Column *kept) {
    size_t group;
    Py_ssize_t most;
    return read_group(walk, arguments, &group, &most, NULL) < 0 ? -1 : kept_of(walk, group, most, filter, kept);
}

PyObject *members_some(PyObject *self, PyObject *arguments) {
    Column kept = {NULL, sizeof(uint32_t), 0, 0, 0};
    return kept_as_asked((Walk *)self, arguments, any, &kept) < 0 ? NULL : few_of(&kept, kept.used);
}

PyObject *members_fresh(PyObject *self, PyObject *arguments) {
    Walk *walk = (Walk *)self;
    size_t group;
    Py_ssize_t most, few;
    Column kept = {NULL, sizeof(uint32_t), 0, 0, 0};
    if (read_group(walk, arguments, &group, &most, &few) < 0 || kept_of(walk, group, most, is_fresh, &kept) < 0 ||
        (kept.used == 0 && kept_of(walk, group, most, any, &kept) < 0)) {
        return NULL;
    }
    return few_of(&kept, (size_t)few);
}

static int by_number(const void *left_, const void *right_) {
    const uint32_t *left = left_, *right = right_;
    return *left < *right ? -1 : *left > *right;
}

static int add_count(PyObject *list, const Walk *walk, uint32_t holder, size_t count) {
    PyObject *pair = Py_BuildValue("Kn", AT(walk->address, uint64_t, holder), (Py_ssize_t)count);
    int failed = pair == NULL || PyList_Append(list, pair) < 0;
    Py_XDECREF(pair);
    return failed ? -1 : 0;
}

PyObject *members_held(PyObject *self, PyObject *arguments) {
    Walk *walk = (Walk *)self;
    Column kept = {NULL, sizeof(uint32_t), 0, 0, 0};
    if (kept_as_asked(walk, arguments, is_held, &kept) < 0) {
        return NULL;
    }
    if (kept.used > 0) {
        qsort(kept.base, kept.used, sizeof(uint32_t), by_number);
    }
    PyObject *list = PyList_New(0);
    for (size_t at = 0, end; list != NULL && at < kept.used; at = end) {
        for (end = at + 1; end < kept.used && AT(kept, uint32_t, end) == AT(kept, uint32_t, at); end++) {
        }
        if (add_count(list, walk, AT(kept, uint32_t, at), end - at) < 0) {
            Py_CLEAR(list);
        }
    }
    column_free(&kept);
    return list;
}

/* The outermost member of a group above an object of it. */
PyObject *members_top(PyObject *self, PyObject *arguments) {
    Walk *walk = (Walk *)self;
    PyObject *which;
    Py_ssize_t group, farthest;
    size_t at;
    if (!PyArg_ParseTuple(arguments, "On" "n", &which, &group, &farthest) || answer_groups(walk) < 0 ||
        answer_position(which, walk->address.used, &at) < 0) {
        return NULL;
    }
    uint32_t top = (uint32_t)at, one = top;
    for (Py_ssize_t steps = 0; one != NOBODY && steps < farthest; steps++) {
        top = AT(walk->group, uint32_t, one) == (uint32_t)group ? one : top;
        one = AT(walk->parent, uint32_t, one);
    }
    return PyLong_FromUnsignedLong(top);
}

static int is_below(const Walk *walk, uint32_t group, uint32_t above) {
    while (group != NOBODY && group != above) {
        group = AT(walk->groups.groups, Group, group).parent;
    }
    return group == above;
}

/* The sum of the numbers beside the groups that lie below one. */
PyObject *members_below(PyObject *self, PyObject *arguments) {
    Walk *walk = (Walk *)self;
    PyObject *which, *pairs;
    size_t above;
    if (!PyArg_ParseTuple(arguments, "OO!", &which, &PyList_Type, &pairs) || answer_groups(walk) < 0 ||
        answer_position(which, walk->groups.groups.used, &above) < 0) {
        return NULL;
    }
    long long sum = 0;
    for (Py_ssize_t at = 0; at < PyList_Size(pairs); at++) {
        size_t group;
        PyObject *pair = PyList_GetItem(pairs, at);
        if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2 ||
            answer_position(PyTuple_GetItem(pair, 0), walk->groups.groups.used, &group) < 0) {
            return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "below() takes pairs of a group and a number");
        }
        if (group != above && is_below(walk, (uint32_t)group, (uint32_t)above)) {
            sum += PyLong_AsLongLong(PyTuple_GetItem(pair, 1));
        }
    }
    return PyErr_Occurred() ? NULL : PyLong_FromLongLong(sum);
}
