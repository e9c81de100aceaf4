/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads, without bringing any.
 *
 * at::parallel_for runs on the OpenMP threads of the process, and an engine pins each of those to a
 * core of its own. The same threads are reached through the runtime's C entry point, GOMP_parallel
 * (libgomp; also exported by LLVM's and Intel's libomp), looked up in the process instead of linked:
 * linking would load a second runtime, whose threads would inherit the pinned core of the caller.
 * Without OpenMP in the process, threads live for the one call.
 */
#define _GNU_SOURCE
#include "parallel.h"

#include <dlfcn.h>
#include <pthread.h>

enum { MOST_THREADS = 64 };

typedef void (*omp_parallel)(void (*body)(void *), void *data, unsigned num_threads, unsigned flags);

struct call {
  void (*body)(void *);
  void *data;
};

static void *enter(void *arg) {
  struct call *call = arg;
  call->body(call->data);
  return NULL;
}

/* A thread that cannot be made is one helper less, no error: the work is shared, not divided. */
static void run_on_own_threads(struct call *call, int num_threads) {
  pthread_t helpers[MOST_THREADS];
  int made = 0;
  while (made < num_threads - 1 && made < MOST_THREADS &&
         pthread_create(&helpers[made], NULL, enter, call) == 0) {
    made++;
  }
  enter(call);
  while (made > 0) pthread_join(helpers[--made], NULL);
}

void run_on_threads(void (*body)(void *), void *data, int num_threads) {
  if (num_threads <= 1) {
    body(data);
    return;
  }
  omp_parallel parallel = (omp_parallel)dlsym(RTLD_DEFAULT, "GOMP_parallel");
  if (parallel) {
    parallel(body, data, (unsigned)num_threads, 0);
    return;
  }
  struct call call = {body, data};
  run_on_own_threads(&call, num_threads);
}
