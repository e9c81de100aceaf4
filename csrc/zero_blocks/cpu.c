/* SPDX-License-Identifier: Apache-2.0 */
/* KV block zeroing in host memory. */
#define _GNU_SOURCE
#include "parallel.h"
#include "zero_blocks.h"
#include "zero_page.h"

#include <stdatomic.h>
#include <stdbool.h>

enum {
  CHUNK = 128 << 10,              /* larger pages are cut into parts of this size */
  LEAST_BATCH = 64 << 10,         /* bytes that a thread takes at a time: microseconds of work, ... */
  MOST_BATCH = 1 << 20,           /* ... and not less than needed, since taking drains the streams */
  BATCHES_PER_THREAD = 8,         /* so that a thread that is held up leaves its share to the others */
  WORTH_A_THREAD = 512 << 10,     /* less than this per thread is done sooner than a thread wakes */
  CACHED_UP_TO = 1 << 20,         /* more than that in a call goes past the cache: measured faster as soon
                                   * as the caches hold other data, which they do after a model's step */
};

struct work {
  const struct zero_blocks_layout *layout;
  const int64_t *ids;
  int64_t num_ids;
  int64_t pages; /* segments x ids */
  int64_t parts; /* chunks that a page is cut into; 1 for small pages */
  int64_t batch; /* units (page parts) taken at a time */
  zero_lines stream; /* or NULL: through the cache */
  _Atomic int64_t next;
};

static int64_t stride_of(const struct zero_blocks_layout *layout, int64_t segment) {
  return layout->strides ? layout->strides[segment] : layout->max_page_bytes;
}

static int64_t page_of(const struct zero_blocks_layout *layout, int64_t segment) {
  return layout->page_bytes ? layout->page_bytes[segment] : layout->max_page_bytes;
}

static bool segment_is_sound(const struct zero_blocks_layout *layout, int64_t segment) {
  int64_t address = layout->addresses[segment];
  int64_t stride = stride_of(layout, segment);
  int64_t page = page_of(layout, segment);
  if (address == 0 || stride < 0 || page <= 0 || page > layout->max_page_bytes) return false;
  if (stride > 0 && layout->num_blocks > INT64_MAX / stride) return false;
  return ((address | stride | page) & 3) == 0;
}

static bool layout_is_sound(const struct zero_blocks_layout *layout) {
  if (layout->num_segments < 0 || layout->num_blocks < 0) return false;
  for (int64_t segment = 0; segment < layout->num_segments; segment++) {
    if (!segment_is_sound(layout, segment)) return false;
  }
  return true;
}

/* 1 + the position of the first id outside of the pool, or 0. */
static int64_t first_stray(const int64_t *ids, int64_t num_ids, int64_t num_blocks) {
  for (int64_t at = 0; at < num_ids; at++) {
    if (ids[at] < 0 || ids[at] >= num_blocks) return at + 1;
  }
  return 0;
}

/* Units are ordered segment, id, part, so that runs of neighbouring ids are runs of memory. */
struct place {
  int64_t segment;
  int64_t index;
  int64_t part;
};

static struct place place_of(const struct work *work, int64_t unit) {
  int64_t pair = unit / work->parts;
  int64_t segment = pair / work->num_ids;
  return (struct place){segment, pair - segment * work->num_ids, unit - pair * work->parts};
}

/* The next unit, without dividing: for small pages that would be a good part of the work. */
static void advance(const struct work *work, struct place *place) {
  if (++place->part < work->parts) return;
  place->part = 0;
  if (++place->index < work->num_ids) return;
  place->index = 0;
  place->segment++;
}

static void zero_unit(const struct work *work, const struct place *place) {
  int64_t offset = place->part * CHUNK;
  int64_t left = page_of(work->layout, place->segment) - offset;
  if (left <= 0) return; /* this segment's pages are smaller than the largest */
  size_t bytes = (size_t)(left > CHUNK ? CHUNK : left);
  uintptr_t base = (uintptr_t)work->layout->addresses[place->segment];
  int64_t start = work->ids[place->index] * stride_of(work->layout, place->segment);
  char *at = (char *)(base + (uintptr_t)(start + offset));
  if (work->stream) {
    stream_zero(at, bytes, work->stream);
  } else {
    memset(at, 0, bytes);
  }
}

/* Every thread takes batches until none are left. Ids given twice may be zeroed by two threads at
 * once; both write zeros. */
static void take_batches(void *data) {
  struct work *work = data;
  int64_t units = work->pages * work->parts;
  for (;;) {
    int64_t unit = atomic_fetch_add_explicit(&work->next, work->batch, memory_order_relaxed);
    if (unit >= units) break;
    int64_t end = unit + work->batch < units ? unit + work->batch : units;
    struct place place = place_of(work, unit);
    for (; unit < end; unit++, advance(work, &place)) zero_unit(work, &place);
  }
  if (work->stream) stream_fence();
}

static int64_t total_bytes(const struct zero_blocks_layout *layout, int64_t num_ids) {
  int64_t row = 0;
  for (int64_t segment = 0; segment < layout->num_segments; segment++) row += page_of(layout, segment);
  return row * num_ids;
}

static int useful_threads(int64_t bytes, int num_threads) {
  int64_t most = bytes / WORTH_A_THREAD;
  if (most > num_threads) most = num_threads;
  return most < 1 ? 1 : (int)most;
}

int zero_blocks_abi(void) { return ZERO_BLOCKS_ABI; }

static int64_t batch_units(const struct work *work, int64_t bytes, int threads) {
  int64_t batch = bytes / ((int64_t)threads * BATCHES_PER_THREAD);
  if (batch < LEAST_BATCH) batch = LEAST_BATCH;
  if (batch > MOST_BATCH) batch = MOST_BATCH;
  int64_t units = batch * work->pages * work->parts / bytes; /* by the mean size of a unit */
  return units < 1 ? 1 : units;
}

static zero_lines streaming(int64_t bytes, int method) {
  static _Atomic(zero_lines) best;
  if (method == ZERO_BLOCKS_CACHED || (method == ZERO_BLOCKS_AUTO && bytes <= CACHED_UP_TO)) return NULL;
  zero_lines zero = atomic_load_explicit(&best, memory_order_relaxed);
  if (!zero) {
    zero = choose_lines();
    atomic_store_explicit(&best, zero, memory_order_relaxed);
  }
  return zero;
}

int64_t zero_blocks_cpu(const struct zero_blocks_layout *layout, const int64_t *ids, int64_t num_ids,
                        int num_threads, int method) {
  if (num_ids < 0 || !layout_is_sound(layout)) return ZERO_BLOCKS_BAD_LAYOUT;
  int64_t stray = first_stray(ids, num_ids, layout->num_blocks);
  if (stray || num_ids == 0 || layout->num_segments == 0) return stray;
  int64_t bytes = total_bytes(layout, num_ids);
  struct work work = {.layout = layout, .ids = ids, .num_ids = num_ids};
  work.pages = layout->num_segments * num_ids;
  work.parts = (layout->max_page_bytes + CHUNK - 1) / CHUNK;
  work.stream = streaming(bytes, method);
  int threads = useful_threads(bytes, num_threads);
  work.batch = batch_units(&work, bytes, threads);
  run_on_threads(take_batches, &work, threads);
  return 0;
}

struct share {
  char *at;
  int64_t bytes;
  int64_t each;
  _Atomic int64_t next;
};

static void take_share(void *data) {
  struct share *share = data;
  for (;;) {
    int64_t from = atomic_fetch_add_explicit(&share->next, share->each, memory_order_relaxed);
    if (from >= share->bytes) return;
    int64_t left = share->bytes - from;
    memset(share->at + from, 0, (size_t)(left < share->each ? left : share->each));
  }
}

void zero_blocks_cpu_memset(void *at, int64_t bytes, int num_threads) {
  int threads = useful_threads(bytes, num_threads);
  struct share share = {.at = at, .bytes = bytes, .each = (bytes + threads - 1) / threads};
  run_on_threads(take_share, &share, threads);
}
