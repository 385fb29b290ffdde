// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/gemm/accuracy.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include "ops/matmul/gemm/error_growth.hpp"
#include "ops/matmul/gemm/gemm.hpp"
#include "ops/matmul/gemm/operands.hpp"

namespace tessera::matmul {
namespace {

constexpr double unit_of(Element element) { return element == Element::f64 ? 0x1p-53 : 0x1p-24; }

// Returns a positive number; nullopt: a type, or something else.
std::optional<double> number_in(const std::string& word) {
  double value = 0;
  char rest = 0;
  if (std::sscanf(word.c_str(), "%lf%c", &value, &rest) != 1 || !std::isfinite(value) || value <= 0)
    return std::nullopt;
  return value;
}

// Rounds up to two digits, so that a bound is accepted as it was printed.
std::string rounded_up(double value) {
  const double unit = value > 0 ? std::pow(10, std::floor(std::log10(value)) - 1) : 1;
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", std::ceil(value / unit) * unit);
  return text;
}

double of_f64(const Arguments& arguments) {
  return rounding_growth(arguments, unit_of(Element::f64), Data::random);
}

// Returns the truncation error of a chunk's sums in the tensor cores, by docs/decisions/0007: 10.5u for a
// block of 16 products, 6.5u for a block of 8, for each block that is added to a sum of the chunk's size.
double cuts_of_chunk(Compute compute, double k) {
  const double blocks =
      std::ceil(std::min(k, double{emulation_chunk}) / (compute == Compute::tf32x3 ? 8 : 16));
  const double of_block = compute == Compute::tf32x3 ? 6.5 : 10.5;
  // Small products come first: as many blocks again for each of them, 2⁻⁷ of the size together.
  return of_block * blocks * (1 + 0x1p-6) * 0x1p-24;
}

// Returns the fewest elements along k that a rung promotes at once: Hopper's of TF32 and bf16 promote half a
// chunk.
double promotion_interval(Compute compute) {
  return compute == Compute::f16x3 ? emulation_chunk : emulation_chunk / 2;
}

}  // namespace

ErrorBounds error_bounds(Compute compute, const Arguments& arguments) {
  const Element element = arguments.element();
  const double unit = unit_of(element), k = static_cast<double>(arguments.dim("k"));
  const ErrorBounds strict{rounding_growth(arguments, unit, Data::random),
                           rounding_growth(arguments, unit, Data::any)};
  if (compute == Compute::strict) return strict;
  if (compute == Compute::tf32)
    return {strict.likely + 0x1.02p-9 + cuts_of_chunk(Compute::tf32x3, 8) * std::ceil(k / 8),
            strict.always + 0x1.02p-9 + cuts_of_chunk(Compute::tf32x3, 8) * std::ceil(k / 8)};
  const double promotions = std::ceil(k / promotion_interval(compute)) + 1,
               cut = cuts_of_chunk(compute, k) + lost_in_emulation(compute) + range_allowance(k);
  const double elements =
      std::max(1.0, static_cast<double>(arguments.dim("m")) * static_cast<double>(arguments.dim("n")));
  const double lambda = lambda_of(elements, promotions);
  return {cut + std::min(lambda * std::sqrt(promotions), promotions) * unit, cut + promotions * unit};
}

void check_accuracy(const std::string& word, Element a, const std::string& compute) {
  if (word.empty()) return;
  if (word != "f32" && word != "f64" && !number_in(word))
    throw Error("--accuracy takes f32, f64 or a number above 0, not '" + word + "'");
  if (a != Element::f32 && a != Element::f64)
    throw Error("--accuracy is only for f32 and f64: A holds " + std::string(name_of(a)));
  if (compute != "strict")
    throw Error("--accuracy chooses the arithmetic, and --compute " + compute + " names one: leave one out");
}

Compute compute_of(const Arguments& arguments) {
  const std::string& word = arguments.text("accuracy");
  if (word.empty()) return compute_of(std::string_view(arguments.text("compute")));
  const Element element = arguments.element();
  const double offered = error_bounds(Compute::strict, arguments).likely;
  double most = offered;
  if (const auto number = number_in(word)) most = *number;
  else if (word == "f64" && element == Element::f32) most = 0;
  if (most < offered)
    throw Error("--accuracy " + word + " demands more than the product of " + std::string(name_of(element)) +
                " offers: the smallest at k = " + std::to_string(arguments.dim("k")) + " is " +
                rounded_up(offered) + " of |A||B|" +
                (element == Element::f32 ? ", of operands in f64 " + rounded_up(of_f64(arguments)) : ""));
  if (element != Element::f32) return Compute::strict;
  // All rows together decide whether operands can be decomposed, and the likely bound depends on their
  // number.
  const bool invariant = is_batch_invariant(arguments);
  for (const Compute compute : {Compute::tf32, Compute::f16x3, Compute::tf32x3, Compute::bf16x6}) {
    const ErrorBounds bounds = error_bounds(compute, arguments);
    if (invariant ? !is_emulated_fp32(compute) && bounds.always <= most : bounds.likely <= most)
      return compute;
  }
  return Compute::strict;
}

std::string accuracy_text(const Arguments& arguments) {
  if (arguments.text("accuracy").empty()) return {};
  const auto text = [&](Compute compute) {
    const ErrorBounds bounds = error_bounds(compute, arguments);
    const std::string name = compute == Compute::strict
                                 ? "strict " + std::string(name_of(arguments.element()))
                                 : std::string(text_of(compute));
    return name + ", within " + rounded_up(bounds.likely) + " of |A||B| if roundings are independent, " +
           rounded_up(bounds.always) + " at worst";
  };
  const Compute compute = compute_of(arguments);
  if (compute == Compute::strict) return text(compute);
  return text(compute) +
         (compute == Compute::f16x3 ? "; where f16 lacks the range, " + text(Compute::bf16x6) : "") +
         "; by rungs without it" + (is_emulated_fp32(compute) ? ", and where the data ask for that" : "") +
         ", " + text(Compute::strict);
}

}  // namespace tessera::matmul
