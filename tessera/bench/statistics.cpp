// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/statistics.hpp"
#include <algorithm>
#include "tessera/core/error.hpp"

namespace tessera::bench {
namespace {

double quantile(const std::vector<double>& sorted, double part) {
  const double at = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

Summary summarize(std::vector<double> samples) {
  if (samples.empty()) throw Error(Error::Kind::internal, "there is no sample to summarize");
  std::ranges::sort(samples);
  return {quantile(samples, 0.5), quantile(samples, 0.25), quantile(samples, 0.75), samples.front(),
          samples.size()};
}

std::vector<double> thinned(const std::vector<double>& samples, std::size_t most) {
  if (samples.size() <= most || most < 2) return samples;
  std::vector<double> out;
  for (std::size_t i = 0; i < most; ++i) out.push_back(samples[i * (samples.size() - 1) / (most - 1)]);
  return out;
}

}  // namespace tessera::bench
