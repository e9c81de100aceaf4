/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of object addresses, for the heap census.
 *
 * A Python set of id() values costs about 90 bytes an entry, which the census would add to the very
 * memory that it helps to measure. This one is an open-addressing table of 8-byte addresses, filled to
 * at most 3/4 and grown by half: 10.7 to 16 bytes an entry, in a mapping of its own, so that all of it
 * returns to the system at once. It never holds a reference to what it has seen, and it never calls back
 * into Python, so no user code runs.
 *
 * Stable ABI of CPython 3.10.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <sys/mman.h>

#define SMALLEST 512u

typedef struct {
    PyObject_HEAD
    uintptr_t *slots; /* 0 is an empty slot: no object lives at address 0 */
    size_t capacity;
    size_t used;
} IdSet;

/* Fibonacci hashing: object addresses are multiples of 16, so the useful bits are spread upwards and
 * the upper half is scaled to the capacity, which then need not be a power of two. */
static size_t slot_of(uintptr_t address, size_t capacity) {
    uint64_t mixed = (uint64_t)address * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(((mixed >> 32) * (uint64_t)capacity) >> 32);
}

/* The slot that holds the address, or the empty one where it belongs. */
static size_t probe(const uintptr_t *slots, size_t capacity, uintptr_t address) {
    size_t at = slot_of(address, capacity);
    while (slots[at] != 0 && slots[at] != address) {
        at = at + 1 == capacity ? 0 : at + 1;
    }
    return at;
}

/* Zeroed memory, or NULL. */
static uintptr_t *reserve(size_t capacity) {
    void *room = mmap(NULL, capacity * sizeof(uintptr_t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return room == MAP_FAILED ? NULL : room;
}

static void release(uintptr_t *slots, size_t capacity) {
    if (slots != NULL) {
        munmap(slots, capacity * sizeof(uintptr_t));
    }
}

static int grow(IdSet *self) {
    size_t wider = self->capacity == 0 ? SMALLEST : self->capacity + self->capacity / 2;
    if (wider > UINT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "an IdSet holds at most 3e9 addresses");
        return -1;
    }
    uintptr_t *fresh = reserve(wider);
    if (fresh == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t at = 0; at < self->capacity; at++) {
        if (self->slots[at] != 0) {
            fresh[probe(fresh, wider, self->slots[at])] = self->slots[at];
        }
    }
    release(self->slots, self->capacity);
    self->slots = fresh;
    self->capacity = wider;
    return 0;
}

/* 1 when newly added, 0 when it was there, -1 on failure. */
static int insert(IdSet *self, uintptr_t address) {
    if (4 * (self->used + 1) > 3 * self->capacity && grow(self) < 0) {
        return -1;
    }
    size_t at = probe(self->slots, self->capacity, address);
    if (self->slots[at] == address) {
        return 0;
    }
    self->slots[at] = address;
    self->used++;
    return 1;
}

static PyObject *idset_add(PyObject *self, PyObject *object) {
    int added = insert((IdSet *)self, (uintptr_t)object);
    return added < 0 ? NULL : PyBool_FromLong(added);
}

static PyObject *idset_add_new(PyObject *self, PyObject *objects) {
    if (!PyList_Check(objects)) {
        PyErr_SetString(PyExc_TypeError, "add_new() takes a list");
        return NULL;
    }
    PyObject *fresh = PyList_New(0);
    if (fresh == NULL) {
        return NULL;
    }
    for (Py_ssize_t at = 0; at < PyList_Size(objects); at++) {
        PyObject *object = PyList_GetItem(objects, at); /* borrowed */
        int added = insert((IdSet *)self, (uintptr_t)object);
        if (added < 0 || (added && PyList_Append(fresh, object) < 0)) {
            Py_DECREF(fresh);
            return NULL;
        }
    }
    return fresh;
}

static int idset_contains(PyObject *self, PyObject *object) {
    IdSet *set = (IdSet *)self;
    if (set->capacity == 0) {
        return 0;
    }
    return set->slots[probe(set->slots, set->capacity, (uintptr_t)object)] != 0;
}

static Py_ssize_t idset_length(PyObject *self) { return (Py_ssize_t)((IdSet *)self)->used; }

static PyObject *idset_nbytes(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromSize_t(((IdSet *)self)->capacity * sizeof(uintptr_t));
}

static void idset_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(((IdSet *)self)->slots, ((IdSet *)self)->capacity);
    free_object(self);
    Py_DECREF(type);
}

static PyMethodDef idset_methods[] = {
    {"add", idset_add, METH_O, "Add an object's address; True when it was not there."},
    {"add_new", idset_add_new, METH_O, "Add a list of objects; the list of those that were not there, in order."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef idset_getset[] = {
    {"nbytes", idset_nbytes, NULL, "Bytes of the table.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot idset_slots[] = {
    {Py_tp_doc, "A set of object addresses that holds no reference to the objects."},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_dealloc, idset_dealloc},
    {Py_tp_methods, idset_methods},
    {Py_tp_getset, idset_getset},
    {Py_sq_contains, idset_contains},
    {Py_sq_length, idset_length},
    {0, NULL},
};

static PyType_Spec idset_spec = {
    .name = "vllm_soak.heap._idset.IdSet",
    .basicsize = sizeof(IdSet),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = idset_slots,
};

static int fill(PyObject *module) {
    PyObject *type = PyType_FromSpec(&idset_spec);
    if (type == NULL) {
        return -1;
    }
    int failed = PyModule_AddType(module, (PyTypeObject *)type);
    Py_DECREF(type);
    return failed;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, fill}, {0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, .m_name = "_idset", .m_doc = "Native set of object addresses.", .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__idset(void) { return PyModuleDef_Init(&module); }
