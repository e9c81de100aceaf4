/* SPDX-License-Identifier: Apache-2.0
 *
 * From references to rows of the tables: what had not been met becomes an object of the walk.
 *
 * References are looked up in batches, and what comes next is fetched ahead: first the bits that tell whether an object
 * is known, then the objects that are not. What needs the tables alone, an object's group, waits until the walk is
 * over, when the interpreter need not be held.
 */
#include "heap.h"

#define SHORT_TEXT 512

int is_value(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    if (type == &PyUnicode_Type) {
        return text_length(object) <= SHORT_TEXT;
    }
    return type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type || object == Py_None;
}

int walk_fail(Walk *walk, const char *why) {
    walk->failure = why;
    return -1;
}

int walk_meet(Walk *walk, PyObject *object) {
    int64_t word = seen_word(&walk->seen, object);
    return word < 0 ? walk_fail(walk, "no memory for the walk's bits") : seen_mark(&walk->seen, word, object);
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
    if (bytes > UINT32_MAX) {
        AT(walk->large, uint64_t, walk->large.used++) = at;
        AT(walk->large, uint64_t, walk->large.used++) = bytes;
    }
    if (at < walk->grouped) { /* somebody asked for the groups before the walk was over */
        AT(walk->groups.groups, Group, AT(walk->group, uint32_t, at)).bytes += bytes;
    }
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

/* What only the census reaches: it is followed when all else has been, and before the rings. */
static int is_own(const Walk *walk) { return walk->hiding || walk->stage == OWN; }

/* A new object; `group` is that of one without a parent. Room must have been made. */
int walk_discover(Walk *walk, PyObject *object, uint32_t parent, uint32_t group, int late) {
    uint32_t kind_at, at = (uint32_t)walk->address.used;
    if (kinds_find(&walk->kinds, &walk->rules, Py_TYPE(object), &kind_at) < 0) {
        return walk_fail(walk, "no memory for the walk's types");
    }
    Kind *kind = &AT(walk->kinds.kinds, Kind, kind_at);
    append(walk, object, at, parent);
    uint32_t flags = queue(walk, kind, object, at, late);
    AT(walk->type, uint32_t, at) = kind_at | flags;
    AT(walk->group, uint32_t, at) = group;
    if (!(flags & FOLLOW) || kind->sizer == NULL) { /* what has to be looked into waits until it is followed */
        walk_measure(walk, kind, object, at);
    }
    if (kind->base != 0 && !is_own(walk)) {
        AT(walk->position, uint32_t, walk->position.used++) = at;
        AT(walk->length, uint64_t, walk->length.used++) = container_length(kind, object);
    }
    walk->unrooted += parent == NOBODY && group == UNROOTED_GROUP;
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
            return walk_fail(walk, "no memory for the walk's bits");
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
    return walk_discover(walk, found->child, found->parent, UNROOTED_GROUP, 0);
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
    if (tables_room(walk) < 0 || find_words(walk, count) < 0) {
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
