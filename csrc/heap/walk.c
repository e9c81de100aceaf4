/* SPDX-License-Identifier: Apache-2.0
 *
 * Breadth first: the queue, and the order of the stages.
 *
 * Functions, types, modules and weak references are late: followed when all else has been, so that plain
 * attributes name what they reach. The queue is the table itself. A walk waits for memory more than for anything
 * else, so of the objects to be followed next first the object is fetched, then what it points to.
 */
#include "heap.h"

#include <time.h>

/* Objects of the queue that are fetched, and whose insides are fetched, before their turn. */
#define AHEAD 24
#define NEAR 8

/* Fields of a root: see roots.py. */
enum { LABEL, VALUE, PLACE, OWNER, IS_LATE };

int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int is_in_queue(uint32_t flags) { return (flags & (FOLLOW | LATE)) == FOLLOW; }

static void fetch(const Walk *walk, uint32_t at) {
    if (is_in_queue(AT(walk->type, uint32_t, at))) {
        __builtin_prefetch((void *)(uintptr_t)AT(walk->address, uint64_t, at));
    }
}

/* What the object points to; it must be one that the walk holds, or in a walk in one piece any. */
static void fetch_inside(const Walk *walk, uint32_t at) {
    uint32_t flags = AT(walk->type, uint32_t, at);
    if (!is_in_queue(flags)) {
        return;
    }
    const Kind *kind = &AT(walk->kinds.kinds, Kind, flags & KIND_MASK);
    char *object = (char *)(uintptr_t)AT(walk->address, uint64_t, at);
    if (kind->spread) {
        __builtin_prefetch(*(void **)(void *)(object - 4 * sizeof(void *)));
    } else if (kind->entries == MAP) {
        __builtin_prefetch(*(void **)(void *)(object + 4 * sizeof(void *)));
    } else if (kind->entries == LIST_LIKE) {
        __builtin_prefetch(*(void **)(void *)(object + 3 * sizeof(void *)));
    }
}

static uint32_t next_late(Walk *walk) {
    if (walk->late_at + AHEAD < walk->late_end) {
        char *object = (char *)(uintptr_t)AT(walk->address, uint64_t, AT(walk->late, uint32_t, walk->late_at + AHEAD));
        __builtin_prefetch(object);
        __builtin_prefetch(object + 64); /* functions and types are long */
        __builtin_prefetch(object + 128);
    }
    return AT(walk->late, uint32_t, walk->late_at++);
}

/* The next object of the queue: a level of late ones is not interrupted. */
static int next(Walk *walk, uint32_t *at) {
    if (walk->late_at < walk->late_end) {
        *at = next_late(walk);
        return 1;
    }
    while (walk->cursor < walk->address.used) {
        if (walk->cursor + AHEAD < walk->address.used) {
            fetch(walk, (uint32_t)walk->cursor + AHEAD);
            fetch_inside(walk, (uint32_t)walk->cursor + NEAR);
        }
        *at = (uint32_t)walk->cursor++;
        uint32_t flags = AT(walk->type, uint32_t, *at);
        if (is_in_queue(flags)) {
            return 1;
        }
    }
    return 0;
}

/* The same in every walk: of a root's label and place. */
static uint64_t key_of(PyObject *root) {
    const Py_ssize_t parts[] = {LABEL, PLACE};
    uint64_t key = HASH_START;
    for (size_t at = 0; at < sizeof parts / sizeof *parts; at++) {
        key = hash_text((key ^ at) * HASH_PRIME, PyTuple_GetItem(root, parts[at]));
    }
    return key;
}

static int enter_root(Walk *walk, PyObject *root) {
    PyObject *object = PyTuple_GetItem(root, VALUE);
    uint32_t kind, group;
    int fresh = is_value(object) ? 0 : tables_room(walk) < 0 ? -1 : walk_meet(walk, object);
    if (fresh <= 0) {
        return fresh;
    }
    int late = PyObject_IsTrue(PyTuple_GetItem(root, IS_LATE));
    if (kinds_find(&walk->kinds, &walk->rules, Py_TYPE(object), &kind) < 0 ||
        groups_root(&walk->groups, key_of(root), kind, &group) < 0) {
        return walk_fail(walk, "no memory for the walk's roots");
    }
    return walk_discover(walk, object, NOBODY, group, late);
}

static int enter_roots(Walk *walk) {
    while (walk->root < (size_t)PyList_Size(walk->roots)) {
        if (enter_root(walk, PyList_GetItem(walk->roots, (Py_ssize_t)walk->root++)) < 0) {
            return -1;
        }
    }
    return 0;
}

/* What the census itself holds is followed once all else has been, so that only its own is counted as such. */
static int enter_hidden(Walk *walk) {
    if (walk->hidden_at == walk->hidden_count) {
        return 0;
    }
    uint32_t at = (uint32_t)walk->hidden_at++; /* the table begins with them */
    PyObject *object = (PyObject *)(uintptr_t)AT(walk->address, uint64_t, at);
    const Kind *kind = &AT(walk->kinds.kinds, Kind, AT(walk->type, uint32_t, at) & KIND_MASK);
    if (tables_room(walk) < 0) {
        return -1;
    }
    if (kind->follow && !is_static_type(kind, object)) {
        AT(walk->late, uint32_t, walk->late.used++) = at;
    }
    return 1;
}

static int next_static(Walk *walk) {
    if (!walk->registries || walk->static_at == walk->statics.used) {
        return 0;
    }
    return follow_static(walk, AT(walk->statics, uint32_t, walk->static_at++)) < 0 ? -1 : 1;
}

/* The queue is empty: what comes next. 1: something may be queued; 0: nothing will be; -1: failed. */
static int more(Walk *walk) {
    if (walk->late_end < walk->late.used) {
        walk->late_end = walk->late.used;
        return 1;
    }
    int found = 0;
    switch (walk->stage) {
    case ROOTS:
        found = enter_roots(walk);
        break;
    case STATICS:
        found = next_static(walk);
        break;
    case OWN:
        found = walk->registries ? enter_hidden(walk) : 0;
        break;
    case RINGS:
        found = walk->registries ? rings_step(walk) : 0;
        break;
    case DONE:
        return 0;
    }
    if (found == 0) {
        walk->stage++;
    }
    return found < 0 ? -1 : 1;
}

/* Followed to its end: the reference to it is given back, when the slice ends if it is the last one. */
static int finish(Walk *walk, uint32_t at) {
    PyObject *object = (PyObject *)(uintptr_t)AT(walk->address, uint64_t, at);
    if (!(AT(walk->type, uint32_t, at) & HELD)) {
        return 0;
    }
    if (Py_REFCNT(object) == 1) {
        if (column_reserve(&walk->dropped, 1) < 0) {
            return walk_fail(walk, "no memory for the walk's references");
        }
        AT(walk->dropped, PyObject *, walk->dropped.used++) = object;
    } else {
        Py_DecRef(object);
    }
    AT(walk->type, uint32_t, at) &= ~HELD;
    return 0;
}

static int follow_one(Walk *walk, uint32_t at) {
    if (follow(walk, at) < 0) {
        return -1;
    }
    return walk->resuming ? 0 : finish(walk, at);
}

int walk_advance(Walk *walk) {
    while (walk->stage != DONE) {
        uint32_t at = walk->current;
        if (walk->over) {
            return walk_flush(walk); /* what was pushed since may be gone in the next slice */
        }
        if (walk->resuming || next(walk, &at)) {
            if (follow_one(walk, at) < 0) {
                return -1;
            }
        } else if (walk->batched > 0) {
            if (walk_flush(walk) < 0) {
                return -1;
            }
        } else if (more(walk) < 0) {
            return -1;
        }
    }
    return 1;
}

/* Letting go of the last reference runs whatever the program does then: nothing of the walk is in motion. */
void walk_drop(Walk *walk) {
    while (walk->dropped.used > 0) {
        Py_DecRef(AT(walk->dropped, PyObject *, --walk->dropped.used));
    }
}
