// SPDX-License-Identifier: Apache-2.0
// CPU rung 3: tiles that stay in the cache.
//
// A block of B of depth × width is packed once and then serves every row of C before the next block is
// fetched, so B is read from memory once instead of once per row. Each element is still summed in the order
// of k. One sum is loaded and stored for every product: the next rung keeps sums in registers.
#include <algorithm>
#include "ops/matmul/kernels/cpu/serial_loops.hpp"
#include "ops/matmul/gemm/operands.hpp"
#include "tessera/rung.hpp"

namespace tessera::matmul {
namespace {

// Sums of `rows` rows of C, row-major, in a strip of columns [j0, j0 + width).
template <class T>
struct Strip {
  std::int64_t j0, width;
  std::vector<T> sums, block;
};

template <class T>
void copy_block(const Problem<T>& p, std::int64_t l0, std::int64_t depth, Strip<T>& strip) {
  T* to = strip.block.data();
  for (std::int64_t l = l0; l < l0 + depth; ++l)
    for (std::int64_t j = strip.j0; j < strip.j0 + strip.width; ++j) *to++ = p.b(l, j);
}

template <class T>
void compute_strip(const Problem<T>& p, std::int64_t depth_limit, Strip<T>& strip) {
  strip.sums.assign(static_cast<std::size_t>(p.m() * strip.width), T{0});
  for (std::int64_t l0 = 0; l0 < p.k(); l0 += depth_limit) {
    const std::int64_t depth = std::min(depth_limit, p.k() - l0);
    copy_block(p, l0, depth, strip);
    for (std::int64_t i = 0; i < p.m(); ++i)
      for (std::int64_t l = 0; l < depth; ++l)
        add_multiple(strip.sums.data() + i * strip.width, p.a(i, l0 + l),
                     strip.block.data() + l * strip.width, 1, strip.width);
  }
  for (std::int64_t i = 0; i < p.m(); ++i)
    for (std::int64_t j = 0; j < strip.width; ++j)
      p.store(i, strip.j0 + j, strip.sums[static_cast<std::size_t>(i * strip.width + j)]);
}

template <class T>
void blocked(const Problem<T>& p, const Tuning& tuning) {
  if (p.m() == 0 || p.n() == 0) return;
  const std::int64_t depth = tuning["depth"], width = std::min<std::int64_t>(tuning["width"], p.n());
  Strip<T> strip;
  strip.block.resize(static_cast<std::size_t>(depth * width));
  for (strip.j0 = 0; strip.j0 < p.n(); strip.j0 += width) {
    strip.width = std::min(width, p.n() - strip.j0);
    compute_strip(p, depth, strip);
  }
}

const Rung rung{"blocks of B that stay in the cache while every row of C uses them",
                Where::cpu,
                {choice_of<Problem>([](const auto& p, const Tuning& tuning, Run&) { blocked(p, tuning); }, {},
                                    {{"depth", 8, 4096, 64}, {"width", 8, 4096, 256}})},
                "ordered"};
[[maybe_unused]] const bool registered = (register_layouts(b_in_panels), true);

}  // namespace
}  // namespace tessera::matmul
