// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: one sample of the result after another, on one core.
//
// Every tap of every sample computes the position of its sample, border included. This costs more than the
// sums; the next rung does it once per row.
#include "filter.hpp"
#include "tessera/rung.hpp"

namespace tessera::filtering {

template <class T>
void filter_naive(const Problem<T>& p, std::int64_t n, int first, int last, int begin, int end) {
  for (int y = begin; y < end; ++y) {
    for (int x = first; x < last; ++x)
      for (int c = 0; c < p.channels(); ++c) p.compute(n, y, x, c);
  }
}
template void filter_naive(const Problem<std::uint8_t>&, std::int64_t, int, int, int, int);
template void filter_naive(const Problem<std::uint16_t>&, std::int64_t, int, int, int, int);
template void filter_naive(const Problem<std::int16_t>&, std::int64_t, int, int, int, int);
template void filter_naive(const Problem<f16>&, std::int64_t, int, int, int, int);
template void filter_naive(const Problem<float>&, std::int64_t, int, int, int, int);

namespace {

const Rung rung{"a sample after another, every tap looked up, on one core",
                Where::cpu,
                {choice_of<Problem>([](const auto& p, const Tuning&, Run&) {
                  for (std::int64_t n = 0; n < p.images(); ++n) filter_naive(p, n, 0, p.cols(), 0, p.rows());
                })}};

}  // namespace
}  // namespace tessera::filtering
