// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/verify/judge.hpp"
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
  out.of_each = (std::fabs(out.alpha) + 1) * slack.floor;
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

JudgedProduct::JudgedProduct(const Arguments& arguments, Data data, const Slack& slack) {
  if (!is_mixed(arguments)) {
    judge = arguments.element() == Element::f64 ? plain_judge<double>(arguments, data, slack)
                                                : plain_judge<float>(arguments, data, slack);
    return;
  }
  const auto p = MixedProblem::of(arguments);
  judge = mixed_judge(p, arguments, data, slack);
  const auto take = [](Element element, const void* from, std::int64_t count, std::int64_t stride) {
    std::vector<double> out;
    for (std::int64_t i = 0; from != nullptr && i < count; ++i)
      out.push_back(load_as_double(element, static_cast<const char*>(from) +
                                                i * stride * static_cast<std::int64_t>(size_of(element))));
    return out;
  };
  if (p.k != 0) row_scales = take(Element::f32, p.scale_a, p.m, p.scale_a_stride);
  if (p.k != 0) column_scales = take(Element::f32, p.scale_b, p.n, p.scale_b_stride);
  const bool along_rows = p.bias_row_stride != 0;
  (along_rows ? row_bias : column_bias) = take(p.bias_element, p.bias, along_rows ? p.m : p.n,
                                               along_rows ? p.bias_row_stride : p.bias_col_stride);
  if (!row_scales.empty()) judge.factors = row_scales.data();
  if (!row_bias.empty()) judge.biases = row_bias.data();
  if (!column_scales.empty()) largest_scale = 0;
  for (const double scale : column_scales) largest_scale = std::max(largest_scale, std::fabs(scale));
}

GroupTerms JudgedProduct::group(const Signs& signs, std::int64_t g) const {
  GroupTerms out{0, 0, 0, std::sqrt(static_cast<double>(signs.length(g)))};
  for (auto j = static_cast<std::size_t>(signs.first(g)); std::cmp_less(j, signs.first(g + 1)); ++j) {
    const double sign = signs.values[j], bias = column_bias.empty() ? 0 : column_bias[j];
    out.signs += sign;
    out.bias += sign * bias;
    out.bias_norm += bias * bias;
  }
  out.bias_norm = std::sqrt(out.bias_norm);
  return out;
}

std::vector<double> JudgedProduct::scaled(const Signs& signs) const {
  std::vector<double> out = signs.values;
  for (std::size_t j = 0; j < column_scales.size(); ++j) out[j] *= column_scales[j];
  return out;
}

std::vector<std::int64_t> rows_that_stand_out(const std::vector<double>& ratios, std::vector<double>* seen) {
  const std::size_t always_looked_at =
      std::clamp<std::size_t>(ratios.size() / 128, 1, seen == nullptr ? 8 : 4);
  const auto ratio = [&](std::int64_t i) { return ratios[static_cast<std::size_t>(i)]; };
  const auto larger = [&](std::int64_t i, std::int64_t j) { return ratio(i) > ratio(j); };
  std::vector<std::int64_t> rows, others;
  for (std::int64_t i = 0; i < std::ssize(ratios); ++i) {
    if (!(ratio(i) <= 1)) {
      rows.push_back(i);
    } else if (ratio(i) > 0 && (others.size() < always_looked_at || larger(i, others.back()))) {
      others.insert(std::ranges::upper_bound(others, i, larger), i);
      if (others.size() > always_looked_at) others.pop_back();
    }
  }
  std::ranges::stable_sort(rows, larger);
  for (std::size_t at = 0; at < others.size() && rows.size() < always_looked_at; ++at)
    rows.push_back(others[at]);
  const double least = rows.empty() ? 0 : std::min(1.0, ratio(rows.back()));
  for (std::size_t i = 0; seen != nullptr && i < seen->size(); ++i) (*seen)[i] *= 2 * least;
  return rows;
}

const DeviceSums*& device_sums(Where where) {
  static const DeviceSums* all[3] = {};
  return all[static_cast<std::size_t>(where)];
}

}  // namespace tessera::matmul
