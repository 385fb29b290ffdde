// SPDX-License-Identifier: Apache-2.0
// The check of a large product where its arrays lie: kernels sum, and judge a few rows in full as a
// transposed product whose groups are these rows. All that is not certainly right is left to the check in
// host memory.
#include <cmath>
#include <optional>
#include <utility>
#include "ops/matmul/verify/examine.hpp"
#include "ops/matmul/verify/judge.hpp"
#include "tessera/run/enqueue.hpp"

namespace tessera::matmul {

void copy_to_host(Arguments& arguments, std::span<const char* const> names, const Run& run,
                  std::vector<Array>& kept) {
  for (const char* name : names) {
    if (!arguments.has(name) || arguments.array(name).count() == 0) continue;
    ArrayView view = arguments.array(name);
    const auto [first, last] = view.span();
    const auto size = static_cast<std::int64_t>(size_of(view.element));
    auto* const to = kept.emplace_back(Element::u8, Extents{(last - first) * size}).as<char>();
    backend_of(*run.device)
        .copy(run, to, static_cast<const char*>(view.data) + first * size,
              static_cast<std::size_t>((last - first) * size));
    view.data = to - first * size;
    arguments.set_array(name, view);
  }
}

std::optional<DeviceAnswer> right_on_device(const Device& device, const Arithmetic& arithmetic) {
  const DeviceSums* const sums = device_sums(device.where);
  const Arguments& given = arithmetic.arguments;
  if (sums == nullptr || given.element() == Element::i32 || sampled_only(given)) return std::nullopt;
  const std::int64_t m = given.dim("m"), n = given.dim("n"),
                     k = given.real("alpha") == 0 ? 0 : given.dim("k");
  Run run{&device};
  Backend& backend = backend_of(device);
  std::vector<Array> kept;
  Arguments host = given;
  constexpr const char* vectors[] = {"scale-a", "scale-b", "bias"};
  copy_to_host(host, vectors, run, kept);
  const JudgedProduct terms(host, Data::any, arithmetic.slack);
  const Signs signs = Signs::in_even_groups(n, sum_vectors, 1);
  const bool adds = terms.judge.beta != 0;

  const std::int64_t lines = 2 * k + 3 * m + 3 * n;
  const auto bytes = static_cast<std::size_t>(lines * sum_vectors * 2 + 4 * m + 6 * n + 64) * sizeof(double);
  ScopedWorkspace workspace(device, nullptr, {}, bytes, {});
  auto* next = static_cast<double*>(workspace.run().workspace);
  backend.fill(run, next, 0, bytes);
  const auto take = [&](std::int64_t count) { return std::exchange(next, next + (count + 1) / 2 * 2); };
  const auto take_lines = [&](std::int64_t count) {
    return reinterpret_cast<SumPair*>(take(count * sum_vectors * 2));
  };
  const auto sent = [&]<class T>(const std::vector<T>& from) -> const T* {
    if (from.empty()) return nullptr;
    auto* const to = reinterpret_cast<T*>(take(std::ssize(from)));
    backend.copy(run, to, from.data(), from.size() * sizeof(T));
    return to;
  };
  // Signs and scales are exact in f32.
  const auto sent_signs = [&](const std::vector<double>& signs_of) {
    return sent(std::vector<float>(signs_of.begin(), signs_of.end()));
  };
  const auto lines_of = [](const ArrayView& view, std::int64_t length, SumPair* out) {
    return SumsArgs{view.data, view.element, view.extents[0], length, view.strides[0], view.strides[1], out};
  };
  // Columns are cut, so that matrices of few lines occupy every multiprocessor, too.
  const auto multiply = [&](const ArrayView& view, const SumPair* by, SumPair* out) {
    SumsArgs args = lines_of(view, k, out);
    args.parts = std::clamp<std::int64_t>(k / 2048, 1, 16);
    args.x = by;
    if (k != 0) sums->multiply(args, run);
  };
  const float* const x = sent_signs(signs.values);
  const auto fold = [&](const ArrayView& view, const float* by, double scale, bool factors = false) {
    SumsArgs args = lines_of(view, n, take_lines(view.extents[0]));
    args.signs = by;
    args.scale = scale;
    args.factors = factors;
    args.parts = signs.groups;
    sums->fold(args, run);
    return args.out;
  };
  const ArrayView a = given.oriented("A", given.array("A").element, 2),
                  b = given.oriented("B", given.array("B").element, 2), c = given.array("C"),
                  c0 = adds ? given.array("C0") : c;

  JudgeArgs of_rows{terms.judge, m, signs.groups};
  of_rows.judge.factors = sent(terms.row_scales);
  of_rows.judge.biases = sent(terms.row_bias);
  for (std::int64_t g = 0; g < signs.groups; ++g) of_rows.group[g] = terms.group(signs, g);
  SumPair* const products = take_lines(m);
  if (k != 0)
    multiply(
        a,
        fold(b, terms.column_scales.empty() ? x : sent_signs(terms.scaled(signs)), terms.largest_scale, true),
        products);
  of_rows.products = products;
  of_rows.c = fold(c, x, 1);
  if (adds) of_rows.c0 = fold(c0, x, 1);
  of_rows.ratios = take(2 * m);
  of_rows.bounds = of_rows.ratios + m;
  of_rows.totals = take(totals_of_judge);
  sums->judge(of_rows, run);
  std::vector<double> ratios(static_cast<std::size_t>(2 * m));
  backend.copy(run, ratios.data(), of_rows.ratios, ratios.size() * sizeof(double));
  std::vector<double> seen(ratios.begin() + m, ratios.end());
  ratios.resize(static_cast<std::size_t>(m));
  std::vector<std::int64_t> rows = rows_that_stand_out(ratios, &seen);
  constexpr std::size_t most = 64;  // more of them are left to the host
  if (rows.size() > most) return std::nullopt;
  if (rows.empty()) rows.push_back(0);

  // Elements have the bounds of the host's check, but that their own rounding is at most half a spacing.
  JudgeArgs in_full{terms.judge, n, 0};
  Judge& judge = in_full.judge;
  judge.factors = sent(terms.column_scales);
  judge.biases = sent(terms.column_bias);
  judge.of_c /= 3;
  if (given.element() == Element::i8 && judge.of_c != 0)  // roundings of the scaled sum, which is exact
    judge.of_terms = 0, judge.of_c = 0x1p-21;
  judge.of_each = arithmetic.slack.floor + (c.element == Element::f16 ? 0x1p-25 : 0);
  judge.always /= std::sqrt(static_cast<double>(n));
  if (given.element() == Element::f64)  // the kernels' own rounding
    judge.of_terms += 0x1p-53 * static_cast<double>(std::min<std::int64_t>(k, 4096) / 8 + k / 128 + 16);
  SumPair *const of_a = take_lines(k), *const of_c = take_lines(n), *const of_c0 = take_lines(n),
                 *const elements = take_lines(n);
  in_full.products = elements;
  in_full.ratios = take(n);
  in_full.totals = take(totals_of_judge);
  in_full.bounds = take(n);
  std::vector<double> found(static_cast<std::size_t>(in_full.bounds - in_full.ratios));
  DeviceAnswer out;
  long double squares = 0, of_right = 0;
  for (std::size_t at = 0; at < rows.size(); at += sum_vectors) {
    in_full.groups = std::min<std::int64_t>(sum_vectors, std::ssize(rows) - static_cast<std::int64_t>(at));
    SumsArgs picked = lines_of(a, k, of_a);
    picked.factors = true;
    for (std::int64_t v = 0; v < in_full.groups; ++v) {
      const std::int64_t row = picked.picked[v] = rows[at + static_cast<std::size_t>(v)];
      const auto i = static_cast<std::size_t>(row);
      if (!terms.row_scales.empty()) picked.scales[v] = terms.row_scales[i];
      const double bias = terms.row_bias.empty() ? 0 : terms.row_bias[i];
      in_full.group[v] = {1, bias, std::fabs(bias), 1};
      out.seen = std::max(out.seen, seen[i]);
    }
    const auto gather = [&](const ArrayView& view, SumPair* to, int dropped_bits) {
      SumsArgs args = lines_of(view, n, to);
      std::ranges::copy(picked.picked, args.picked);
      args.dropped_bits = dropped_bits;
      sums->gather(args, run);
      return to;
    };
    const auto cleared = reinterpret_cast<char*>(in_full.bounds) - reinterpret_cast<char*>(elements);
    backend.fill(run, elements, 0, static_cast<std::size_t>(cleared));
    in_full.c = gather(c, of_c, 52);  // the power of two below
    if (adds) in_full.c0 = gather(c0, of_c0, 0);
    if (k != 0) sums->gather(picked, run);
    multiply(b.transposed(), of_a, elements);
    sums->judge(in_full, run);
    backend.copy(run, found.data(), in_full.ratios, found.size() * sizeof(double));
    const double* const totals = found.data() + (in_full.totals - in_full.ratios);
    const double ratio = *std::max_element(found.begin(), found.begin() + n);
    const auto count = static_cast<double>(in_full.groups * n);
    // Sums of integers have to be exact, if they fit.
    if (!(ratio <= 1) || (totals[4] > count / 2 && totals[5] != 0)) return std::nullopt;
    out.verdict.largest_ratio = std::max(out.verdict.largest_ratio, ratio);
    out.count += count;
    out.bounds += totals[0];
    out.values += totals[1];
    squares += totals[2];
    of_right += totals[3];
  }
  const double growth = judge.of_sums + judge.of_terms;
  const double error = std::sqrt(static_cast<double>(squares) / out.count);
  if (demands_precision(arithmetic) &&
      error > 8 * roundings_of(given, out.values / out.count, out.bounds / out.count / growth))
    return std::nullopt;
  out.verdict.passed = true;
  out.verdict.method = "a randomised check of all rows, " + std::to_string(rows.size()) + " of " +
                       std::to_string(m) + " in full";
  out.verdict.norm_error = squares == 0 ? 0 : static_cast<double>(std::sqrt(squares / of_right));
  return out;
}

}  // namespace tessera::matmul
