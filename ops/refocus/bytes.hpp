// SPDX-License-Identifier: Apache-2.0
// Bytes of a line, four to a word, for kernels: words from any address, and products of four bytes at once.
#pragma once
#include <cstdint>
#include "tessera/core/thread.hpp"

namespace tessera::lightfield {
inline namespace TESSERA_UNIT {

inline constexpr int run_bytes = 16;  // samples of bytes that a thread has

// The word that begins `bits` above the lowest bit of `low`, and goes on in `high`; 0 to 24.
SIMT std::uint32_t word_at(std::uint32_t low, std::uint32_t high, int bits) {
#if defined(__CUDA_ARCH__)
  return __funnelshift_r(low, high, static_cast<unsigned>(bits));
#else
  return static_cast<std::uint32_t>((std::uint64_t{high} << 32 | low) >> bits);
#endif
}

SIMT std::uint32_t byte_of(std::uint32_t word, int i) { return word >> (8 * i) & 0xffu; }

// sum + Σ weight's byte · word's byte.
SIMT std::uint32_t add_four(std::uint32_t word, std::uint32_t weight, std::uint32_t sum) {
#if defined(__CUDA_ARCH__)
  return __dp4a(word, weight, sum);
#else
  for (int i = 0; i < 4; ++i) sum += byte_of(word, i) * byte_of(weight, i);
  return sum;
#endif
}

// A run's results, as wide as its address allows.
SIMT void store_run(Thread thread, std::uint8_t* to, const Bytes16& run, int count) {
  const auto address = reinterpret_cast<std::uintptr_t>(to);
  if (count >= run_bytes && (address & 15) == 0) return thread.store16(to, run);
  if (count >= run_bytes && (address & 3) == 0) {
    SIMT_UNROLL
    for (int j = 0; j < 4; ++j) reinterpret_cast<std::uint32_t*>(to)[j] = run.word[j];
    return;
  }
  SIMT_UNROLL
  for (int i = 0; i < run_bytes; ++i)
    if (i < count) to[i] = static_cast<std::uint8_t>(byte_of(run.word[i / 4], i % 4));
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::lightfield
