/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels: one launch covers every segment and block, on a grid that fits the device. */
#pragma once

#include <cassert>
#include <cstdint>

namespace zero_blocks {

constexpr uint32_t WARP = 32;
constexpr uint32_t STORE_THREADS = 256;
constexpr uint32_t STORE_CHUNK = 4096; /* bytes a warp zeroes at a time: 8 stores of 16 bytes a lane */
constexpr uint32_t BULK_THREADS = 128;
constexpr uint32_t BULK_CHUNK = 16384; /* bytes of zeros in shared memory: the longest bulk store */

/* Ids in the kernel's parameters: no copy to wait for, no buffer to keep alive. */
template <int N>
struct InlineIds {
  int32_t id[N];
  __device__ int64_t at(uint32_t index) const { return id[index]; }
};

struct DeviceIds {
  const int64_t *id;
  __device__ int64_t at(uint32_t index) const { return __ldg(id + index); }
};

/* The job of one launch. A unit is one chunk of one page; there are fewer than 2^31 of them. */
struct Job {
  const int64_t *addresses;
  const int64_t *strides;    /* or null: max_page_bytes */
  const int64_t *page_bytes; /* or null: max_page_bytes */
  int64_t max_page_bytes;
  int64_t num_blocks;
  uint32_t num_ids;
  uint32_t chunk;
  uint32_t parts; /* chunks in the largest page */
  uint32_t units; /* segments x ids x parts */
};

struct Piece {
  uint64_t at;
  uint32_t bytes; /* 0: nothing to do */
};

/* Units are ordered segment, id, part, so that runs of neighbouring ids are runs of memory. */
template <class Ids>
__device__ __forceinline__ Piece piece_of(const Job &job, const Ids &ids, uint32_t unit) {
  const uint32_t pair = unit / job.parts;
  const int64_t offset = static_cast<int64_t>(unit - pair * job.parts) * job.chunk;
  const uint32_t segment = pair / job.num_ids;
  const int64_t id = ids.at(pair - segment * job.num_ids);
  const int64_t page = job.page_bytes ? __ldg(job.page_bytes + segment) : job.max_page_bytes;
  const int64_t stride = job.strides ? __ldg(job.strides + segment) : job.max_page_bytes;
  const bool in_pool = id >= 0 && id < job.num_blocks;
  const int64_t at = __ldg(job.addresses + segment) + id * stride + offset;
  const bool in_words = ((at | page) & 3) == 0; /* a misaligned store would take the context down */
  assert(in_pool && "block id outside of the pool");
  assert(in_words && "pages must be whole words");
  if (!in_pool || !in_words || offset >= page) return {0, 0};
  const int64_t left = page - offset;
  return {static_cast<uint64_t>(at), static_cast<uint32_t>(left < job.chunk ? left : job.chunk)};
}

__device__ __forceinline__ bool is_wide(const Piece &piece) {
  return ((piece.at | piece.bytes) & 15) == 0;
}

/* One warp zeroes one piece: 16 bytes a lane and store where that is aligned, else 4. */
__device__ __forceinline__ void store_zeros(const Piece &piece, uint32_t lane) {
  char *at = reinterpret_cast<char *>(piece.at);
  __builtin_assume(__isGlobal(at)); /* else these are generic stores, which look the space up */
  if (is_wide(piece)) {
#pragma unroll 8
    for (uint32_t byte = lane * 16; byte < piece.bytes; byte += WARP * 16) {
      *reinterpret_cast<uint4 *>(at + byte) = make_uint4(0, 0, 0, 0);
    }
  } else {
    for (uint32_t byte = lane * 4; byte < piece.bytes; byte += WARP * 4) {
      *reinterpret_cast<uint32_t *>(at + byte) = 0;
    }
  }
}

/* A warp a unit. */
template <class Ids>
__global__ void __launch_bounds__(STORE_THREADS)
    by_stores(const Job job, const __grid_constant__ Ids ids) {
  const uint32_t lane = threadIdx.x % WARP;
  const uint32_t warps = gridDim.x * (STORE_THREADS / WARP);
  uint32_t unit = blockIdx.x * (STORE_THREADS / WARP) + threadIdx.x / WARP;
  for (; unit < job.units; unit += warps) store_zeros(piece_of(job, ids, unit), lane);
}

#if __CUDA_ARCH__ >= 900

/* Writes made with ordinary stores become readable for the bulk copy engine. By every writer, and
 * before the barrier that the issuing threads wait at. */
__device__ __forceinline__ void publish_to_bulk_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void bulk_store(const Piece &piece, uint32_t tile) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                   __cvta_generic_to_global(reinterpret_cast<void *>(piece.at))),
               "r"(tile), "r"(piece.bytes)
               : "memory");
}

/* The tile belongs to the block: no issuing thread may leave while a copy still reads it. This waits
 * for the writes as well. Groups are per thread, so every issuing thread does this. */
__device__ __forceinline__ void finish_bulk_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/* Pieces that bulk stores cannot take, lane after lane, by the whole warp. */
__device__ __forceinline__ void store_leftovers(const Piece &mine, bool leftover, uint32_t lane) {
  uint32_t lanes = __ballot_sync(~0u, leftover);
  while (lanes) {
    const int from = __ffs(lanes) - 1;
    lanes &= lanes - 1;
    store_zeros({__shfl_sync(~0u, mine.at, from), __shfl_sync(~0u, mine.bytes, from)}, lane);
  }
}

#endif

/*
 * A lane a unit: the first warp of each block sends one zeroed tile of shared memory to every piece.
 * Blocks come first in the numbering, so that few units spread over all of them, and so that what is
 * written at one time is one run of units. Needs sm_90; the host never launches it on less.
 */
template <class Ids>
__global__ void __launch_bounds__(BULK_THREADS)
    by_bulk(const Job job, const __grid_constant__ Ids ids) {
#if __CUDA_ARCH__ >= 900
  __shared__ alignas(128) uint4 tile[BULK_CHUNK / sizeof(uint4)];
  for (uint32_t at = threadIdx.x; at * sizeof(uint4) < job.chunk; at += BULK_THREADS) {
    tile[at] = make_uint4(0, 0, 0, 0);
  }
  publish_to_bulk_copies();
  __syncthreads();
  if (threadIdx.x >= WARP) return;
  const uint32_t lane = threadIdx.x;
  const uint32_t source = static_cast<uint32_t>(__cvta_generic_to_shared(tile));
  for (uint32_t first = 0; first < job.units; first += gridDim.x * WARP) { /* the whole warp, together */
    const uint32_t unit = first + lane * gridDim.x + blockIdx.x;
    const Piece piece = unit < job.units ? piece_of(job, ids, unit) : Piece{0, 0};
    const bool wide = is_wide(piece);
    if (wide && piece.bytes) bulk_store(piece, source);
    store_leftovers(piece, !wide, lane);
  }
  finish_bulk_stores();
#endif
}

}  // namespace zero_blocks
