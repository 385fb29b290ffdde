// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/verify/judge.hpp"
#include <array>
#include <cmath>
#include "ops/matmul/gemm/operands.hpp"
#include "ops/matmul/verify/bounds.hpp"

namespace tessera::matmul {
namespace {

// Rounding stays below γ·(|α|·|A|·|B| + |β|·|C0|).
template <class T>
Judge plain_judge(const Arguments& arguments, Data data, const Slack& slack) {
  using limits = std::numeric_limits<T>;
  const auto p = Problem<T>::of(arguments);
  Judge out;
  out.alpha = static_cast<double>(p.alpha);
  out.beta = static_cast<double>(p.beta);
  out.of_terms = rounding_growth(arguments, static_cast<double>(limits::epsilon()) / 2, data) + slack.growth;
  out.always = static_cast<double>(limits::denorm_min()) * (std::fabs(out.alpha) + 1) *
               static_cast<double>(p.k() + 3) * std::sqrt(static_cast<double>(p.n()));
  out.limit = static_cast<double>(limits::max()) / 4;
  return out;
}

Judge mixed_judge(const MixedProblem& p, const Arguments& arguments, Data data, const Slack& slack) {
  Judge out;
  out.alpha = p.alpha;
  out.beta = p.beta;
  if (p.c_element == Element::i32) return out;
  const double half_unit = p.c_element == Element::bf16  ? 0x1p-8
                           : p.c_element == Element::f16 ? 0x1p-11
                                                         : 0x1p-24;
  out.of_sums = sum_growth(p, arguments, data) + slack.growth;
  out.of_terms = 0x1p-21 + static_cast<double>(p.k + p.n) * 0x1p-52;
  // Rounding errors of C behave like independent ones: their sum stays below three times their norm.
  out.of_c = 3 * half_unit;
  out.of_each = 0x1p-24 + slack.floor;
  return out;
}

}  // namespace

JudgedGroups::JudgedGroups(const Arguments& arguments, Data data, const Slack& slack, const Signs& signs)
    : scaled_signs(signs.values), largest_scale(1), groups(static_cast<std::size_t>(signs.groups)) {
  std::vector<double> bias(scaled_signs.size());
  if (!is_mixed(arguments)) {
    judge = arguments.element() == Element::f64 ? plain_judge<double>(arguments, data, slack)
                                                : plain_judge<float>(arguments, data, slack);
  } else {
    const auto p = MixedProblem::of(arguments);
    judge = mixed_judge(p, arguments, data, slack);
    const bool along_rows = p.bias_row_stride != 0;
    const auto bias_at = [&](std::int64_t place) {
      const std::int64_t offset = place * (along_rows ? p.bias_row_stride : p.bias_col_stride);
      return load_as_double(p.bias_element, static_cast<const char*>(p.bias) +
                                                offset * static_cast<std::int64_t>(size_of(p.bias_element)));
    };
    if (p.scale_b != nullptr && p.k != 0) {
      largest_scale = 0;
      for (std::int64_t j = 0; j < p.n; ++j) {
        const double scale = p.scale_b[j * p.scale_b_stride];
        scaled_signs[static_cast<std::size_t>(j)] *= scale;
        largest_scale = std::max(largest_scale, std::fabs(scale));
      }
    }
    for (std::int64_t i = 0; p.scale_a != nullptr && p.k != 0 && i < p.m; ++i)
      factors.push_back(p.scale_a[i * p.scale_a_stride]);
    for (std::int64_t i = 0; p.bias != nullptr && along_rows && i < p.m; ++i) biases.push_back(bias_at(i));
    for (std::int64_t j = 0; p.bias != nullptr && !along_rows && j < p.n; ++j)
      bias[static_cast<std::size_t>(j)] = bias_at(j);
  }
  for (std::int64_t g = 0; g < signs.groups; ++g) {
    GroupTerms& own = groups[static_cast<std::size_t>(g)];
    double squares = 0;
    for (auto j = static_cast<std::size_t>(signs.first(g)); j < static_cast<std::size_t>(signs.first(g + 1));
         ++j) {
      own.signs += signs.values[j];
      own.bias += signs.values[j] * bias[j];
      squares += bias[j] * bias[j];
    }
    own.bias_norm = std::sqrt(squares);
    own.root = std::sqrt(static_cast<double>(signs.length(g)));
  }
  judge.groups = groups.data();
  if (!factors.empty()) judge.factors = factors.data();
  if (!biases.empty()) judge.biases = biases.data();
}

std::vector<std::int64_t> rows_that_stand_out(const std::vector<double>& ratios, std::vector<double>* seen) {
  const std::size_t always_looked_at =
      std::clamp<std::size_t>(ratios.size() / 128, 1, seen == nullptr ? 8 : 4);
  const auto ratio = [&](std::int64_t i) { return ratios[static_cast<std::size_t>(i)]; };
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < std::ssize(ratios); ++i)
    if (ratio(i) > 0) rows.push_back(i);
  const auto doubtful =
      static_cast<std::size_t>(std::ranges::count_if(rows, [&](std::int64_t i) { return !(ratio(i) <= 1); }));
  const std::size_t count = std::max(doubtful, std::min(always_looked_at, rows.size()));
  std::ranges::partial_sort(rows, rows.begin() + static_cast<std::ptrdiff_t>(count), std::ranges::greater{},
                            [&](std::int64_t i) { return std::pair(ratio(i), -i); });
  rows.resize(count);
  const double least = rows.empty() ? 0 : std::min(1.0, ratio(rows.back()));
  for (std::size_t i = 0; seen != nullptr && i < seen->size(); ++i) (*seen)[i] *= 2 * least;
  return rows;
}

namespace {
std::array<const DeviceSums*, 3>& all_sums() {
  static std::array<const DeviceSums*, 3> all{};
  return all;
}
}  // namespace

void register_device_sums(Where where, const DeviceSums& sums) {
  all_sums()[static_cast<std::size_t>(where)] = &sums;
}
const DeviceSums* find_device_sums(Where where) { return all_sums()[static_cast<std::size_t>(where)]; }

}  // namespace tessera::matmul
