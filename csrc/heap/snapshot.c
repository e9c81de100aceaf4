/* SPDX-License-Identifier: Apache-2.0
 *
 * How long each container was at a census: addresses, lengths, types and owners only, and no reference.
 */
#include "snapshot.h"

static PyTypeObject *snapshot_type;

static int fill(Snapshot *snapshot, const Walk *walk) {
    size_t count = walk->position.used;
    Column *columns[] = {&snapshot->address, &snapshot->length, &snapshot->owner, &snapshot->code};
    for (size_t at = 0; at < sizeof columns / sizeof *columns; at++) {
        if (column_reserve(columns[at], count) < 0) {
            return -1;
        }
        columns[at]->used = count;
    }
    if (index_reserve(&snapshot->index, count + 1, &snapshot->address) < 0) {
        return -1;
    }
    for (size_t at = 0; at < count; at++) {
        uint32_t object = AT(walk->position, uint32_t, at), parent = AT(walk->parent, uint32_t, object);
        uint32_t kind = AT(walk->type, uint32_t, object) & KIND_MASK;
        uint64_t address = AT(walk->address, uint64_t, object);
        AT(snapshot->address, uint64_t, at) = address;
        AT(snapshot->length, uint64_t, at) = AT(walk->length, uint64_t, at);
        AT(snapshot->owner, uint64_t, at) = parent == NOBODY ? 0 : AT(walk->address, uint64_t, parent);
        AT(snapshot->code, uint32_t, at) = (uint32_t)AT(walk->kinds.kinds, Kind, kind).name;
        size_t slot = spread(address) & snapshot->index.mask;
        while (AT(snapshot->index.slots, uint32_t, slot) != 0) {
            slot = (slot + 1) & snapshot->index.mask;
        }
        AT(snapshot->index.slots, uint32_t, slot) = (uint32_t)at + 1;
    }
    return 0;
}

int is_snapshot(PyObject *object) { return PyObject_TypeCheck(object, snapshot_type); }

uint32_t snapshot_place(PyObject *snapshot, uint64_t address) { return snapshot_find((Snapshot *)snapshot, address); }

static PyObject *snapshot_container(PyObject *self, PyObject *argument) {
    uint64_t address = PyLong_AsUnsignedLongLongMask(argument);
    if (PyErr_Occurred()) {
        return NULL;
    }
    uint32_t at = snapshot_find((Snapshot *)self, address);
    return PyLong_FromLong(at == NOBODY ? -1 : (long)at);
}

static PyObject *snapshot_new(PyTypeObject *type, PyObject *arguments, PyObject *named) {
    PyObject *walk;
    (void)named;
    if (!PyArg_ParseTuple(arguments, "O!", walk_type, &walk)) {
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Snapshot *snapshot = (Snapshot *)allocate(type, 0);
    if (snapshot == NULL) {
        return NULL;
    }
    snapshot->address.width = snapshot->length.width = snapshot->owner.width = 8;
    snapshot->code.width = 4;
    ((Walk *)walk)->busy++;
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = fill(snapshot, (Walk *)walk);
    Py_END_ALLOW_THREADS
    ((Walk *)walk)->busy--;
    if (failed < 0) {
        Py_DecRef((PyObject *)snapshot);
        return PyErr_NoMemory();
    }
    return (PyObject *)snapshot;
}

static void snapshot_dealloc(PyObject *self) {
    Snapshot *snapshot = (Snapshot *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
    column_free(&snapshot->address);
    column_free(&snapshot->length);
    column_free(&snapshot->owner);
    column_free(&snapshot->code);
    index_free(&snapshot->index);
    free_object(self);
    Py_DecRef((PyObject *)type);
}

static Py_ssize_t snapshot_length(PyObject *self) { return (Py_ssize_t)((Snapshot *)self)->address.used; }

static PyMethodDef methods[] = {
    {"growers", snapshot_growers, METH_O, "Pairs of container and growth since an earlier snapshot, largest first."},
    {"container", snapshot_container, METH_O, "Number of the container at an address, or -1."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Lengths of all containers of one walk."}, {Py_tp_new, snapshot_new}, {Py_tp_dealloc, snapshot_dealloc},
    {Py_tp_methods, methods},  {Py_sq_length, snapshot_length}, {0, NULL},
};

static PyType_Spec spec = {.name = "vllm_soak.heap._heap.Snapshot",
                           .basicsize = sizeof(Snapshot),
                           .flags = Py_TPFLAGS_DEFAULT,
                           .slots = slots};

PyObject *make_snapshot_type(void) {
    PyObject *type = PyType_FromSpec(&spec);
    snapshot_type = (PyTypeObject *)type;
    return type;
}
