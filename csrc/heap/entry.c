/* SPDX-License-Identifier: Apache-2.0
 *
 * What an entry of a container costs: the bytes that only the container keeps alive. See retained.py, which does the
 * same in Python.
 *
 * Trial deletion, as a cycle collector does it: of each object below the entry it is counted how many references it
 * has from among them. What has more is kept alive by others, with all below it. Nothing runs until it is known what
 * would die; then these objects are held, and their sizes asked for.
 */
#include "answers.h"

#include <string.h>

#define REACH 1000u /* objects that are looked at below one entry */
#define MOST 8000u  /* references of one object that are looked at: the interpreter is held meanwhile */
#define SHARED 1000 /* references beyond which an object is not looked into: a type, a constant, or an immortal */
#define OF_AN_ENTRY 2u /* the container's slot, and the tuple that the entry is given in */

typedef struct {
    Walk *walk;
    Column items;  /* uint64_t: addresses, keys of the index */
    Column known;  /* uint32_t: references to each from among them */
    Column edges;  /* uint32_t */
    Column ends;   /* uint32_t: of each, where its references end */
    Column kinds;  /* uint32_t */
    Column queue;  /* uint32_t: what others keep alive */
    Column alive;  /* uint8_t */
    Index index;
    size_t edges_end; /* of the object that is looked into */
    int failed;
} Entry;

static PyObject *item(const Entry *entry, size_t at) {
    return (PyObject *)(uintptr_t)AT(entry->items, uint64_t, at);
}

/* On CPython 3.12 and later there are flags beside the count. */
static Py_ssize_t references(PyObject *object) {
    Py_ssize_t count = Py_REFCNT(object);
    return python_version >= 0x030C0000 ? (Py_ssize_t)((uint64_t)count & UINT32_MAX) : count;
}

/* Of one entry for each object. */
#define TABLES 5
#define tables_of(entry) {&(entry)->items, &(entry)->known, &(entry)->ends, &(entry)->kinds, &(entry)->alive}

static int room(Entry *entry) {
    Column *tables[TABLES] = tables_of(entry);
    for (size_t at = 0; at < TABLES; at++) {
        if (column_reserve(tables[at], 1) < 0) {
            return -1;
        }
    }
    return index_reserve(&entry->index, entry->items.used + 1, &entry->items);
}

static void set_used(Entry *entry, size_t used) {
    Column *tables[TABLES] = tables_of(entry);
    for (size_t at = 0; at < TABLES; at++) {
        tables[at]->used = used;
    }
}

static void add(Entry *entry, PyObject *object, size_t slot) {
    size_t at = entry->items.used;
    set_used(entry, at + 1);
    AT(entry->items, uint64_t, at) = (uint64_t)(uintptr_t)object;
    AT(entry->index.slots, uint32_t, slot) = (uint32_t)at + 1;
    AT(entry->known, uint32_t, at) = 0;
    AT(entry->alive, uint8_t, at) = 0;
}

/* Position of an object, which has one more reference from among them. */
static uint32_t refer(Entry *entry, PyObject *object, uint32_t count) {
    if (room(entry) < 0) {
        entry->failed = 1;
        return 0;
    }
    size_t slot = spread((uint64_t)(uintptr_t)object) & entry->index.mask;
    uint32_t found;
    while ((found = AT(entry->index.slots, uint32_t, slot)) != 0 && item(entry, found - 1) != object) {
        slot = (slot + 1) & entry->index.mask;
    }
    if (found == 0) {
        found = (uint32_t)entry->items.used + 1;
        add(entry, object, slot);
    }
    AT(entry->known, uint32_t, found - 1) += count;
    return found - 1;
}

static int visit(PyObject *child, void *entry_) {
    Entry *entry = entry_;
    if (Py_REFCNT(child) <= 0) {
        return 0; /* dead: see discover.c */
    }
    if (entry->edges.used >= entry->edges_end) {
        return 1;
    }
    uint32_t at = refer(entry, child, 1);
    if (entry->failed || column_reserve(&entry->edges, 1) < 0) {
        entry->failed = 1;
        return -1;
    }
    AT(entry->edges, uint32_t, entry->edges.used++) = at;
    return 0;
}

static size_t entries_of(const Kind *kind, PyObject *object) {
    return kind->entries == TUPLE_LIKE ? (size_t)Py_SIZE(object) : container_length(kind, object);
}

static int is_looked_into(const Entry *entry, const Kind *kind, PyObject *object) {
    if (entry->items.used > REACH || references(object) > SHARED || !kind->follow || is_static_type(kind, object)) {
        return 0;
    }
    return kind->entries == WHOLE || entries_of(kind, object) <= REACH;
}

static void expand(Entry *entry, size_t at) {
    Walk *walk = entry->walk;
    PyObject *object = item(entry, at);
    uint32_t kind_at = 0;
    if (kinds_find(&walk->kinds, &walk->rules, Py_TYPE(object), &kind_at) < 0) {
        entry->failed = 1;
        return;
    }
    AT(entry->kinds, uint32_t, at) = kind_at;
    const Kind *kind = &AT(walk->kinds.kinds, Kind, kind_at);
    if (is_looked_into(entry, kind, object)) {
        entry->edges_end = entry->edges.used + MOST;
        kind->traverse(object, visit, entry);
    }
    AT(entry->ends, uint32_t, at) = (uint32_t)entry->edges.used;
}

static void reach(Entry *entry, uint32_t at) {
    if (!AT(entry->alive, uint8_t, at)) {
        AT(entry->alive, uint8_t, at) = 1;
        AT(entry->queue, uint32_t, entry->queue.used++) = at;
    }
}

static void spare(Entry *entry) {
    if (column_reserve(&entry->queue, entry->items.used) < 0) {
        entry->failed = 1;
        return;
    }
    for (size_t at = 0; at < entry->items.used; at++) {
        if (references(item(entry, at)) > (Py_ssize_t)AT(entry->known, uint32_t, at)) {
            reach(entry, (uint32_t)at);
        }
    }
    for (size_t next = 0; next < entry->queue.used; next++) {
        uint32_t at = AT(entry->queue, uint32_t, next);
        size_t edge = at == 0 ? 0 : AT(entry->ends, uint32_t, at - 1);
        for (; edge < AT(entry->ends, uint32_t, at); edge++) {
            reach(entry, AT(entry->edges, uint32_t, edge));
        }
    }
}

/* Sizes of what would die. Asking may run another thread, so each is held. */
static uint64_t weigh(Entry *entry) {
    uint64_t bytes = 0;
    for (size_t at = 0; at < entry->items.used; at++) {
        if (!AT(entry->alive, uint8_t, at)) {
            Py_IncRef(item(entry, at));
        }
    }
    for (size_t at = 0; at < entry->items.used; at++) {
        if (!AT(entry->alive, uint8_t, at)) {
            bytes += own_size(entry->walk, AT(entry->kinds, uint32_t, at), item(entry, at));
        }
    }
    for (size_t at = 0; at < entry->items.used; at++) {
        if (!AT(entry->alive, uint8_t, at)) {
            Py_DecRef(item(entry, at));
        }
    }
    return bytes;
}

static void begin(Entry *entry) {
    if (entry->index.slots.used > 0) {
        memset(entry->index.slots.base, 0, entry->index.slots.used * sizeof(uint32_t));
    }
    set_used(entry, 0);
    entry->edges.used = entry->queue.used = 0;
}

/* Bytes that would be freed with one entry: a tuple of its objects. */
static uint64_t exclusive(Entry *entry, PyObject *objects) {
    begin(entry);
    for (Py_ssize_t at = 0; at < PyTuple_Size(objects); at++) {
        refer(entry, PyTuple_GetItem(objects, at), OF_AN_ENTRY);
    }
    for (size_t at = 0; at < entry->items.used && !entry->failed; at++) {
        expand(entry, at);
    }
    if (!entry->failed) {
        spare(entry);
    }
    return entry->failed ? 0 : weigh(entry);
}

static void set_widths(Entry *entry) {
    entry->items.width = sizeof(uint64_t);
    entry->known.width = entry->edges.width = entry->ends.width = sizeof(uint32_t);
    entry->kinds.width = entry->queue.width = sizeof(uint32_t);
    entry->alive.width = sizeof(uint8_t);
}

static void release(Entry *entry) {
    Column *columns[] = {&entry->items, &entry->known, &entry->edges, &entry->ends,
                         &entry->kinds, &entry->queue, &entry->alive};
    for (size_t at = 0; at < sizeof columns / sizeof *columns; at++) {
        column_free(columns[at]);
    }
    index_free(&entry->index);
}

PyObject *entry_exclusive(PyObject *self, PyObject *entries) {
    Entry entry = {.walk = (Walk *)self};
    uint64_t bytes = 0;
    if (!PyList_Check(entries)) {
        PyErr_SetString(PyExc_TypeError, "exclusive() takes a list of entries, a tuple each");
        return NULL;
    }
    set_widths(&entry);
    for (Py_ssize_t at = 0; at < PyList_Size(entries) && !entry.failed; at++) {
        PyObject *objects = PyList_GetItem(entries, at);
        bytes += PyTuple_Check(objects) ? exclusive(&entry, objects) : 0;
    }
    release(&entry);
    return entry.failed ? PyErr_NoMemory() : PyLong_FromUnsignedLongLong(bytes);
}
