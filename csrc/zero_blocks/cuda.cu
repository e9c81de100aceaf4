/* SPDX-License-Identifier: Apache-2.0 */
/* KV block zeroing in device memory: what the host does for a call, a few microseconds of it. */
#include "kernels.cuh"
#include "zero_blocks.h"

#include <atomic>
#include <cuda_runtime.h>

namespace {

using namespace zero_blocks;

constexpr int MOST_DEVICES = 64;
constexpr int FEW_IDS = 128; /* the usual step of a server: half a kilobyte of parameters */
constexpr int64_t MOST_UNITS = int64_t{1} << 31;
constexpr int64_t BULK_FROM_PAGE = 2048;        /* shorter bulk stores cost the engine more than they move */
constexpr int64_t BULK_FROM_TOTAL = 1 << 20;    /* below, filling the tile costs more than it saves */
constexpr uint32_t LEAST_BULK_CHUNK = 2048;
constexpr int STORE_BLOCKS_PER_SM = 8; /* 2,048 threads: all that an SM holds */
constexpr int BULK_BLOCKS_PER_SM = 4;

static_assert(sizeof(InlineIds<ZERO_BLOCKS_INLINE_IDS>) + sizeof(Job) < 32764, "parameters have a limit");

struct Device {
  std::atomic<bool> ready;
  int sms;
  bool bulk;
};

Device devices[MOST_DEVICES];
thread_local cudaError_t last_error = cudaSuccess;

/* Keeps the reason, and takes it out of the runtime's own record, where it would be found by others. */
int64_t check(cudaError_t error) {
  if (error == cudaSuccess) return 0;
  last_error = error;
  (void)cudaGetLastError();
  return ZERO_BLOCKS_DEVICE;
}

/* The caller's device is put back at the end. */
class OnDevice {
 public:
  explicit OnDevice(int device) {
    status_ = cudaGetDevice(&before_);
    if (status_ == cudaSuccess && before_ != device) {
      status_ = cudaSetDevice(device);
      moved_ = status_ == cudaSuccess;
    }
  }
  ~OnDevice() {
    if (moved_) (void)cudaSetDevice(before_);
  }
  OnDevice(const OnDevice &) = delete;
  OnDevice &operator=(const OnDevice &) = delete;
  cudaError_t status() const { return status_; }

 private:
  cudaError_t status_;
  int before_ = 0;
  bool moved_ = false;
};

/* Asking for a kernel's attributes loads it. */
template <class Ids>
cudaError_t load(int *ptx_version) {
  cudaFuncAttributes attributes;
  cudaError_t error = cudaFuncGetAttributes(&attributes, by_stores<Ids>);
  if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, by_bulk<Ids>);
  if (error == cudaSuccess) *ptx_version = attributes.ptxVersion;
  return error;
}

cudaError_t prepare(int device) {
  int ptx_version = 0;
  cudaError_t error = load<InlineIds<FEW_IDS>>(&ptx_version);
  if (error == cudaSuccess) error = load<InlineIds<ZERO_BLOCKS_INLINE_IDS>>(&ptx_version);
  if (error == cudaSuccess) error = load<DeviceIds>(&ptx_version);
  Device &facts = devices[device];
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&facts.sms, cudaDevAttrMultiProcessorCount, device);
  }
  if (error != cudaSuccess) return error;
  /* Not the device's capability: what counts is for which one the loaded code was compiled. */
  facts.bulk = ptx_version >= 90;
  facts.ready.store(true, std::memory_order_release);
  return cudaSuccess;
}

bool is_known(int device) { return device >= 0 && device < MOST_DEVICES; }

int64_t ensure_ready(int device) {
  if (devices[device].ready.load(std::memory_order_acquire)) return 0;
  return check(prepare(device));
}

bool is_sound(const zero_blocks_layout &layout) {
  return layout.num_segments >= 0 && layout.max_page_bytes > 0 && layout.max_page_bytes % 4 == 0 &&
         layout.num_blocks >= 0 && layout.num_blocks <= INT32_MAX;
}

bool use_bulk(const zero_blocks_layout &layout, int64_t num_ids, int method, const Device &device) {
  if (method == ZERO_BLOCKS_STORES || !device.bulk) return false;
  if (method == ZERO_BLOCKS_BULK) return true;
  const int64_t page = layout.max_page_bytes;
  return page % 16 == 0 && page >= BULK_FROM_PAGE &&
         page * layout.num_segments * num_ids >= BULK_FROM_TOTAL;
}

int64_t parts_of(int64_t page_bytes, uint32_t chunk) { return (page_bytes + chunk - 1) / chunk; }

/* Halved until every block of the grid has something to do. */
uint32_t bulk_chunk(const zero_blocks_layout &layout, int64_t num_ids, int64_t blocks) {
  uint32_t chunk = BULK_CHUNK;
  const int64_t pages = layout.num_segments * num_ids;
  while (chunk > LEAST_BULK_CHUNK && pages * parts_of(layout.max_page_bytes, chunk) < blocks) chunk /= 2;
  return chunk;
}

/* How the ids of one call are cut into launches, which are one unless there are very many. */
struct Plan {
  bool bulk;
  uint32_t chunk;
  int64_t ids_per_launch;
};

Plan plan_of(const zero_blocks_layout &layout, int64_t num_ids, int method, const Device &device) {
  const bool bulk = use_bulk(layout, num_ids, method, device);
  const int64_t blocks = int64_t{device.sms} * BULK_BLOCKS_PER_SM;
  const uint32_t chunk = bulk ? bulk_chunk(layout, num_ids, blocks) : STORE_CHUNK;
  const int64_t per_id = layout.num_segments * parts_of(layout.max_page_bytes, chunk);
  return {bulk, chunk, MOST_UNITS / per_id};
}

Job job_of(const zero_blocks_layout &layout, const Plan &plan, int64_t num_ids) {
  Job job{};
  job.addresses = layout.addresses;
  job.strides = layout.strides;
  job.page_bytes = layout.page_bytes;
  job.max_page_bytes = layout.max_page_bytes;
  job.num_blocks = layout.num_blocks;
  job.num_ids = static_cast<uint32_t>(num_ids);
  job.chunk = plan.chunk;
  job.parts = static_cast<uint32_t>(parts_of(layout.max_page_bytes, plan.chunk));
  job.units = static_cast<uint32_t>(layout.num_segments * num_ids * job.parts);
  return job;
}

uint32_t grid_for(uint32_t units, uint32_t units_per_block, int sms, int blocks_per_sm) {
  const uint32_t wanted = (units + units_per_block - 1) / units_per_block;
  const uint32_t held = static_cast<uint32_t>(sms * blocks_per_sm);
  return wanted < held ? wanted : held;
}

template <class Ids>
cudaError_t launch(const Job &job, const Ids &ids, bool bulk, int sms, cudaStream_t stream) {
  if (bulk) {
    by_bulk<<<grid_for(job.units, 1, sms, BULK_BLOCKS_PER_SM), BULK_THREADS, 0, stream>>>(job, ids);
  } else {
    const uint32_t warps = STORE_THREADS / WARP;
    by_stores<<<grid_for(job.units, warps, sms, STORE_BLOCKS_PER_SM), STORE_THREADS, 0, stream>>>(job, ids);
  }
  return cudaPeekAtLastError();
}

template <int N>
cudaError_t launch_inline(const Job &job, const int64_t *ids, bool bulk, int sms, cudaStream_t stream) {
  InlineIds<N> copy;
  for (uint32_t at = 0; at < job.num_ids; at++) copy.id[at] = static_cast<int32_t>(ids[at]);
  return launch(job, copy, bulk, sms, stream);
}

cudaError_t launch_slice(const Job &job, const int64_t *ids, int ids_on, bool bulk, int sms,
                         cudaStream_t stream) {
  if (ids_on == ZERO_BLOCKS_IDS_ON_DEVICE) return launch(job, DeviceIds{ids}, bulk, sms, stream);
  if (job.num_ids <= FEW_IDS) return launch_inline<FEW_IDS>(job, ids, bulk, sms, stream);
  return launch_inline<ZERO_BLOCKS_INLINE_IDS>(job, ids, bulk, sms, stream);
}

int64_t first_stray(const int64_t *ids, int64_t num_ids, int64_t num_blocks) {
  for (int64_t at = 0; at < num_ids; at++) {
    if (ids[at] < 0 || ids[at] >= num_blocks) return at + 1;
  }
  return 0;
}

int64_t enqueue(const zero_blocks_layout &layout, const int64_t *ids, int64_t num_ids, int ids_on, Plan plan,
                int sms, cudaStream_t stream) {
  const int64_t most =
      ids_on == ZERO_BLOCKS_IDS_ON_HOST && plan.ids_per_launch > ZERO_BLOCKS_INLINE_IDS
          ? ZERO_BLOCKS_INLINE_IDS
          : plan.ids_per_launch;
  cudaError_t error = cudaSuccess;
  for (int64_t done = 0; done < num_ids && error == cudaSuccess; done += most) {
    const int64_t slice = num_ids - done < most ? num_ids - done : most;
    error = launch_slice(job_of(layout, plan, slice), ids + done, ids_on, plan.bulk, sms, stream);
  }
  return check(error);
}

}  // namespace

extern "C" {

int zero_blocks_abi(void) { return ZERO_BLOCKS_ABI; }

int64_t zero_blocks_cuda_prepare(int device) {
  if (!is_known(device)) return ZERO_BLOCKS_BAD_LAYOUT;
  OnDevice guard(device);
  if (int64_t failed = check(guard.status())) return failed;
  return ensure_ready(device);
}

int64_t zero_blocks_cuda(const struct zero_blocks_layout *layout, const int64_t *ids, int64_t num_ids,
                         int ids_on, int method, int device, void *stream) {
  if (!is_known(device) || num_ids < 0 || !is_sound(*layout)) return ZERO_BLOCKS_BAD_LAYOUT;
  if (ids_on == ZERO_BLOCKS_IDS_ON_HOST) {
    if (int64_t stray = first_stray(ids, num_ids, layout->num_blocks)) return stray;
  }
  if (num_ids == 0 || layout->num_segments == 0) return 0;
  OnDevice guard(device);
  if (int64_t failed = check(guard.status())) return failed;
  if (int64_t failed = ensure_ready(device)) return failed;
  const Device &facts = devices[device];
  const Plan plan = plan_of(*layout, num_ids, method, facts);
  if (plan.ids_per_launch == 0) return ZERO_BLOCKS_BAD_LAYOUT;
  return enqueue(*layout, ids, num_ids, ids_on, plan, facts.sms, static_cast<cudaStream_t>(stream));
}

int zero_blocks_cuda_has_bulk(int device) { return is_known(device) && devices[device].bulk; }

int64_t zero_blocks_cuda_memset(void *at, int64_t bytes, int device, void *stream) {
  OnDevice guard(device);
  if (int64_t failed = check(guard.status())) return failed;
  return check(cudaMemsetAsync(at, 0, static_cast<size_t>(bytes), static_cast<cudaStream_t>(stream)));
}

const char *zero_blocks_cuda_error(void) { return cudaGetErrorString(last_error); }
}
