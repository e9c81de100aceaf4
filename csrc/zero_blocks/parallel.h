/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VLLM_SOAK_PARALLEL_H
#define VLLM_SOAK_PARALLEL_H

/* Calls body(data) on up to num_threads threads at once, this one included, and waits for all. */
void run_on_threads(void (*body)(void *), void *data, int num_threads);

#endif
