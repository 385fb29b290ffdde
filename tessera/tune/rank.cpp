// SPDX-License-Identifier: Apache-2.0
#include "tessera/tune/rank.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <numeric>
#include "tessera/core/error.hpp"

namespace tessera::tune {
namespace {

constexpr std::size_t fewest = 3;

void demand_pairs(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) throw Error(Error::Kind::internal, "ranks of different numbers of values");
}

// From 1; equal values get the mean of the ranks that they fill.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&values](std::size_t i) { return values[i]; });
  std::vector<double> out(values.size());
  for (std::size_t from = 0; from < order.size();) {
    std::size_t to = from;
    while (to < order.size() && values[order[to]] == values[order[from]]) ++to;
    for (std::size_t i = from; i < to; ++i) out[order[i]] = (static_cast<double>(from + to) + 1) / 2;
    from = to;
  }
  return out;
}

}  // namespace

std::optional<double> spearman(const std::vector<double>& a, const std::vector<double>& b) {
  demand_pairs(a, b);
  if (a.size() < fewest) return std::nullopt;
  const auto x = ranks(a), y = ranks(b);
  const double mean = (static_cast<double>(a.size()) + 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  if (!(xx > 0) || !(yy > 0)) return std::nullopt;
  return xy / std::sqrt(xx * yy);
}

std::optional<double> kendall(const std::vector<double>& a, const std::vector<double>& b) {
  demand_pairs(a, b);
  if (a.size() < fewest) return std::nullopt;
  double agree = 0, in_a = 0, in_b = 0;  // pairs that the values tell apart
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = i + 1; j < a.size(); ++j) {
      const int x = (a[i] < a[j]) - (a[i] > a[j]), y = (b[i] < b[j]) - (b[i] > b[j]);
      agree += x * y;
      in_a += x != 0;
      in_b += y != 0;
    }
  if (!(in_a > 0) || !(in_b > 0)) return std::nullopt;
  return agree / std::sqrt(in_a * in_b);
}

Fit fit_of(const std::vector<double>& predicted, const std::vector<double>& measured) {
  return {spearman(predicted, measured), kendall(predicted, measured), predicted.size()};
}

std::string describe(const Fit& fit) {
  const auto word = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.2f}", *value) : std::string("n/a");
  };
  return fmt::format("Spearman {}, Kendall {}, n = {}", word(fit.spearman), word(fit.kendall), fit.count);
}

}  // namespace tessera::tune
