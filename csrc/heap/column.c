/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays in mappings of their own. Memory of the C library's heap would stay with the process after
 * free(), and the census would move the very curve that it helps to explain.
 */
#define _GNU_SOURCE
#include "heap.h"

#include <sys/mman.h>

#define FIRST 65536u /* bytes */
#define LARGE (4u << 20)

static size_t pages(size_t bytes) { return (bytes + 4095u) & ~(size_t)4095u; }

int column_reserve(Column *column, size_t more) {
    if (column->used + more <= column->room) {
        return 0;
    }
    size_t wanted = (column->used + more) * column->width;
    size_t wider = column->room * column->width * 3 / 2;
    size_t bytes = pages(wanted > wider ? wanted : wider);
    bytes = bytes < FIRST ? FIRST : bytes;
    void *fresh = column->base == NULL
                      ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                      : mremap(column->base, column_bytes(column), bytes, MREMAP_MAYMOVE);
    if (fresh == MAP_FAILED) {
        return -1;
    }
    if (bytes >= LARGE && !column->small_pages) {
        madvise(fresh, bytes, MADV_HUGEPAGE); /* random look-ups: fewer misses of the translation cache */
    }
    column->base = fresh;
    column->room = bytes / column->width;
    return 0;
}

int column_prepare(Column *column, size_t entries) {
    int small_pages = column->small_pages;
    column->small_pages = 0;
    int failed = column_reserve(column, entries);
    column->small_pages = small_pages;
    for (size_t at = 0; !failed && at < entries * column->width; at += 4096) {
        ((volatile char *)column->base)[at] = 0;
    }
    return failed;
}

size_t column_bytes(const Column *column) {
    return column->base == NULL ? 0 : pages(column->room * column->width);
}

void column_free(Column *column) {
    if (column->base != NULL) {
        munmap(column->base, column_bytes(column));
    }
    column->base = NULL;
    column->used = column->room = 0;
}

static void put(Column *slots, uint64_t key, uint32_t entry) {
    size_t mask = slots->used - 1, slot = spread(key) & mask;
    while (AT(*slots, uint32_t, slot) != 0 && AT(*slots, uint32_t, slot) != entry) {
        slot = (slot + 1) & mask;
    }
    AT(*slots, uint32_t, slot) = entry;
}

/* 1 when the slots were too few and wider ones are there, 0 when they do. */
static int widen(const Index *index, size_t entries, Column *fresh) {
    size_t slots = index->slots.used;
    if (3 * entries <= 2 * slots) {
        return 0;
    }
    size_t wider = slots == 0 ? 1024 : slots;
    while (3 * entries > 2 * wider) {
        wider *= 2;
    }
    *fresh = (Column){NULL, sizeof(uint32_t), 0, 0, slots > 0 || index->slots.small_pages};
    if (column_reserve(fresh, wider) < 0) {
        return -1;
    }
    fresh->used = wider;
    return 1;
}

/* Room for a number of entries; the old ones are placed anew at once. */
int index_reserve(Index *index, size_t entries, const Column *keys) {
    Column fresh;
    int wider = widen(index, entries, &fresh);
    if (wider <= 0) {
        return wider;
    }
    for (size_t at = 0; at < index->slots.used; at++) {
        uint32_t entry = AT(index->slots, uint32_t, at);
        if (entry != 0) {
            put(&fresh, AT(*keys, uint64_t, entry - 1), entry);
        }
    }
    column_free(&index->slots);
    index->slots = fresh;
    index->mask = fresh.used - 1;
    return 0;
}

void index_free(Index *index) {
    column_free(&index->slots);
    index->mask = 0;
}
