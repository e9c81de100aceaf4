/* SPDX-License-Identifier: Apache-2.0
 *
 * What a walk does with an object, by its type alone; looked up once a type.
 *
 * Sizes and names are read with the descriptors of `type` itself, so that nothing of a metaclass runs.
 */
#include "heap.h"

#include <string.h>

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

static uint64_t name_hash(const Rules *rules, PyTypeObject *type) {
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    PyObject *name = read_descriptor(rules->names, (PyObject *)type);
    Py_ssize_t length = 0;
    const char *text = name == NULL ? NULL : PyUnicode_AsUTF8AndSize(name, &length);
    for (Py_ssize_t at = 0; text != NULL && at < length; at++) {
        hash = (hash ^ (unsigned char)text[at]) * UINT64_C(0x100000001B3);
    }
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

static uint8_t shape_of(PyTypeObject *type);

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
    }
    column_free(&kinds->kinds);
    column_free(&kinds->addresses);
    index_free(&kinds->index);
}

/* Digits of an int: from 3.12 on the field holds them shifted by three bits of flags. */
static size_t items(const Kind *kind, PyObject *object) {
    Py_ssize_t size = Py_SIZE(object);
    if (kind->is_long && python_version >= 0x030C0000) {
        return (size_t)size >> 3;
    }
    return (size_t)(size < 0 ? -size : size);
}

/* A list's room, and a string's width, are not in the stable ABI. Where they are was the same in 3.10 to 3.13, and is
 * tried out on some of each when the module is loaded; if it does not hold, the objects are asked. */
enum { BY_FIELDS, LIST, STRING };

static int known_list, known_string;

static size_t list_size(PyObject *list) {
    Py_ssize_t room;
    memcpy(&room, (char *)list + sizeof(PyVarObject) + sizeof(void *), sizeof room);
    return 40 + (size_t)room * sizeof(void *);
}

/* 0 for a string that is not in one piece, or has its UTF-8 beside it: it is to be asked. */
static size_t string_size(PyObject *string) {
    int old = python_version < 0x030C0000;
    uint32_t state;
    size_t length;
    memcpy(&length, (char *)string + 16, sizeof length);
    memcpy(&state, (char *)string + 32, sizeof state);
    size_t kind = state >> 2 & 7, compact = state >> 5 & 1, ascii = state >> 6 & 1;
    return compact && ascii && kind == 1 ? (old ? 48 : 40) + length + 1 : 0;
}

Py_ssize_t text_length(PyObject *text) {
    Py_ssize_t length;
    if (!known_string) {
        return PyUnicode_GetLength(text);
    }
    memcpy(&length, (char *)text + 16, sizeof length);
    return length;
}

static int agrees(PyObject *object, size_t size) {
    PyObject *number = PyObject_CallMethod(object, "__sizeof__", NULL);
    size_t asked = number == NULL ? 0 : PyLong_AsSize_t(number);
    Py_XDECREF(number);
    Py_DecRef(object);
    PyErr_Clear();
    return asked == size;
}

static int try_list(Py_ssize_t length) {
    PyObject *list = PyList_New(length);
    for (Py_ssize_t at = 0; list != NULL && at < length; at++) {
        PyList_SetItem(list, at, Py_NewRef(Py_None));
    }
    if (list == NULL || PyList_Append(list, Py_None) < 0) {
        Py_XDECREF(list);
        return 0;
    }
    return agrees(list, list_size(list));
}

static int try_string(const char *text, int simple) {
    PyObject *string = PyUnicode_FromString(text);
    if (string == NULL) {
        return 0;
    }
    size_t size = string_size(string);
    if (simple) {
        return agrees(string, size);
    }
    Py_DecRef(string);
    return size == 0;
}

void kinds_shapes(void) {
    known_list = try_list(0) && try_list(3) && try_list(100);
    known_string = try_string("", 1) && try_string("a", 1) && try_string("a longer one, of words", 1) &&
                   try_string("\xc3\xa9", 0) && try_string("\xe2\x82\xac", 0) && try_string("\xf0\x9f\x98\x80 x", 0);
    PyErr_Clear();
}

static size_t quick_size(const Kind *kind, PyObject *object) {
    return kind->shape == LIST ? list_size(object) : kind->shape == STRING ? string_size(object) : 0;
}

static uint8_t shape_of(PyTypeObject *type) {
    return type == &PyList_Type && known_list ? LIST : type == &PyUnicode_Type && known_string ? STRING : BY_FIELDS;
}

/* The C function of a method without arguments, so that no call has to be set up for each object. */
static void find_measure(Kind *kind, PyObject *object) {
    PyObject *bound = read_descriptor(kind->sizer, object);
    if (bound != NULL && PyCFunction_CheckExact(bound) && PyCFunction_GetFlags(bound) == METH_NOARGS) {
        kind->measure = PyCFunction_GetFunction(bound);
    }
    Py_XDECREF(bound);
    PyErr_Clear();
}

static size_t asked_size(Kind *kind, PyObject *object) {
    if (kind->measure == NULL) {
        find_measure(kind, object);
    }
    PyObject *number = kind->measure != NULL ? kind->measure(object, NULL)
                                             : PyObject_CallFunctionObjArgs(kind->sizer, object, NULL);
    size_t size = number == NULL ? 0 : PyLong_AsSize_t(number);
    Py_XDECREF(number);
    if (number == NULL || PyErr_Occurred()) {
        PyErr_Clear();
        size = (size_t)kind->basic;
    }
    return size;
}

size_t shallow_size(Kind *kind, PyObject *object) {
    size_t quick = quick_size(kind, object);
    if (quick != 0) {
        return quick + kind->header;
    }
    if (kind->sizer != NULL) {
        return asked_size(kind, object) + kind->header;
    }
    size_t more = kind->item > 0 ? (size_t)kind->item * items(kind, object) : 0;
    size_t bytes = (size_t)kind->basic + more;
    return (kind->rounded ? (bytes + 7) & ~(size_t)7 : bytes) + kind->header;
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
