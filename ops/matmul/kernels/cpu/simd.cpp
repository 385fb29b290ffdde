// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/kernels/cpu/simd.hpp"
#include <cstdlib>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace tessera::matmul {

Scratch::~Scratch() { std::free(data_); }

void* Scratch::get_bytes(std::size_t bytes) {
  constexpr std::size_t huge_page = std::size_t{2} << 20;
  if (bytes <= bytes_) return data_;
  std::free(data_);
  bytes_ = 0;
  const std::size_t rounded = (bytes + huge_page - 1) / huge_page * huge_page;
  data_ = std::aligned_alloc(huge_page, rounded);
  if (data_ == nullptr) throw std::bad_alloc();
  madvise(data_, rounded, MADV_HUGEPAGE);  // only for speed: a refusal changes nothing
  bytes_ = rounded;
  return data_;
}

CacheSizes cache_sizes() {
  static const CacheSizes sizes = [] {
    const auto at_least = [](long bytes, std::int64_t least) { return std::max<std::int64_t>(bytes, least); };
    return CacheSizes{at_least(sysconf(_SC_LEVEL1_DCACHE_SIZE), 32 << 10),
                      at_least(sysconf(_SC_LEVEL2_CACHE_SIZE), 256 << 10)};
  }();
  return sizes;
}

Division divide(std::int64_t m, std::int64_t n, int threads, std::int64_t row_unit, std::int64_t col_unit) {
  constexpr double copy_cost = 24;  // of one element of B, in products
  Division best{1, 1, std::max(m, row_unit), std::max(n, col_unit)};
  double least = 0;
  for (int down = 1; down <= threads; ++down) {
    const int across = threads / down;
    const Division tried{down, across, even_part(m, (m + down - 1) / down, row_unit),
                         even_part(n, (n + across - 1) / across, col_unit)};
    const double cost =
        static_cast<double>(tried.block_cols) * (static_cast<double>(tried.block_rows) + copy_cost);
    if (least == 0 || cost < least) {
      best = tried;
      least = cost;
    }
  }
  return best;
}

}  // namespace tessera::matmul
