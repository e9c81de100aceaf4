/* SPDX-License-Identifier: Apache-2.0
 *
 * What the references between objects tell, when a walk was asked to record them: the bytes that a set of objects
 * alone keeps alive, and which objects are cyclic garbage.
 *
 * A set dominates what cannot be reached from the roots once the set is taken away: the same that a dominator tree
 * says of one object, and for a population as a whole. Only the tables are read, so other threads run meanwhile.
 */
#include "heap.h"

#define AWAY 1u
#define REACHED 2u

/* References of an object, by the order in which objects were followed. */
static size_t first_edge(const Walk *walk, uint32_t at) { return AT(walk->edge_start, uint32_t, at); }

static size_t past_edge(const Walk *walk, uint32_t at) { return AT(walk->edge_end, uint32_t, at); }

/* Room for a table of one entry an object, zeroed. */
static int room_for_all(const Walk *walk, Column *column) {
    if (column_reserve(column, walk->address.used + 1) < 0) {
        return -1;
    }
    column->used = walk->address.used;
    return 0;
}

static void reach(Column *marks, Column *queue, uint32_t at) {
    uint8_t *mark = &AT(*marks, uint8_t, at);
    if (*mark == 0) {
        *mark = REACHED;
        AT(*queue, uint32_t, queue->used++) = at;
    }
}

static void reach_all(const Walk *walk, Column *marks, Column *queue) {
    for (size_t next = 0; next < queue->used; next++) {
        uint32_t at = AT(*queue, uint32_t, next);
        for (size_t edge = first_edge(walk, at); edge < past_edge(walk, at); edge++) {
            reach(marks, queue, AT(walk->edges, uint32_t, edge));
        }
    }
}

/* A type that nothing else reaches is not freed with its last user: a static one never is. */
static int is_type(const Walk *walk, size_t at) {
    return AT(walk->kinds.kinds, Kind, AT(walk->type, uint32_t, at) & KIND_MASK).is_type;
}

static uint64_t unreached_bytes(const Walk *walk, const Column *marks) {
    uint64_t bytes = 0;
    for (size_t at = 0; at < walk->address.used; at++) {
        if (AT(*marks, uint8_t, at) != REACHED && !is_type(walk, at)) {
            bytes += AT(walk->size, uint32_t, at);
        }
    }
    return bytes;
}

/* Bytes that are unreachable without the members of a group, theirs included. */
int edges_retained(const Walk *walk, uint32_t group, uint64_t *bytes) {
    Column marks = {NULL, 1, 0, 0, 0}, queue = {NULL, sizeof(uint32_t), 0, 0, 0};
    int failed = room_for_all(walk, &marks) < 0 || column_reserve(&queue, walk->address.used + 1) < 0;
    if (!failed) {
        for (size_t at = 0; at < walk->address.used; at++) {
            AT(marks, uint8_t, at) = AT(walk->group, uint32_t, at) == group ? AWAY : 0;
        }
        for (size_t at = 0; at < walk->address.used; at++) {
            if (AT(walk->parent, uint32_t, at) == NOBODY) {
                reach(&marks, &queue, (uint32_t)at);
            }
        }
        reach_all(walk, &marks, &queue);
        *bytes = unreached_bytes(walk, &marks);
    }
    column_free(&marks);
    column_free(&queue);
    return failed ? -1 : 0;
}

static int is_lost(const Walk *walk, uint32_t at) {
    uint32_t group = AT(walk->group, uint32_t, at);
    return group > UNROOTED_GROUP && AT(walk->groups.groups, Group, group).parent == UNROOTED_GROUP;
}

/* References that lost objects have from one another. */
static void count_inner(const Walk *walk, Column *inner) {
    for (size_t at = 0; at < walk->address.used; at++) {
        if (!is_lost(walk, (uint32_t)at)) {
            continue;
        }
        for (size_t edge = first_edge(walk, (uint32_t)at); edge < past_edge(walk, (uint32_t)at); edge++) {
            AT(*inner, uint32_t, AT(walk->edges, uint32_t, edge))++;
        }
    }
}

/* Lost objects that someone outside holds, and all below them, are not garbage. To be called while nothing has run
 * since the walk: it reads the objects' reference counts. */
int edges_garbage(Walk *walk) {
    Column marks = {NULL, 1, 0, 0, 0}, queue = {NULL, sizeof(uint32_t), 0, 0, 0}, inner = {NULL, sizeof(uint32_t), 0, 0, 0};
    int failed = room_for_all(walk, &marks) < 0 || room_for_all(walk, &inner) < 0 ||
                 column_reserve(&queue, walk->address.used + 1) < 0 ||
                 column_reserve(&walk->garbage, walk->groups.groups.used + 1) < 0;
    if (!failed) {
        count_inner(walk, &inner);
        for (size_t at = 0; at < walk->address.used; at++) {
            PyObject *object = (PyObject *)(uintptr_t)AT(walk->address, uint64_t, at);
            if (is_lost(walk, (uint32_t)at) && Py_REFCNT(object) > (Py_ssize_t)AT(inner, uint32_t, at)) {
                reach(&marks, &queue, (uint32_t)at);
            }
        }
        reach_all(walk, &marks, &queue);
        walk->garbage.used = walk->groups.groups.used;
        for (size_t at = 0; at < walk->address.used; at++) {
            if (is_lost(walk, (uint32_t)at) && AT(marks, uint8_t, at) != REACHED) {
                AT(walk->garbage, uint32_t, AT(walk->group, uint32_t, at))++;
            }
        }
    }
    column_free(&marks);
    column_free(&queue);
    column_free(&inner);
    return failed ? -1 : 0;
}
