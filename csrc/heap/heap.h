/* SPDX-License-Identifier: Apache-2.0
 *
 * The heap census: one breadth-first walk of the object graph into tables of numbers.
 *
 * What is kept of an object is its address, type, parent, group and shallow size, in mappings of their
 * own that return to the system at once. The walk calls tp_traverse of each object and nothing that a
 * program's own classes could have defined. Stable ABI of CPython 3.10.
 */
#ifndef VLLM_SOAK_HEAP_H
#define VLLM_SOAK_HEAP_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "kinds.h"

#define NOBODY UINT32_MAX
#define BATCH 1024u

/* Objects that are reached in the same way: through the same group, by the same type. */
typedef struct {
    uint64_t bytes;
    uint32_t parent;
    uint32_t kind;
    uint32_t count;
    uint32_t depth;
    uint32_t first; /* the member nearest to the root */
} Group;

#define DEEPEST 60u /* groups below one another; what is further down belongs to the last one */
#define GROUPS_RECENT 16384u

typedef struct {
    Column groups; /* Group */
    Column keys;   /* uint64_t */
    Index index;
    struct {
        uint32_t parent;
        uint32_t kind;
        uint32_t child;
    } recent[GROUPS_RECENT];
} Groups;

int groups_root(Groups *groups, uint64_t key, uint32_t kind, uint32_t *found);
int groups_child(Groups *groups, const Kinds *kinds, uint32_t parent, uint32_t kind, uint32_t *found);
void groups_free(Groups *groups);

#define OWN_GROUP 0u      /* what only the census reaches */
#define UNROOTED_GROUP 1u /* what no root reaches: held by native code, or cyclic garbage */

/* Flags beside an object's kind. */
#define KIND_MASK 0x0FFFFFFFu
#define FOLLOW 0x80000000u /* to be followed, in its turn */
#define LATE 0x40000000u   /* its turn is with the late ones */
#define HELD 0x20000000u   /* the walk has a reference to it */
#define LINKED 0x10000000u /* the collector's links are in front of it */

typedef enum { ROOTS, STATICS, OWN, RINGS, DONE } Stage;

typedef struct {
    PyObject *child;
    uint32_t parent;
    uint32_t word; /* of its bit */
} Found;

typedef struct {
    PyObject_HEAD
    Rules rules;
    Kinds kinds;
    Groups groups;
    Column address; /* uint64_t */
    Column parent;  /* uint32_t */
    Column type;    /* uint32_t: kind and flags */
    Column size;    /* uint32_t, 4 GiB - 1 at most */
    Column group;   /* uint32_t; of an object that was found through another, once the walk is over */
    size_t grouped; /* objects that have their group */
    Column large;   /* uint64_t: pairs of object and bytes, of those beyond */
    Column order;   /* uint32_t: objects by group, once they were asked for */
    Column begins;  /* uint32_t, of each group: where its members begin */
    Column marks;   /* uint8_t, of each object: see answers.h */
    Seen seen;
    Index index;     /* of addresses, when references are recorded */
    Column position; /* uint32_t, of each container */
    Column length;   /* uint64_t, of each container */
    Column late;     /* uint32_t */
    Column statics;  /* uint32_t */
    Column edges;      /* uint32_t: what each object refers to, when it is recorded */
    Column edge_start; /* uint32_t, of each object */
    Column edge_end;   /* uint32_t, of each object */
    Column garbage;    /* uint32_t: cyclic garbage in each group */
    Column dropped;  /* PyObject *: references to give back when the slice ends */
    PyObject *hidden; /* list */
    PyObject *roots;  /* list of (label, object, place, owner, late) */
    size_t root;
    size_t hidden_at;
    size_t cursor;
    size_t late_at;
    size_t late_end;
    size_t static_at;
    Stage stage;
    int sliced;
    int registries;
    int hiding;
    int recording;
    size_t hidden_count; /* objects at the start of the table that are the caller's own */
    uint32_t recorded; /* the object whose references are being recorded */
    int busy;
    const char *failure;
    /* the object that is being followed */
    uint32_t current;
    int resuming;
    Py_ssize_t skip;
    Py_ssize_t place;
    Py_ssize_t head; /* referents to visit before its entries are read one by one; -1: it is read whole */
    PyObject *iterator;
    int again;
    Py_ssize_t length_then;
    /* the slice */
    int64_t ends; /* nanoseconds, monotonic; 0: no limit */
    int over;
    Found batch[BATCH];
    size_t batched;
    size_t expected; /* objects of the walk before this one, or 0 */
    size_t values;   /* numbers and short texts, which are passed over */
    /* rings of the collector */
    char *heads[4];
    int ring;
    int rings_known;
    const int *collecting; /* of the interpreter's state: whether a collection is under way */
    int rings_in_motion;   /* it was, so the rings were not looked at */
    int waits;             /* slices that ended for that */
    PyObject *ring_front; /* strong: where a sliced walk goes on */
    PyObject *ring_back;
    size_t frozen_seen;
    size_t unrooted;
    size_t ring_next; /* the object whose neighbour is looked at next, in a whole walk */
    size_t changed;
} Walk;

void tables_widths(Walk *walk);
int tables_prepare(Walk *walk); /* for as many objects as are expected; needs no interpreter */
int tables_room(Walk *walk);    /* for one more batch everywhere */
void tables_release_held(Walk *walk);
void tables_release(Walk *walk); /* needs no interpreter */
void tables_release_references(Walk *walk);

extern long python_version; /* sys.hexversion */

int64_t now_ns(void);
int is_value(PyObject *object); /* a number, a short text, None: too many and too plain to be listed */
int walk_fail(Walk *walk, const char *why);
int walk_discover(Walk *walk, PyObject *object, uint32_t parent, uint32_t group, int late);
int walk_meet(Walk *walk, PyObject *object); /* 1 when it had not been met; -1 failed */
void walk_measure(Walk *walk, Kind *kind, PyObject *object, uint32_t at);
int walk_flush(Walk *walk);
int walk_advance(Walk *walk); /* 1 done, 0 the slice is over, -1 failed */
int walk_push(Walk *walk, PyObject *child, uint32_t parent);
int follow(Walk *walk, uint32_t at);
int follow_static(Walk *walk, uint32_t at);
void rings_find(Walk *walk);
int rings_step(Walk *walk); /* 1: objects were found, follow them; 0: no more; -1 failed */
void walk_drop(Walk *walk);
int walk_group(Walk *walk); /* each object; needs no interpreter */
int edges_retained(const Walk *walk, uint32_t group, uint64_t *bytes);
int edges_garbage(Walk *walk);

PyObject *contexts_learn(PyObject *module, PyObject *context);
PyObject *contexts_all(PyObject *module, PyObject *unused);
PyObject *make_walk_type(void);
PyObject *make_snapshot_type(void);
PyObject *make_tally_type(void);
extern PyTypeObject *walk_type;

size_t own_size(Walk *walk, uint32_t kind, PyObject *object);
int is_snapshot(PyObject *object);
uint32_t snapshot_place(PyObject *snapshot, uint64_t address); /* a container's number, or NOBODY */
PyObject *referent(PyObject *module, PyObject *arguments);

#endif
