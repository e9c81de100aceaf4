/* SPDX-License-Identifier: Apache-2.0
 *
 * The containers of one walk, and where one of them is.
 */
#ifndef VLLM_SOAK_SNAPSHOT_H
#define VLLM_SOAK_SNAPSHOT_H

#include "heap.h"

typedef struct {
    PyObject_HEAD
    Column address; /* uint64_t */
    Column length;  /* uint64_t */
    Column owner;   /* uint64_t */
    Column code;    /* uint32_t */
    Index index;
    int busy;
} Snapshot;

static inline uint32_t snapshot_find(const Snapshot *snapshot, uint64_t address) {
    size_t slot = spread(address) & snapshot->index.mask;
    for (uint32_t entry; (entry = AT(snapshot->index.slots, uint32_t, slot)) != 0;
         slot = (slot + 1) & snapshot->index.mask) {
        if (AT(snapshot->address, uint64_t, entry - 1) == address) {
            return entry - 1;
        }
    }
    return NOBODY;
}

PyObject *snapshot_growers(PyObject *self, PyObject *argument);

#endif
