/* SPDX-License-Identifier: Apache-2.0 */
#include "heap.h"

long python_version;

static int fill(PyObject *module) {
    python_version = PyLong_AsLong(PySys_GetObject("hexversion"));
    kinds_shapes();
    PyObject *(*makers[])(void) = {make_walk_type, make_snapshot_type, make_tally_type};
    for (size_t at = 0; at < sizeof makers / sizeof *makers; at++) {
        PyObject *type = makers[at]();
        if (type == NULL || PyModule_AddType(module, (PyTypeObject *)type) < 0) {
            Py_XDECREF(type);
            return -1;
        }
    }
    return 0; /* the types are kept: instances outlive no module */
}

static PyMethodDef functions[] = {
    {"learn_contexts", contexts_learn, METH_O,
     "Learn from the running context, which is given, where threads keep theirs; True when two calls agree."},
    {"contexts", contexts_all, METH_NOARGS, "Pairs of thread and the context that it runs in."},
    {"referent", referent, METH_VARARGS, "The object at an address, if the given one refers to it, or None."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, fill}, {0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, .m_name = "_heap", .m_doc = "Native walk of the object graph.", .m_slots = module_slots, .m_methods = functions,
};

PyMODINIT_FUNC PyInit__heap(void) { return PyModuleDef_Init(&module); }
