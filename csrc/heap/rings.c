/* SPDX-License-Identifier: Apache-2.0
 *
 * The collector's own rings of objects: what no root reaches is found here, frozen objects included.
 *
 * An object that the collector knows has two links in front of it. The youngest object's successor is the head
 * of generation 0, which lies in the interpreter's state before the heads of the other generations and the
 * permanent one (CPython 3.10 to 3.13, builds with a GIL). Every assumption is checked before it is used, and
 * where one does not hold, nothing is read: the walk then says that it did not look here.
 *
 * A collection moves objects to rings whose heads lie on its thread's stack, and lets other threads run in the midst of
 * it, wherever it runs a finalizer. Such a head looks like an object that is none, so the rings are left alone then.
 *
 * Young objects may be tuples that another thread is still building, and a reference to one would break that
 * thread: a sliced walk reads the permanent ring alone, where nothing is new.
 */
#include "heap.h"

typedef struct Links {
    struct Links *next;
    uintptr_t previous; /* two low bits are flags */
} Links;

typedef struct {
    Links head;
    int threshold;
    int count;
} Generation;

typedef struct {
    Generation generations[3];
    Links *generation0;
    Generation permanent;
    Py_ssize_t statistics[3][3];
    int collecting;
    PyObject *garbage;
    PyObject *callbacks;
} Rings;

#define PERMANENT 0 /* place among the heads */
#define AHEAD 16
#define FURTHER 512 /* bytes: objects of one size lie side by side in the order of the ring, several sizes taking turns */
#define LONGEST_WAIT 20 /* slices, for a collection in another thread to end */

static Links *links_of(PyObject *object) { return (Links *)(void *)((char *)object - sizeof(Links)); }

static PyObject *object_of(Links *links) { return (PyObject *)(void *)((char *)links + sizeof(Links)); }

static Links *next_of(const Links *links) { return (Links *)((uintptr_t)links->next & ~(uintptr_t)3); }

static Links *previous_of(const Links *links) { return (Links *)(links->previous & ~(uintptr_t)3); }

static int is_ring(Links *head) {
    Links *next = next_of(head);
    return next != NULL && ((uintptr_t)next & 7) == 0 && previous_of(next) == head;
}

static int is_of_collector(PyObject *names, const char *name, const PyObject *list) {
    return list != NULL && PyDict_GetItemString(names, name) == list;
}

/* A program may have bound one of the two names to a list of its own. */
static int is_state(const Rings *rings) {
    PyObject *name = PyUnicode_FromString("gc"), *module = name == NULL ? NULL : PyImport_GetModule(name);
    PyObject *names = module != NULL && PyModule_Check(module) ? PyModule_GetDict(module) : NULL;
    int found = names != NULL && (is_of_collector(names, "garbage", rings->garbage) ||
                                  is_of_collector(names, "callbacks", rings->callbacks));
    Py_XDECREF(module);
    Py_XDECREF(name);
    PyErr_Clear();
    return found;
}

void rings_find(Walk *walk) {
    walk->rings_known = 0;
    walk->collecting = NULL;
    if (python_version < 0x030A0000 || python_version >= 0x030E0000) {
        return;
    }
    PyObject *youngest = PyList_New(0);
    if (youngest == NULL) {
        PyErr_Clear();
        return;
    }
    Links *head = next_of(links_of(youngest));
    Rings *rings = (Rings *)(void *)head;
    if (head != NULL && previous_of(head) == links_of(youngest) && rings->generation0 == head &&
        is_ring(&rings->permanent.head) && is_ring(&rings->generations[1].head) &&
        is_ring(&rings->generations[2].head) && is_state(rings)) {
        walk->collecting = &rings->collecting;
        walk->heads[PERMANENT] = (char *)&rings->permanent.head;
        for (int at = 0; at < 3; at++) {
            walk->heads[3 - at] = (char *)&rings->generations[at].head;
        }
        walk->rings_known = 1;
    }
    Py_DecRef(youngest);
}

static int is_head(const Walk *walk, const Links *links) {
    for (int at = 0; at < 4; at++) {
        if ((const char *)links == walk->heads[at]) {
            return 1;
        }
    }
    return 0;
}

/* The ring goes on from another object: it is held, so that its links stay. */
static void hold(Walk *walk, PyObject **place, PyObject *object) {
    PyObject *before = *place;
    *place = object;
    if (object != NULL) {
        Py_IncRef(object);
    }
    if (before != NULL && column_reserve(&walk->dropped, 1) == 0) {
        AT(walk->dropped, PyObject *, walk->dropped.used++) = before;
    }
}

static int enter(Walk *walk, Links *links) {
    int64_t word = seen_word(&walk->seen, object_of(links));
    if (word < 0 || seen_is(&walk->seen, word, object_of(links))) {
        return word < 0 ? -1 : 0;
    }
    return walk_push(walk, object_of(links), NOBODY);
}

/* What follows an object in its ring, if it is an object that has not been met. */
static int enter_next(Walk *walk, Links *links) {
    Links *next = next_of(links); /* NULL: the collector does not track it */
    return next == NULL || is_head(walk, next) ? 0 : enter(walk, next);
}

static int enter_heads(Walk *walk) {
    for (; walk->ring < 4; walk->ring++) {
        if (enter_next(walk, (Links *)(void *)walk->heads[walk->ring]) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Whatever was not met stands behind an object that was, or first in its ring. So the rings need not be followed link
 * by link, each a wait for memory: the known objects are looked at in the order of the table, and fetched ahead. */
static int ring_by_neighbours(Walk *walk) {
    size_t count = walk->address.used;
    if (enter_heads(walk) < 0) {
        return -1;
    }
    if (walk->ring_next == count) {
        return walk_flush(walk) < 0 ? -1 : walk->address.used > count;
    }
    for (; walk->ring_next < count; walk->ring_next++) {
        if (walk->ring_next + AHEAD < count) {
            __builtin_prefetch(links_of((PyObject *)(uintptr_t)AT(walk->address, uint64_t, walk->ring_next + AHEAD)));
        }
        if (AT(walk->type, uint32_t, walk->ring_next) & LINKED &&
            enter_next(walk, links_of((PyObject *)(uintptr_t)AT(walk->address, uint64_t, walk->ring_next))) < 0) {
            return -1;
        }
    }
    return walk_flush(walk) < 0 ? -1 : 1;
}

/* A link that does not lead back is none: the object has left the ring. */
static Links *forward(const Walk *walk, Links *links) {
    Links *next = next_of(links);
    __builtin_prefetch((char *)next + FURTHER);
    return next == NULL || previous_of(next) != links || is_head(walk, next) ? NULL : next;
}

static Links *backward(const Walk *walk, Links *links) {
    Links *previous = previous_of(links);
    __builtin_prefetch((char *)previous - FURTHER);
    return previous == NULL || next_of(previous) != links || is_head(walk, previous) ? NULL : previous;
}

static int end_ring(Walk *walk) {
    hold(walk, &walk->ring_front, NULL);
    hold(walk, &walk->ring_back, NULL);
    walk->ring++;
    return walk_flush(walk) < 0 ? -1 : 1;
}

/* One batch of the permanent ring, from both ends at once: each link is a wait for memory, and two of them take as
 * long as one. */
static int ring_by_batch(Walk *walk) {
    Links *head = (Links *)(void *)walk->heads[PERMANENT];
    Links *front = walk->ring_front == NULL ? head : links_of(walk->ring_front);
    Links *back = walk->ring_back == NULL ? head : links_of(walk->ring_back);
    for (size_t count = 0; count < BATCH / 2; count++) {
        Links *next = forward(walk, front), *previous = back == NULL ? NULL : backward(walk, back);
        if (next == NULL || next == back) {
            return end_ring(walk);
        }
        front = next;
        back = previous;
        walk->frozen_seen += 1 + (back != NULL && back != front);
        if (enter(walk, front) < 0 || (back != NULL && enter(walk, back) < 0)) {
            return -1;
        }
        if (front == back) {
            return end_ring(walk);
        }
    }
    hold(walk, &walk->ring_front, object_of(front));
    hold(walk, &walk->ring_back, back == NULL ? NULL : object_of(back));
    return walk_flush(walk) < 0 ? -1 : 1;
}

/* A walk in slices can wait for the next one; a walk in one piece holds the interpreter, and so the collection up. */
static int wait_for_collection(Walk *walk) {
    walk->rings_in_motion = !walk->sliced || walk->waits == LONGEST_WAIT;
    walk->over = !walk->rings_in_motion;
    walk->waits += walk->over;
    return walk->over;
}

/* 1: there may be more; 0: all rings are done; -1: no memory. */
int rings_step(Walk *walk) {
    if (!walk->rings_known || (walk->sliced && walk->ring > PERMANENT)) {
        return 0;
    }
    if (*walk->collecting) {
        return wait_for_collection(walk);
    }
    return walk->sliced ? ring_by_batch(walk) : ring_by_neighbours(walk);
}
