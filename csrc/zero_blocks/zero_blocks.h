/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zeroing pages of a KV cache, in plain C so that one binary serves every torch and every CPython.
 *
 * A segment is a region with one page per block: block b of segment s is the page_bytes[s] bytes at
 * addresses[s] + b * strides[s]. Layers, K and V halves and separate allocations are all just
 * segments. Pages are whole numbers of 4-byte words at 4-byte-aligned addresses; where address,
 * stride and page are multiples of 16 the stores are 16 bytes wide or wider.
 */
#ifndef VLLM_SOAK_ZERO_BLOCKS_H
#define VLLM_SOAK_ZERO_BLOCKS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ZERO_BLOCKS_API __attribute__((visibility("default")))
#define ZERO_BLOCKS_ABI 1

/* What the entry points return besides 0 (done): a positive number is 1 + the position of the first
 * id outside of the pool (nothing was written then), a negative one is one of these. */
enum {
  ZERO_BLOCKS_BAD_LAYOUT = -1, /* a page, stride, address or count that the rules above exclude */
  ZERO_BLOCKS_DEVICE = -2,     /* the CUDA runtime refused; see zero_blocks_cuda_error() */
};

/*
 * strides and page_bytes may be NULL: every segment then has stride = page = max_page_bytes.
 * num_blocks is the pool's size, in blocks.
 */
struct zero_blocks_layout {
  const int64_t *addresses;
  const int64_t *strides;
  const int64_t *page_bytes;
  int64_t num_segments;
  int64_t max_page_bytes;
  int64_t num_blocks;
};

ZERO_BLOCKS_API int zero_blocks_abi(void);

/* How zeros are written. AUTO chooses by size and device; the others are for tests and measuring. */
enum {
  ZERO_BLOCKS_AUTO = 0,
  ZERO_BLOCKS_CACHED = 1, /* CPU: through the cache */
  ZERO_BLOCKS_STREAM = 2, /* CPU: past it */
  ZERO_BLOCKS_STORES = 1, /* CUDA: 16-byte stores from registers */
  ZERO_BLOCKS_BULK = 2,   /* CUDA: bulk stores from shared memory, where the device has them */
};

/* All or nothing: ids and layout are checked before the first byte is written. */
ZERO_BLOCKS_API int64_t zero_blocks_cpu(const struct zero_blocks_layout *layout, const int64_t *ids,
                                        int64_t num_ids, int num_threads, int method);

/* Plain memset, an equal share for each of the same threads: the ceiling that the benchmark compares with. */
ZERO_BLOCKS_API void zero_blocks_cpu_memset(void *at, int64_t bytes, int num_threads);

/* Where ids are, for zero_blocks_cuda. From the host they travel in the kernel's parameters. */
enum { ZERO_BLOCKS_IDS_ON_DEVICE = 0, ZERO_BLOCKS_IDS_ON_HOST = 1 };

/* Ids from the host that one launch takes; more than that are better brought to the device. */
enum { ZERO_BLOCKS_INLINE_IDS = 4000 };

/* Loads the kernels on a device, so that no later call does (a graph capture must not). */
ZERO_BLOCKS_API int64_t zero_blocks_cuda_prepare(int device);

/*
 * Enqueues on stream, without allocating and without waiting. The arrays of layout lie on the device.
 * Ids from the host are checked against the pool before anything is enqueued; of ids on the device,
 * those outside of the pool are skipped, and fail an assertion in builds without NDEBUG.
 */
ZERO_BLOCKS_API int64_t zero_blocks_cuda(const struct zero_blocks_layout *layout, const int64_t *ids,
                                         int64_t num_ids, int ids_on, int method, int device,
                                         void *stream);

/* Whether bulk stores can be had on a prepared device. */
ZERO_BLOCKS_API int zero_blocks_cuda_has_bulk(int device);

/* cudaMemsetAsync on the same runtime and stream: the ceiling that the benchmark compares with. */
ZERO_BLOCKS_API int64_t zero_blocks_cuda_memset(void *at, int64_t bytes, int device, void *stream);

/* What the runtime said when this thread's last call returned ZERO_BLOCKS_DEVICE. */
ZERO_BLOCKS_API const char *zero_blocks_cuda_error(void);

#ifdef __cplusplus
}
#endif

#endif
