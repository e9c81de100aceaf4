/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of a walk, from its first to its last moment: their widths, room in them, and their release.
 */
#include "heap.h"

void tables_widths(Walk *walk) {
    walk->address.width = walk->length.width = walk->groups.keys.width = walk->kinds.addresses.width = 8;
    walk->large.width = 8;
    walk->parent.width = walk->type.width = walk->size.width = walk->group.width = 4;
    walk->position.width = walk->late.width = walk->statics.width = 4;
    walk->order.width = walk->begins.width = 4;
    walk->marks.width = 1;
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

static int room_for_edges(Walk *walk) {
    return column_reserve(&walk->edges, BATCH) < 0 || column_reserve(&walk->edge_start, BATCH) < 0 ||
           column_reserve(&walk->edge_end, BATCH) < 0 ||
           index_reserve(&walk->index, walk->address.used + BATCH, &walk->address) < 0;
}

int tables_prepare(Walk *walk) {
    Column *columns[] = {&walk->address, &walk->parent, &walk->type, &walk->size, &walk->group};
    size_t all = walk->expected + walk->expected / 16;
    for (size_t at = 0; at < sizeof columns / sizeof *columns; at++) {
        if (column_prepare(columns[at], all) < 0) {
            return -1;
        }
    }
    size_t groups = all / 6; /* an engine has a group for nine objects */
    return column_prepare(&walk->groups.groups, groups) < 0 || column_prepare(&walk->groups.keys, groups) < 0 ||
                   index_reserve(&walk->groups.index, groups, &walk->groups.keys) < 0
               ? -1
               : 0;
}

int tables_room(Walk *walk) {
    Column *columns[] = {&walk->address, &walk->parent,   &walk->type,   &walk->size, &walk->group,
                         &walk->late,    &walk->position, &walk->length, &walk->statics, &walk->large};
    if (walk->address.used + BATCH > KIND_MASK) {
        return walk_fail(walk, "more objects than a walk can number");
    }
    for (size_t at = 0; at < sizeof columns / sizeof *columns; at++) {
        if (column_reserve(columns[at], BATCH) < 0) {
            return walk_fail(walk, "no memory for the walk's tables");
        }
    }
    if (walk->recording && room_for_edges(walk)) {
        return walk_fail(walk, "no memory for the walk's edges");
    }
    return 0;
}

void tables_release_held(Walk *walk) {
    for (size_t at = 0; at < walk->type.used; at++) {
        if (AT(walk->type, uint32_t, at) & HELD && column_reserve(&walk->dropped, 1) == 0) {
            AT(walk->dropped, PyObject *, walk->dropped.used++) =
                (PyObject *)(uintptr_t)AT(walk->address, uint64_t, at);
        }
    }
}

void tables_release(Walk *walk) {
    Column *columns[] = {&walk->address,    &walk->parent,   &walk->type,   &walk->size,    &walk->group,
                         &walk->late,       &walk->position, &walk->length, &walk->statics, &walk->edges,
                         &walk->edge_start, &walk->edge_end, &walk->garbage, &walk->large,  &walk->order,
                         &walk->begins,     &walk->marks};
    for (size_t at = 0; at < sizeof columns / sizeof *columns; at++) {
        column_free(columns[at]);
    }
    index_free(&walk->index);
    seen_free(&walk->seen);
    groups_free(&walk->groups);
}

void tables_release_references(Walk *walk) {
    Py_CLEAR(walk->iterator);
    Py_CLEAR(walk->ring_front);
    Py_CLEAR(walk->ring_back);
    walk_drop(walk);
    column_free(&walk->dropped);
    kinds_free(&walk->kinds);
    Py_CLEAR(walk->hidden);
    Py_CLEAR(walk->roots);
}
