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

#include "column.h"

#define NOBODY UINT32_MAX
#define BATCH 1024u

/* How the objects of one type are treated. */
typedef struct {
    PyTypeObject *type; /* strong */
    traverseproc traverse;
    PyObject *sizer; /* borrowed from the rules: `__sizeof__` of a type that we trust, or NULL */
    PyCFunction measure; /* the function behind it, once one was asked for */
    PyObject *own;   /* `__sizeof__` of its own, once it was asked for, or None; strong */
    uint64_t name;   /* hash of its name and size: the same in every walk */
    Py_ssize_t basic;
    Py_ssize_t item;
    uint32_t header;
    uint8_t base; /* 1 + place among the container types, or 0 */
    uint8_t follow;
    uint8_t linked; /* the collector knows its objects, or all but static types */
    uint8_t late;
    uint8_t plain; /* a builtin container: its type says nothing of what it is for */
    uint8_t rounded; /* its size, to whole words */
    uint8_t is_type;
    uint8_t is_long;
    uint8_t shape;        /* how its size is told: see shallow_size() */
    uint8_t spread;       /* its instances' attributes lie in front of them, in a block of their own */
    uint8_t entries;      /* how it can be read in parts: see follow.c */
    getiterfunc iterate;  /* of its base type */
} Kind;

typedef struct {
    PyObject *containers; /* tuple of types, most derived first */
    PyObject *late;       /* tuple of types */
    PyObject *plain;      /* tuple of types */
    PyObject *sizers;     /* tuple of (type, __sizeof__) */
    PyObject *names;      /* type.__dict__["__name__"] */
    PyObject *basic;      /* type.__dict__["__basicsize__"] */
    PyObject *item;       /* type.__dict__["__itemsize__"] */
    PyObject *namespaces; /* type.__dict__["__dict__"] */
    PyObject *subclasses; /* type.__subclasses__ */
    PyObject *sizer;      /* a type's own `__sizeof__`, or None */
} Rules;

typedef struct {
    Column kinds;     /* Kind */
    Column addresses; /* uint64_t, of the types: keys of the index */
    Index index;
    struct {
        PyTypeObject *type;
        uint32_t kind;
    } recent[256];
} Kinds;

int kinds_find(Kinds *kinds, const Rules *rules, PyTypeObject *type, uint32_t *found);

#define HASH_START UINT64_C(0xCBF29CE484222325) /* FNV-1a */
#define HASH_PRIME UINT64_C(0x100000001B3)
uint64_t hash_text(uint64_t hash, PyObject *text);
enum { WHOLE, MAP, LIST_LIKE, TUPLE_LIKE, ITERATED };

void kinds_shapes(void); /* to be called once: checks what is known of lists and strings */
void kinds_free(Kinds *kinds);
Py_ssize_t text_length(PyObject *text);
uint8_t shape_of(PyTypeObject *type);
size_t shallow_size(Kind *kind, PyObject *object);
int is_static_type(const Kind *kind, PyObject *object);
size_t container_length(const Kind *kind, PyObject *object);
PyObject *read_descriptor(PyObject *descriptor, PyObject *object);

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
    Column marks;   /* uint8_t, of each object: see members.c */
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

extern long python_version; /* sys.hexversion */

int64_t now_ns(void);
int is_value(PyObject *object); /* a number, a short text, None: too many and too plain to be listed */
int walk_prepare(Walk *walk); /* for as many objects as are expected; needs no interpreter */
int walk_room(Walk *walk);                                       /* for one more batch everywhere */
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

/* What a walk answers. */
int answer_position(PyObject *argument, size_t count, size_t *found);
int answer_groups(Walk *walk);
PyObject *answer_chain(PyObject *self, PyObject *argument);
PyObject *answer_way(PyObject *self, PyObject *argument);
PyObject *answer_container(PyObject *self, PyObject *argument);
PyObject *answer_object(PyObject *self, PyObject *argument);
PyObject *answer_group(PyObject *self, PyObject *argument);
PyObject *answer_retained(PyObject *self, PyObject *argument);
PyObject *answer_garbage(PyObject *self, PyObject *unused);
PyObject *answer_objects(PyObject *self, void *unused);
PyObject *answer_containers(PyObject *self, void *unused);
PyObject *answer_group_count(PyObject *self, void *unused);
PyObject *answer_nbytes(PyObject *self, void *unused);
PyObject *answer_counts(PyObject *self, void *unused);
PyObject *members_some(PyObject *self, PyObject *arguments);
PyObject *members_fresh(PyObject *self, PyObject *arguments);
PyObject *members_held(PyObject *self, PyObject *arguments);
PyObject *members_mark(PyObject *self, PyObject *arguments);
PyObject *members_top(PyObject *self, PyObject *arguments);
PyObject *members_below(PyObject *self, PyObject *arguments);
PyObject *entry_exclusive(PyObject *self, PyObject *entries);

#endif
