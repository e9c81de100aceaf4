/* SPDX-License-Identifier: Apache-2.0 */
/* KV block zeroing in host memory. */
#define _GNU_SOURCE
#include "parallel.h"
#include "zero_blocks.h"
#include "zero_page.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

enum {
  CHUNK = 128 << 10,              /* bytes a thread takes at a time: a few microseconds of work */
  WORTH_A_THREAD = 512 << 10,     /* less than this per thread is done sooner than a thread wakes */
  CACHE_WHEN_UNKNOWN = 8 << 20,
};

struct work {
  const struct zero_blocks_layout *layout;
  const int64_t *ids;
  int64_t num_ids;
  int64_t pages; /* segments x ids */
  int64_t parts; /* chunks that a page is cut into; 1 for small pages */
  int64_t batch; /* units (page parts) taken at a time; more than 1 for small pages */
  bool stream;
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
static void zero_unit(const struct work *work, int64_t unit) {
  int64_t pair = unit / work->parts;
  int64_t offset = (unit - pair * work->parts) * CHUNK;
  int64_t segment = pair / work->num_ids;
  int64_t id = work->ids[pair - segment * work->num_ids];
  int64_t left = page_of(work->layout, segment) - offset;
  if (left <= 0) return; /* this segment's pages are smaller than the largest */
  size_t bytes = (size_t)(work->parts > 1 && left > CHUNK ? CHUNK : left);
  uintptr_t base = (uintptr_t)work->layout->addresses[segment];
  char *at = (char *)(base + (uintptr_t)(id * stride_of(work->layout, segment) + offset));
  if (work->stream) {
    stream_zero(at, bytes);
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
    for (; unit < end; unit++) zero_unit(work, unit);
  }
  if (work->stream) stream_fence();
}

/* What fits in half of the last cache is zeroed there, which is faster and leaves it warm for the
 * kernel that fills the blocks next; more than that would only push the model's data out. */
static int64_t cache_share(void) {
#ifdef _SC_LEVEL3_CACHE_SIZE
  long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (bytes > 0) return bytes / 2;
#endif
  return CACHE_WHEN_UNKNOWN;
}

static int64_t total_bytes(const struct zero_blocks_layout *layout, int64_t num_ids) {
  int64_t row = 0;
  for (int64_t segment = 0; segment < layout->num_segments; segment++) row += page_of(layout, segment);
  return row * num_ids;
}

static int useful_threads(int64_t bytes, int num_threads) {
  int64_t most = bytes / WORTH_A_THREAD;
  if (most < 1) most = 1;
  return num_threads < most ? num_threads : (int)most;
}

int zero_blocks_abi(void) { return ZERO_BLOCKS_ABI; }

static bool should_stream(int64_t bytes, int method) {
  if (method == ZERO_BLOCKS_AUTO) return bytes > cache_share();
  return method == ZERO_BLOCKS_STREAM;
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
  work.batch = layout->max_page_bytes >= CHUNK ? 1 : CHUNK / layout->max_page_bytes;
  work.stream = should_stream(bytes, method);
  run_on_threads(take_batches, &work, useful_threads(bytes, num_threads));
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
  if (threads < 1) threads = 1;
  struct share share = {.at = at, .bytes = bytes, .each = (bytes + threads - 1) / threads};
  run_on_threads(take_share, &share, threads);
}
