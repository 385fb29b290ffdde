// SPDX-License-Identifier: Apache-2.0
// The vectorized product, independent of instruction sets: operands as plain addresses, the partition among
// threads, and block sizes for the caches.
#pragma once
#include <algorithm>
#include <cstdint>
#include "ops/matmul/epilogue/epilogue.hpp"
#include "ops/matmul/matmul.hpp"

namespace tessera::matmul {

template <class T>
struct Strided {
  T* data;
  std::int64_t row, col;  // strides, in elements

  T* at(std::int64_t i, std::int64_t j) const { return data + i * row + j * col; }
};

// The type of the numbers that the vectors hold.
template <class T>
using Numbers = std::conditional_t<std::is_same_v<T, std::uint32_t>, std::int32_t, T>;

// A Problem with elements that vectors can hold: 32-bit integers are modulo 2^32, hence unsigned.
template <class T>
struct Product {
  std::int64_t m, n, k;
  Strided<const T> a, b, c0;
  Strided<T> c;
  T alpha, beta;
  bool adds = false;  // true: adds to C, as each block along k after the first does
  const EpilogueProblem<Numbers<T>>* after = nullptr;  // null: no epilogue; else for this C, without scales
};

struct Block {
  std::int64_t first_row, last_row, first_col, last_col;  // in C; the last ones are exclusive
};

// Memory that a thread keeps for its next call, on huge pages if the system has them.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  template <class T>
  T* get(std::size_t count) {
    return static_cast<T*>(get_bytes(count * sizeof(T)));
  }

 private:
  void* get_bytes(std::size_t bytes);

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

struct CacheSizes {
  std::int64_t l1, l2;  // per core, in bytes
};
CacheSizes cache_sizes();

// Returns the depth of a block of B: a strip of A, `rows` × depth, takes little more than half of L1, where
// it serves every panel of B. Deeper blocks load and store C less often, but evict the strip.
inline std::int64_t wanted_depth(const CacheSizes& cache, std::int64_t size, std::int64_t rows) {
  return std::clamp<std::int64_t>(cache.l1 * 6 / 11 / (rows * size), 64, 1024);
}

// Returns the number of panels in a block: it takes little more than half of L2, which also holds A and C.
inline std::int64_t panels_limit(const CacheSizes& cache, std::int64_t size, std::int64_t depth,
                                 std::int64_t panel) {
  return std::max<std::int64_t>(1, cache.l2 * 9 / 16 / (depth * size * panel));
}

// Returns the smallest equal parts of a length that are multiples of `unit` and at most `limit`.
inline std::int64_t even_part(std::int64_t length, std::int64_t limit, std::int64_t unit) {
  if (length == 0) return unit;
  const std::int64_t parts = (length + limit - 1) / limit;
  return std::max(unit, ((length + parts - 1) / parts + unit - 1) / unit * unit);
}

// Returns equal parts of a length, multiples of `unit`, nearest to the wanted size.
inline std::int64_t near_part(std::int64_t length, std::int64_t wanted, std::int64_t unit) {
  const std::int64_t parts = std::max<std::int64_t>(1, (length + wanted / 2) / wanted);
  return even_part(length, std::max<std::int64_t>(1, (length + parts - 1) / parts), unit);
}

// C divided into a grid of blocks, one for each thread.
struct ThreadGrid {
  std::int64_t down, across, block_rows, block_cols;

  Block block(int part, std::int64_t m, std::int64_t n) const {
    const std::int64_t i = part / across * block_rows, j = part % across * block_cols;
    return {std::min(i, m), std::min(i + block_rows, m), std::min(j, n), std::min(j + block_cols, n)};
  }
};

// Returns the grid whose largest block costs least: its products, and copying its columns of B, which each
// thread does for itself.
ThreadGrid thread_grid(std::int64_t m, std::int64_t n, int threads, std::int64_t row_unit,
                       std::int64_t col_unit);

// Computes α·A·B + β·C0 on up to `threads` threads, with the best instruction set of this CPU. `after`: the
// epilogue of C, without scales, applied strip by strip while the caches hold them.
template <class T>
void multiply_simd(const Problem<T>& problem, int threads, const EpilogueProblem<T>* after = nullptr);

// Adds α·A·B to C, as for the blocks along k after the first. Called block after block of simd_depth(), with
// multiply_simd() for the first, the result is bitwise identical to that of one call for all of k.
template <class T>
void add_simd(const Problem<T>& problem, int threads);

// Returns the depth of multiply_simd's blocks along k on this CPU, for elements of `size` bytes.
std::int64_t simd_depth(std::int64_t k, std::int64_t size);

}  // namespace tessera::matmul
