/* SPDX-License-Identifier: Apache-2.0
 *
 * What a walk does with an object, by its type alone; looked up once a type.
 *
 * Sizes and names are read with the descriptors of `type` itself, so that nothing of a metaclass runs.
 */
#include "heap.h"

#define HAS_GC (1ul << 14)
#define MANAGED (3ul << 3)
/* Only of these is it certain that ob_size counts items. */
#define COUNTED (Py_TPFLAGS_TUPLE_SUBCLASS | Py_TPFLAGS_BYTES_SUBCLASS | Py_TPFLAGS_LONG_SUBCLASS)
#define PRE_HEADER 16u

PyObject *read_descriptor(PyObject *descriptor, PyObject *object) {
    descrgetfunc get = (descrgetfunc)PyType_GetSlot(Py_TYPE(descriptor), Py_tp_descr_get);
    return get(descriptor, object, (PyObject *)Py_TYPE(object));
}

static Py_ssize_t read_size(PyObject *descriptor, PyTypeObject *type) {
    PyObject *number = read_descriptor(descriptor, (PyObject *)type);
    Py_ssize_t size = number == NULL ? -1 : PyLong_AsSsize_t(number);
    Py_XDECREF(number);
    PyErr_Clear();
    return size;
}

uint64_t hash_text(uint64_t hash, PyObject *text) {
    Py_ssize_t length = 0;
    const char *bytes = text == NULL ? NULL : PyUnicode_AsUTF8AndSize(text, &length);
    for (Py_ssize_t at = 0; bytes != NULL && at < length; at++) {
        hash = (hash ^ (unsigned char)bytes[at]) * HASH_PRIME;
    }
    PyErr_Clear();
    return hash;
}

static uint64_t name_hash(const Rules *rules, PyTypeObject *type) {
    PyObject *name = read_descriptor(rules->names, (PyObject *)type);
    uint64_t hash = hash_text(HASH_START, name);
    Py_XDECREF(name);
    PyErr_Clear();
    return hash;
}

/* 1 + the place of the first type of the tuple that this one derives from, or 0. */
static Py_ssize_t derived(PyTypeObject *type, PyObject *bases) {
    for (Py_ssize_t at = 0; at < PyTuple_Size(bases); at++) {
        if (PyType_IsSubtype(type, (PyTypeObject *)PyTuple_GetItem(bases, at))) {
            return at + 1;
        }
    }
    return 0;
}

static int is_one_of(PyTypeObject *type, PyObject *types) {
    for (Py_ssize_t at = 0; at < PyTuple_Size(types); at++) {
        if ((PyObject *)type == PyTuple_GetItem(types, at)) {
            return 1;
        }
    }
    return 0;
}

static PyObject *sizer_of(PyTypeObject *type, PyObject *sizers) {
    for (Py_ssize_t at = 0; at < PyTuple_Size(sizers); at++) {
        PyObject *pair = PyTuple_GetItem(sizers, at);
        if (PyType_IsSubtype(type, (PyTypeObject *)PyTuple_GetItem(pair, 0))) {
            return PyTuple_GetItem(pair, 1);
        }
    }
    return NULL;
}

int is_static_type(const Kind *kind, PyObject *object) {
    return kind->is_type && !(PyType_GetFlags((PyTypeObject *)object) & Py_TPFLAGS_HEAPTYPE);
}

static int in_front(void) { return python_version >= 0x030B0000; }

/* The base whose iterator reads a set or a deque in parts. */
static PyTypeObject *iterated(PyTypeObject *type, PyObject *containers) {
    if (PyType_IsSubtype(type, &PySet_Type)) {
        return &PySet_Type;
    }
    if (PyType_IsSubtype(type, &PyFrozenSet_Type)) {
        return &PyFrozenSet_Type;
    }
    Py_ssize_t place = derived(type, containers);
    PyTypeObject *base = place == 0 ? NULL : (PyTypeObject *)PyTuple_GetItem(containers, place - 1);
    return base == &PyByteArray_Type ? NULL : base; /* a deque, when it is none of the others */
}

static void describe_entries(Kind *kind, const Rules *rules, PyTypeObject *type) {
    unsigned long flags = PyType_GetFlags(type);
    PyTypeObject *base = NULL;
    if (flags & Py_TPFLAGS_DICT_SUBCLASS) {
        kind->entries = MAP;
    } else if (flags & Py_TPFLAGS_LIST_SUBCLASS) {
        kind->entries = LIST_LIKE;
    } else if (flags & Py_TPFLAGS_TUPLE_SUBCLASS) {
        kind->entries = TUPLE_LIKE;
    } else if ((base = iterated(type, rules->containers)) != NULL) {
        kind->entries = ITERATED;
        kind->iterate = (getiterfunc)PyType_GetSlot(base, Py_tp_iter);
    }
}

static void describe(Kind *kind, const Rules *rules, PyTypeObject *type) {
    unsigned long flags = PyType_GetFlags(type);
    kind->type = type;
    kind->traverse = (traverseproc)PyType_GetSlot(type, Py_tp_traverse);
    kind->base = (uint8_t)derived(type, rules->containers);
    kind->late = kind->base == 0 && derived(type, rules->late) != 0;
    kind->follow = (flags & HAS_GC) != 0 && kind->traverse != NULL;
    kind->linked = kind->follow && (PyType_GetSlot(type, Py_tp_is_gc) == NULL || (flags & Py_TPFLAGS_TYPE_SUBCLASS));
    kind->plain = (uint8_t)is_one_of(type, rules->plain);
    kind->is_type = (flags & Py_TPFLAGS_TYPE_SUBCLASS) != 0;
    kind->is_long = (flags & Py_TPFLAGS_LONG_SUBCLASS) != 0;
    kind->shape = shape_of(type);
    describe_entries(kind, rules, type);
    kind->sizer = sizer_of(type, rules->sizers);
    kind->basic = read_size(rules->basic, type);
    int counted = (flags & COUNTED) != 0 || kind->sizer == Py_None; /* None: ob_size counts its items too */
    kind->item = counted ? read_size(rules->item, type) : 0;
    kind->rounded = kind->sizer == Py_None;
    kind->sizer = kind->rounded ? NULL : kind->sizer;
    kind->name = name_hash(rules, type) ^ (uint64_t)kind->basic;
    kind->spread = python_version >= 0x030B0000 && python_version < 0x030C0000 && (flags & MANAGED) != 0;
    kind->header = (flags & HAS_GC ? PRE_HEADER : 0) + (in_front() && flags & MANAGED ? PRE_HEADER : 0);
}

static int look_up(Kinds *kinds, const Rules *rules, PyTypeObject *type, uint32_t *found) {
    if (column_reserve(&kinds->kinds, 1) < 0 || column_reserve(&kinds->addresses, 1) < 0 ||
        index_reserve(&kinds->index, kinds->kinds.used + 1, &kinds->addresses) < 0) {
        return -1;
    }
    size_t slot = spread((uint64_t)(uintptr_t)type) & kinds->index.mask;
    for (uint32_t entry; (entry = AT(kinds->index.slots, uint32_t, slot)) != 0; slot = (slot + 1) & kinds->index.mask) {
        if (AT(kinds->kinds, Kind, entry - 1).type == type) {
            *found = entry - 1;
            return 0;
        }
    }
    Py_IncRef((PyObject *)type);
    size_t at = kinds->kinds.used++;
    kinds->addresses.used++;
    AT(kinds->addresses, uint64_t, at) = (uint64_t)(uintptr_t)type;
    AT(kinds->index.slots, uint32_t, slot) = (uint32_t)at + 1;
    describe(&AT(kinds->kinds, Kind, at), rules, type);
    *found = (uint32_t)at;
    return 0;
}

int kinds_find(Kinds *kinds, const Rules *rules, PyTypeObject *type, uint32_t *found) {
    size_t place = ((uintptr_t)type >> 4 ^ (uintptr_t)type >> 12) % 256;
    if (kinds->recent[place].type == type) {
        *found = kinds->recent[place].kind;
        return 0;
    }
    if (look_up(kinds, rules, type, found) < 0) {
        return -1;
    }
    kinds->recent[place].type = type;
    kinds->recent[place].kind = *found;
    return 0;
}

void kinds_free(Kinds *kinds) {
    for (size_t at = 0; at < kinds->kinds.used; at++) {
        Py_DecRef((PyObject *)AT(kinds->kinds, Kind, at).type);
        Py_XDECREF(AT(kinds->kinds, Kind, at).own);
    }
    column_free(&kinds->kinds);
    column_free(&kinds->addresses);
    index_free(&kinds->index);
}

size_t container_length(const Kind *kind, PyObject *object) {
    unsigned long flags = PyType_GetFlags(kind->type);
    if (flags & Py_TPFLAGS_DICT_SUBCLASS) {
        return (size_t)PyDict_Size(object);
    }
    if (PyType_IsSubtype(kind->type, &PySet_Type) || PyType_IsSubtype(kind->type, &PyFrozenSet_Type)) {
        return (size_t)PySet_Size(object);
    }
    return (size_t)Py_SIZE(object); /* list, deque, bytearray */
}
