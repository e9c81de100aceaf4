/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of a walk: columns of numbers, indexes of them, and the bits of what was met.
 */
#ifndef VLLM_SOAK_COLUMN_H
#define VLLM_SOAK_COLUMN_H

#include <stddef.h>
#include <stdint.h>

/* A growing array of one width in a mapping of its own. */
typedef struct {
    char *base;
    size_t width;
    size_t used;
    size_t room;
    int small_pages; /* a large page is cleared at once when it is first touched: too long for a slice */
} Column;

#define AT(column, type, index) (((type *)(void *)(column).base)[index])

int column_reserve(Column *column, size_t more); /* 0, or -1 when there is no memory; raises nothing */
int column_prepare(Column *column, size_t entries); /* of an empty one: room that has been touched already */
void column_free(Column *column);
size_t column_bytes(const Column *column);

/* Open addressing from a number to a position, at most 2/3 full. Slots hold position + 1. */
typedef struct {
    Column slots;
    size_t mask;
} Index;

static inline uint64_t mix(uint64_t number) {
    number ^= number >> 32;
    number *= UINT64_C(0x9E3779B97F4A7C15);
    return number ^ (number >> 29);
}

/* Where to look for a number: neighbours in memory are neighbours here, since what is allocated together is met
 * together, and then shares cache lines. */
static inline uint64_t spread(uint64_t number) { return mix(number >> 10) + (number >> 4 & 63); }

int index_reserve(Index *index, size_t entries, const Column *keys); /* keys: uint64_t per position */
void index_free(Index *index);

/* One bit for each 16 bytes of memory, in chunks of 4 MiB of addresses. */
#define CHUNK_SHIFT 22
#define CHUNK_WORDS 4096u
#define CHUNK_NUMBER 24 /* bits of a chunk's number + 1, below its address */

typedef struct {
    Column bits;   /* uint64_t */
    Column chunks; /* uint64_t: open addressing, at most half full */
    uint32_t known;
} Seen;

int seen_new_chunk(Seen *seen, uint64_t chunk, uint32_t *number);
void seen_free(Seen *seen);

/* The word that holds an object's bit; -1 when there is no memory. */
static inline int64_t seen_word(Seen *seen, const void *object) {
    uint64_t address = (uint64_t)(uintptr_t)object, chunk = address >> CHUNK_SHIFT;
    uint32_t number = 0;
    size_t mask = seen->chunks.used - 1; /* without a table, no slot is looked at */
    size_t slot = (size_t)(chunk * UINT64_C(0x9E3779B97F4A7C15) >> 32) & mask;
    for (; seen->chunks.used > 0; slot = (slot + 1) & mask) {
        uint64_t entry = AT(seen->chunks, uint64_t, slot);
        if (entry >> CHUNK_NUMBER == chunk) {
            number = (uint32_t)(entry & ((1u << CHUNK_NUMBER) - 1)) - 1;
            return (int64_t)number * CHUNK_WORDS + (int64_t)(address >> 10 & (CHUNK_WORDS - 1));
        }
        if (entry == 0) {
            break;
        }
    }
    return seen_new_chunk(seen, chunk, &number) < 0 ? -1 : (int64_t)number * CHUNK_WORDS + (int64_t)(address >> 10 & (CHUNK_WORDS - 1));
}

static inline int seen_is(const Seen *seen, int64_t word, const void *object) {
    return (int)(AT(seen->bits, uint64_t, word) >> ((uintptr_t)object >> 4 & 63) & 1);
}

/* 1 when it had not been met. */
static inline int seen_mark(Seen *seen, int64_t word, const void *object) {
    uint64_t *bits = &AT(seen->bits, uint64_t, word), bit = UINT64_C(1) << ((uintptr_t)object >> 4 & 63);
    int fresh = (*bits & bit) == 0;
    *bits |= bit;
    return fresh;
}

#endif
