// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/verify/examine.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <mutex>
#include <sstream>
#include "ops/matmul/gemm/accuracy.hpp"
#include "ops/matmul/gemm/checks.hpp"
#include "ops/matmul/gemm/operands.hpp"
#include "tessera/run/enqueue.hpp"

namespace tessera::matmul {
namespace {

bool has_16_bits(Element element) { return element == Element::bf16 || element == Element::f16; }
double roundoff(Element element) { return element == Element::bf16 ? 0x1p-8 : 0x1p-11; }

// Sums whose every addition is rounded to 16 bits: Jeannerod and Rump's bound holds for them, too
// (error_growth.hpp). Products may be rounded first, below the smallest normal number by a constant.
void round_to(Element shorter, double roundings, Slack& slack) {
  slack.growth += roundings * roundoff(shorter);
  slack.floor += roundings * (shorter == Element::bf16 ? 0x1p-134 : 0x1p-25);
  if (shorter == Element::f16) slack.most = 65504;
}

}  // namespace

Arithmetic arithmetic_of(const Arguments& given, const std::string& words) {
  const Element a = given.element(), c = given.array("C").element;
  const auto k = static_cast<double>(given.dim("k"));
  const std::string own(name_of(a));
  std::string type = own, sums = a == Element::f64 ? "f64" : is_integer(a) ? "i32" : "f32", parts;
  Arguments::Words changed;
  Slack slack;
  if (a == Element::f32 && compute_of(given) != Compute::strict) type = text_of(compute_of(given));
  std::istringstream all(words);
  for (std::string word; std::getline(all, word, ',');) {
    const std::string value = word.substr(word.find('=') + 1);
    const auto kept_in = parse_element(value);
    const double count = std::strtod(value.c_str(), nullptr);
    const bool by_parts = word == "tf32" || word == "tf32x3" || word == "bf16x6" || word == "f16x3";
    if (word == "sums=" + sums || (word == own && a != Element::f32)) continue;
    if (word == "fast" && is_fp8(a)) {
      changed["accumulate"] = "fast";
    } else if (word.starts_with("sums=") && (has_16_bits(a) || is_fp8(a)) && kept_in &&
               has_16_bits(*kept_in)) {
      round_to(*kept_in, k + 4, slack);
      sums = value;
    } else if (word.starts_with("parts=") && has_16_bits(c) && count >= 1) {
      round_to(c, count, slack);  // each part, and each sum of parts, is at most Σ|a·b|
      parts = fmt::format(", up to {} parts of k rounded to {}", value, name_of(c));
    } else if (a == Element::f32 && (by_parts || word == own || word == "bf16")) {
      type = word;
      changed["compute"] = by_parts ? word : "strict";
      if (word == "bf16") slack.growth += 0x1.01p-7;
    } else {
      throw Error(
          fmt::format("the arithmetic '{}' does not fit a product of {} to {}; there are of f32 tf32, bf16, "
                      "tf32x3, bf16x6 and f16x3, of 16-bit and 8-bit floats sums=f16 and sums=bf16, of 8-bit "
                      "floats fast, and where C has 16 bits parts=N",
                      word, own, name_of(c)));
    }
  }
  // GPUs flush subnormal numbers to 0: each of up to 16 partial sums may lose the smallest normal number.
  if (sums == "f32") slack.floor += 0x1p-122;
  Arguments arguments = changed.empty() ? given : given.without({}, changed);
  std::string text = type + " products, sums in " + sums + parts;
  if (is_fp8(a)) text += arguments.text("accumulate") == "fast" ? ", fast" : ", promoted every 128 products";
  return {std::move(arguments), slack, std::move(text)};
}

namespace {

// The sizes of bounds in the rows that are computed in full.
class Sight {
 public:
  std::vector<double> seen;  // the errors of rows that suspect_rows() tells
  bool in_full = true;

  void add(std::span<const std::int64_t> rows, const Expected& expected, std::size_t from) {
    const std::lock_guard lock(mutex_);
    const std::size_t length = rows.empty() ? 0 : (expected.value.size() - from) / rows.size();
    for (const std::int64_t row : rows) {
      double bounds = 0, values = 0, count = 0;
      for (const std::size_t end = from + length; from < end; ++from) {
        const double value = expected.value[from], bound = expected.bound[from];
        if (!std::isfinite(value) || !std::isfinite(bound)) continue;
        bounds += bound;
        values += std::fabs(value);
        ++count;
      }
      add(seen.empty() ? 0 : seen[static_cast<std::size_t>(row)], count, bounds, values);
    }
  }
  void add(double error, double count, double bounds, double values) {
    bounds_ += bounds;
    values_ += values;
    if (bounds > 0) sees_ = std::max(sees_, error * count / bounds);
  }
  double sees() const { return std::max(1.0, sees_); }
  double relative_bound() const { return bounds_ == 0 ? 0 : bounds_ / values_; }

 private:
  std::mutex mutex_;
  double sees_ = 0, bounds_ = 0, values_ = 0;
};

std::string interval(std::int64_t first, std::int64_t last) {
  return first == last ? std::to_string(first) : fmt::format("{}–{}", first, last);
}

// Returns the rectangles that wrong elements fill, the first ones in full.
std::string places_of(const std::vector<Mismatch>& wrong) {
  struct Rectangle {
    std::int64_t row, last_row, col, last_col;
  };
  std::vector<Rectangle> all;
  for (std::size_t at = 0; at < wrong.size() && all.size() < 256;) {
    const std::int64_t row = wrong[at].index[0], col = wrong[at].index[1];
    std::int64_t end = col;
    for (; at < wrong.size() && wrong[at].index[0] == row && wrong[at].index[1] == end; ++at) ++end;
    const auto above = std::ranges::find_if(all, [&](const Rectangle& r) {
      return r.last_row == row - 1 && r.col == col && r.last_col == end - 1;
    });
    if (above != all.end()) above->last_row = row;
    else all.push_back({row, row, col, end - 1});
  }
  std::string out;
  for (std::size_t at = 0; at < std::min<std::size_t>(4, all.size()); ++at)
    out += fmt::format("{}rows {} of columns {}", at == 0 ? "" : "; ",
                       interval(all[at].row, all[at].last_row), interval(all[at].col, all[at].last_col));
  return out + (all.size() > 4 ? "; and others" : "");
}

std::string sight_text(const Arguments& arguments, const Sight& sight, bool in_full) {
  if (arguments.array("C").element == Element::i32) return "this check sees every error";
  return (!in_full && sampled_only(arguments)
              ? "this check sees errors in the rows that it computes, no others"
              : fmt::format("this check sees errors above {:.3g} times the bound of an element",
                            sight.sees())) +
         fmt::format("; these data allow a mean error of {:.3g} of an element's size",
                     sight.relative_bound());
}

}  // namespace

Finding examine(const Arguments& given, const std::string& words, const Device* device) {
  Arithmetic arithmetic = arithmetic_of(given, words);
  Arguments& arguments = arithmetic.arguments;
  Sight sight;
  Operation checked;
  checked.output = "C";
  checked.flops = matmul_operation().flops;
  checked.sampled_only = sampled_only;
  checked.reference = [&](const Arguments& one, std::span<const std::int64_t> rows, Data data,
                          Expected& expected) {
    const std::size_t from = expected.value.size();
    reference(one, rows, data, expected, arithmetic.slack);
    sight.add(rows, expected, from);
  };
  checked.suspect_rows = [&](const Arguments& one, Data data, std::uint64_t seed) {
    sight.in_full = false;
    return suspect_rows(one, data, seed, arithmetic.slack, &sight.seen);
  };
  const VerifyOptions options{.reference_flops = 3e8, .shown = 1 << 16};
  std::optional<DeviceAnswer> right;
  std::vector<Array> kept;
  if (device != nullptr) check_in_place(*device, given, nullptr, "C0");
  if (device != nullptr && device->where != Where::cpu) {
    if (checked.flops(given) > options.reference_flops) right = right_on_device(*device, arithmetic);
    if (right) {
      sight.in_full = false;
      sight.add(right->seen, right->count, right->bounds, right->values);
    } else {
      constexpr const char* all[] = {"A", "B", "C0", "C", "scale-a", "scale-b", "bias"};
      copy_to_host(arguments, all, Run{device}, kept);
    }
  }
  const Verdict verdict = right ? right->verdict : verify(checked, arguments, nullptr, options);
  Finding out;
  out.arithmetic = arithmetic.text;
  out.wrong = verdict.wrong;
  out.largest_ratio = verdict.largest_ratio;
  out.sees = sight.sees();
  if (!right) out.cause = cause_of(arithmetic, verdict.first);
  out.right = verdict.passed && out.cause.empty();
  Verdict shown = verdict;
  shown.first.resize(std::min<std::size_t>(3, shown.first.size()));
  out.text = describe(shown);
  if (verdict.wrong > 0) {
    out.first = verdict.first.front().index;
    out.text += fmt::format("\nwhere: {}; the largest error is {:.3g} times its bound\ncause: {}",
                            places_of(verdict.first), verdict.largest_ratio,
                            out.cause.empty() ? "no hypothesis explains these elements" : out.cause);
  } else if (!out.right) {
    out.text =
        "wrong result: elements are within their bounds, but not those of the named arithmetic\ncause: " +
        out.cause;
  }
  out.text +=
      fmt::format("\narithmetic: {}\n{}", out.arithmetic, sight_text(arguments, sight, sight.in_full));
  return out;
}

}  // namespace tessera::matmul
