/* SPDX-License-Identifier: Apache-2.0
 *
 * The context that each thread runs in: what only a context variable's value holds is reached from nowhere else.
 *
 * A thread's state has a reference to its context and the thread's number, in places that no ABI fixes. They are
 * learned: a thread that runs in a context which is known finds both among the first words of its own state, twice
 * over. Where they are not found, or the functions that list threads are missing, there are no contexts to tell of.
 */
#define _GNU_SOURCE
#include "heap.h"

#include <dlfcn.h>
#include <pythread.h>

#define WORDS 35 /* fewer than the smallest state of a thread has: CPython 3.10 */
#define NOWHERE -1

typedef PyThreadState *(*FirstThread)(PyInterpreterState *);
typedef PyThreadState *(*NextThread)(PyThreadState *);

static int context_place = NOWHERE, number_place = NOWHERE;
static PyTypeObject *context_type; /* of `contextvars.Context`: never freed */

/* The only place of a word, or NOWHERE. */
static int only_place(void *const *words, const void *word) {
    int found = NOWHERE;
    for (int at = 0; at < WORDS; at++) {
        if (words[at] == word) {
            if (found != NOWHERE) {
                return NOWHERE;
            }
            found = at;
        }
    }
    return found;
}

PyObject *contexts_learn(PyObject *module, PyObject *context) {
    (void)module;
    void *const *words = (void *const *)(void *)PyThreadState_Get();
    int context_now = only_place(words, context);
    int number_now = only_place(words, (void *)(uintptr_t)PyThread_get_thread_ident());
    int again = context_type != NULL && context_place == context_now && number_place == number_now;
    context_place = context_now;
    number_place = number_now;
    context_type = Py_TYPE(context);
    return PyBool_FromLong(again && context_now != NOWHERE && number_now != NOWHERE);
}

static int add(PyObject *list, void *const *words) {
    PyObject *context = words[context_place];
    if (context == NULL || Py_TYPE(context) != context_type) {
        return 0;
    }
    PyObject *pair = Py_BuildValue("KO", (unsigned long long)(uintptr_t)words[number_place], context);
    int failed = pair == NULL || PyList_Append(list, pair) < 0;
    Py_XDECREF(pair);
    return failed ? -1 : 0;
}

PyObject *contexts_all(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    FirstThread first = (FirstThread)(uintptr_t)dlsym(RTLD_DEFAULT, "PyInterpreterState_ThreadHead");
    NextThread next = (NextThread)(uintptr_t)dlsym(RTLD_DEFAULT, "PyThreadState_Next");
    PyObject *list = PyList_New(0);
    if (list == NULL || first == NULL || next == NULL || context_place == NOWHERE || number_place == NOWHERE) {
        return list;
    }
    for (PyThreadState *thread = first(PyInterpreterState_Get()); thread != NULL; thread = next(thread)) {
        if (add(list, (void *const *)(void *)thread) < 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}
