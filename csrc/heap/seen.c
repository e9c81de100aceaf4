/* SPDX-License-Identifier: Apache-2.0
 *
 * Which addresses a walk has met: one bit for each 16 bytes of memory that holds objects.
 *
 * Two objects that live at the same time are at least 16 bytes apart, so a bit stands for one object. The bits of a
 * heap are small enough to stay in a cache where its objects are not: most references lead to what is known, and are
 * passed over without a look at the object itself.
 */
#include "heap.h"

#define FEW 512u /* slots of the table of chunks, at first */

static size_t slot_of(const Seen *seen, uint64_t chunk) {
    return (size_t)(chunk * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (seen->chunks.used - 1);
}

static int widen(Seen *seen) {
    Column old = seen->chunks, fresh = {NULL, sizeof(uint64_t), 0, 0, 1};
    size_t slots = old.used == 0 ? FEW : 2 * old.used;
    if (column_reserve(&fresh, slots) < 0) {
        return -1;
    }
    fresh.used = slots;
    seen->chunks = fresh;
    for (size_t at = 0; at < old.used; at++) {
        uint64_t entry = AT(old, uint64_t, at);
        if (entry != 0) {
            size_t slot = slot_of(seen, entry >> CHUNK_NUMBER);
            while (AT(fresh, uint64_t, slot) != 0) {
                slot = (slot + 1) & (slots - 1);
            }
            AT(fresh, uint64_t, slot) = entry;
        }
    }
    column_free(&old);
    return 0;
}

int seen_new_chunk(Seen *seen, uint64_t chunk, uint32_t *number) {
    if ((2 * (seen->known + 1) > seen->chunks.used && widen(seen) < 0) || column_reserve(&seen->bits, CHUNK_WORDS) < 0) {
        return -1;
    }
    size_t slot = slot_of(seen, chunk);
    while (AT(seen->chunks, uint64_t, slot) != 0) {
        slot = (slot + 1) & (seen->chunks.used - 1);
    }
    *number = seen->known++;
    seen->bits.used += CHUNK_WORDS;
    AT(seen->chunks, uint64_t, slot) = chunk << CHUNK_NUMBER | seen->known;
    return 0;
}

void seen_free(Seen *seen) {
    column_free(&seen->bits);
    column_free(&seen->chunks);
    seen->known = 0;
}
