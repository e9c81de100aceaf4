/* SPDX-License-Identifier: Apache-2.0
 *
 * Breadth first: the tables, the queue, and the order of the stages.
 *
 * Functions, types, modules and weak references are late: followed when all else has been, so that plain
 * attributes name what they reach. The queue is the table itself. A walk waits for memory more than for anything
 * else, so references are looked up in batches, and what comes next is fetched ahead: first the bits that tell
 * whether an object is known, then the objects that are not; of those to be followed first the object, then what
 * it points to.
 */
#include "heap.h"

#include <time.h>

/* Objects of the queue that are fetched, and whose insides are fetched, before their turn. */
#define AHEAD 24
#define NEAR 8
#define SHORT_TEXT 512

int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int is_value(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    if (type == &PyUnicode_Type) {
        return text_length(object) <= SHORT_TEXT;
    }
    return type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type || object == Py_None;
}

static int fail(Walk *walk, const char *why) {
    walk->failure = why;
    return -1;
}

static int room_for_edges(Walk *walk) {
    return column_reserve(&walk->edges, BATCH) < 0 || column_reserve(&walk->edge_start, BATCH) < 0 ||
           column_reserve(&walk->edge_end, BATCH) < 0 ||
           index_reserve(&walk->index, walk->address.used + BATCH, &walk->address) < 0;
}

int walk_prepare(Walk *walk) {
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

int walk_room(Walk *walk) {
    Column *columns[] = {&walk->address, &walk->parent,   &walk->type,   &walk->size, &walk->group,
                         &walk->late,    &walk->position, &walk->length, &walk->statics};
    if (walk->address.used + BATCH > KIND_MASK) {
        return fail(walk, "more objects than a walk can number");
    }
    for (size_t at = 0; at < sizeof columns / sizeof *columns; at++) {
        if (column_reserve(columns[at], BATCH) < 0) {
            return fail(walk, "no memory for the walk's tables");
        }
    }
    if (walk->recording && room_for_edges(walk)) {
        return fail(walk, "no memory for the walk's edges");
    }
    return 0;
}

int walk_meet(Walk *walk, PyObject *object) {
    int64_t word = seen_word(&walk->seen, object);
    return word < 0 ? fail(walk, "no memory for the walk's bits") : seen_mark(&walk->seen, word, object);
}

static size_t slot_of(const Walk *walk, PyObject *object) {
    return spread((uint64_t)(uintptr_t)object) & walk->index.mask;
}

static int look_up(const Walk *walk, PyObject *object, uint32_t *found) {
    size_t slot = slot_of(walk, object);
    for (uint32_t entry; (entry = AT(walk->index.slots, uint32_t, slot)) != 0; slot = (slot + 1) & walk->index.mask) {
        if (AT(walk->address, uint64_t, entry - 1) == (uint64_t)(uintptr_t)object) {
            *found = entry - 1;
            return 1;
        }
    }
    return 0;
}

static void enter(Walk *walk, PyObject *object, uint32_t at) {
    size_t slot = slot_of(walk, object);
    while (AT(walk->index.slots, uint32_t, slot) != 0) {
        slot = (slot + 1) & walk->index.mask;
    }
    AT(walk->index.slots, uint32_t, slot) = at + 1;
}

static int is_static_type(const Kind *kind, PyObject *object) {
    return kind->is_type && !(PyType_GetFlags((PyTypeObject *)object) & Py_TPFLAGS_HEAPTYPE);
}

/* Its turn comes in the queue, with the late ones, with the static types, or never. */
static uint32_t queue(Walk *walk, const Kind *kind, PyObject *object, uint32_t at, int late) {
    if (is_static_type(kind, object)) {
        AT(walk->statics, uint32_t, walk->statics.used++) = at;
        return 0;
    }
    uint32_t linked = kind->linked ? LINKED : 0;
    if (!kind->follow || walk->hiding) {
        return linked;
    }
    if (late || kind->late) {
        AT(walk->late, uint32_t, walk->late.used++) = at;
        late = 1;
    }
    if (walk->sliced) {
        Py_IncRef(object);
    }
    return linked | FOLLOW | (late ? LATE : 0) | (walk->sliced ? HELD : 0);
}

void walk_measure(Walk *walk, Kind *kind, PyObject *object, uint32_t at) {
    size_t bytes = shallow_size(kind, object);
    AT(walk->size, uint32_t, at) = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
    AT(walk->groups.groups, Group, AT(walk->group, uint32_t, at)).bytes += bytes;
}

static void append(Walk *walk, PyObject *object, uint32_t at, uint32_t parent) {
    Column *columns[] = {&walk->address, &walk->parent, &walk->type, &walk->size, &walk->group};
    for (size_t one = 0; one < sizeof columns / sizeof *columns; one++) {
        columns[one]->used = at + 1;
    }
    AT(walk->address, uint64_t, at) = (uint64_t)(uintptr_t)object;
    AT(walk->parent, uint32_t, at) = parent;
    AT(walk->size, uint32_t, at) = 0;
    if (walk->recording) {
        walk->edge_start.used = walk->edge_end.used = at + 1;
        enter(walk, object, at);
    }
}

/* A new object; `group` is that of its parent, or with no parent its own. Room must have been made. */
int walk_discover(Walk *walk, PyObject *object, uint32_t parent, uint32_t group, int late) {
    uint32_t kind_at, at = (uint32_t)walk->address.used;
    if (kinds_find(&walk->kinds, &walk->rules, Py_TYPE(object), &kind_at) < 0) {
        return fail(walk, "no memory for the walk's types");
    }
    int rooted = parent == NOBODY && group != UNROOTED_GROUP && group != OWN_GROUP;
    if (!rooted && groups_child(&walk->groups, &walk->kinds, group, kind_at, &group) < 0) {
        return fail(walk, "no memory for the walk's groups");
    }
    Kind *kind = &AT(walk->kinds.kinds, Kind, kind_at);
    append(walk, object, at, parent);
    uint32_t flags = queue(walk, kind, object, at, late);
    AT(walk->type, uint32_t, at) = kind_at | flags;
    AT(walk->group, uint32_t, at) = group;
    groups_count(&walk->groups, group, at);
    if (!(flags & FOLLOW) || kind->sizer == NULL) { /* what has to be looked into waits until it is followed */
        walk_measure(walk, kind, object, at);
    }
    if (kind->base != 0 && group != OWN_GROUP) {
        AT(walk->position, uint32_t, walk->position.used++) = at;
        AT(walk->length, uint64_t, walk->length.used++) = container_length(kind, object);
    }
    walk->unrooted += parent == NOBODY && group != OWN_GROUP && !rooted;
    return 0;
}

static void record(Walk *walk, uint32_t parent, uint32_t child) {
    if (parent == NOBODY) {
        return;
    }
    if (parent != walk->recorded) {
        walk->recorded = parent;
        AT(walk->edge_start, uint32_t, parent) = (uint32_t)walk->edges.used;
    }
    AT(walk->edges, uint32_t, walk->edges.used++) = child;
    AT(walk->edge_end, uint32_t, parent) = (uint32_t)walk->edges.used;
}

/* Places of the bits of all that was met. */
static int find_words(Walk *walk, size_t count) {
    for (size_t at = 0; at < count; at++) {
        int64_t word = seen_word(&walk->seen, walk->batch[at].child);
        if (word < 0) {
            return fail(walk, "no memory for the walk's bits");
        }
        walk->batch[at].word = (uint32_t)word;
        __builtin_prefetch(&AT(walk->seen.bits, uint64_t, word));
    }
    return 0;
}

/* What had not been met, in order, and marked as met now. */
static size_t keep_new(Walk *walk, size_t count) {
    size_t kept = 0;
    for (size_t at = 0; at < count; at++) {
        if (seen_mark(&walk->seen, walk->batch[at].word, walk->batch[at].child)) {
            walk->batch[kept++] = walk->batch[at];
            __builtin_prefetch(walk->batch[at].child);
        }
    }
    return kept;
}

static int discover_one(Walk *walk, const Found *found) {
    if (Py_REFCNT(found->child) <= 0) {
        return 0; /* dead: asyncio of CPython 3.12 shows the collector its free list, where a reference would be fatal */
    }
    if (is_value(found->child)) {
        walk->values++;
        return 0;
    }
    uint32_t group = found->parent == NOBODY ? UNROOTED_GROUP : AT(walk->group, uint32_t, found->parent);
    return walk_discover(walk, found->child, found->parent, group, 0);
}

/* References are recorded in their order, to what is known as well. */
static int record_all(Walk *walk, size_t count) {
    for (size_t at = 0; at < count; at++) {
        const Found *found = &walk->batch[at];
        uint32_t child = 0;
        if (seen_mark(&walk->seen, found->word, found->child) && discover_one(walk, found) < 0) {
            return -1;
        }
        if (look_up(walk, found->child, &child)) { /* a number or a short text is not there */
            record(walk, found->parent, child);
        }
    }
    return 0;
}

static int discover_all(Walk *walk, size_t count) {
    size_t kept = keep_new(walk, count);
    for (size_t at = 0; at < kept; at++) {
        if (discover_one(walk, &walk->batch[at]) < 0) {
            return -1;
        }
    }
    return 0;
}

int walk_flush(Walk *walk) {
    size_t count = walk->batched;
    walk->batched = 0;
    if (count == 0) {
        return 0;
    }
    if (walk_room(walk) < 0 || find_words(walk, count) < 0) {
        return -1;
    }
    int failed = walk->recording ? record_all(walk, count) : discover_all(walk, count);
    walk->over = walk->ends != 0 && now_ns() >= walk->ends;
    return failed;
}

int walk_push(Walk *walk, PyObject *child, uint32_t parent) {
    walk->batch[walk->batched++] = (Found){child, parent, 0};
    return walk->batched == BATCH ? walk_flush(walk) : 0;
}

static void fetch(const Walk *walk, uint32_t at) {
    __builtin_prefetch((void *)(uintptr_t)AT(walk->address, uint64_t, at));
}

/* What the object points to; it must be one that the walk holds, or in a walk in one piece any. */
static void fetch_inside(const Walk *walk, uint32_t at) {
    uint32_t flags = AT(walk->type, uint32_t, at);
    if (!(flags & FOLLOW)) {
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
        if ((flags & FOLLOW) && !(flags & LATE)) {
            return 1;
        }
    }
    return 0;
}

static int enter_root(Walk *walk, PyObject *root) {
    PyObject *object = PyTuple_GetItem(root, 0);
    uint32_t kind, group;
    int fresh = is_value(object) ? 0 : walk_room(walk) < 0 ? -1 : walk_meet(walk, object);
    if (fresh <= 0) {
        return fresh;
    }
    uint64_t key = PyLong_AsUnsignedLongLongMask(PyTuple_GetItem(root, 1));
    int late = PyObject_IsTrue(PyTuple_GetItem(root, 2));
    if (kinds_find(&walk->kinds, &walk->rules, Py_TYPE(object), &kind) < 0 ||
        groups_root(&walk->groups, key, kind, &group) < 0) {
        return fail(walk, "no memory for the walk's roots");
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
    if (walk_room(walk) < 0) {
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

/* Followed to its end: the reference to it is given back when the slice ends. */
static int finish(Walk *walk, uint32_t at) {
    if (AT(walk->type, uint32_t, at) & HELD) {
        if (column_reserve(&walk->dropped, 1) < 0) {
            return fail(walk, "no memory for the walk's references");
        }
        AT(walk->type, uint32_t, at) &= ~HELD;
        AT(walk->dropped, PyObject *, walk->dropped.used++) = (PyObject *)(uintptr_t)AT(walk->address, uint64_t, at);
    }
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
            return 0;
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
