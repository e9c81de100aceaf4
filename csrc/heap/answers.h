/* SPDX-License-Identifier: Apache-2.0
 *
 * What a walk answers: methods and attributes of its Python type, and what these share.
 */
#ifndef VLLM_SOAK_ANSWERS_H
#define VLLM_SOAK_ANSWERS_H

#include "heap.h"

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
PyObject *members_top(PyObject *self, PyObject *arguments);
PyObject *members_below(PyObject *self, PyObject *arguments);
PyObject *entry_exclusive(PyObject *self, PyObject *entries);

/* Marks of a container, in `Walk.marks`. */
#define GAINED 1u /* it has more entries than at the census before, or is new and has some */
#define NAMED 2u  /* how many more is told by the census */

PyObject *marks_make(PyObject *self, PyObject *arguments);

static inline uint8_t mark_of(const Walk *walk, uint32_t at) {
    return at == NOBODY || at >= walk->marks.used ? 0 : AT(walk->marks, uint8_t, at);
}

#endif
