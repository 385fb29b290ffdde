// SPDX-License-Identifier: Apache-2.0
// Inputs that expose errors. The exact ones are integers that fill the element's significand, so that every
// type with a shorter significand rounds each of them; yet sums stay exact integers in the type in which they
// are summed (f32, f64, or the registers of 8-bit sums).
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include "ops/matmul/matmul.hpp"
#include "ops/matmul/gemm/operands.hpp"
#include "ops/matmul/operation/matmul_operation.hpp"
#include "ops/matmul/gemm/mixed_problem.hpp"
#include "tessera/core/array/random.hpp"
#include "tessera/run/inputs.hpp"

namespace tessera::matmul {
namespace {

// Elements of an array that are `stride` apart.
struct Line {
  ArrayView view;
  std::int64_t offset, stride, length;

  void set(std::int64_t at, double value) const {
    const auto size = static_cast<std::int64_t>(size_of(view.element));
    store_from_double(view.element, static_cast<char*>(view.data) + (offset + at * stride) * size, value);
  }
};

// Along k, even positions hold A's precise numbers against B's -1, 0 and 1, odd positions the reverse.
//
// Precise numbers are odd with `bits` significant bits, so rounding one to fewer bits has an odd error. Every
// column of B has an odd count of ±1 in even positions, every row of A an even count in odd positions: with
// both operands rounded, the error of each element of C is a sum of an odd count of odd numbers, never 0.
struct FillPlan {
  int bits;
  std::int64_t ones;  // the most ±1 in a line of either kind
};

// C0 and a bias are twice a precise number, so their rounding cannot hide an error either.
template <class T>
FillPlan plain_plan(const Arguments& arguments) {
  const auto p = Problem<T>::of(arguments);
  constexpr int digits = std::numeric_limits<T>::digits, min_bits = digits == 24 ? 13 : 30;
  const double alpha = std::max(1.0, std::fabs(static_cast<double>(p.alpha))),
               beta = std::fabs(static_cast<double>(p.beta)) + (arguments.has("bias") ? 1 : 0);
  // Σ|terms| ≤ 2^bits·(|α|·ones on either side + 2|β|) must stay within 2^digits.
  const double all_terms = alpha * static_cast<double>(p.k() + 1) + 2 * beta;
  const int bits =
      std::clamp(digits - 1 - static_cast<int>(std::ceil(std::log2(all_terms))), min_bits, digits - 1);
  const double most = (std::ldexp(1.0, digits - bits) - 2 * beta) / alpha / 2;
  return {bits, static_cast<std::int64_t>(std::clamp(most, 1.0, 1e15))};
}

int bits_of(const MixedProblem& p) {
  switch (p.a.element) {
    case Element::bf16:
      return 8;
    case Element::f16:
      return 11;
    case Element::e4m3:
      return p.b.element == Element::e5m2 ? 3 : 4;
    case Element::e5m2:
      return 3;
    case Element::i8:
      return 7;
    default:
      // For decomposed operands, one bit more than all parts except the last hold.
      return p.compute == Compute::tf32 ? 11 : p.compute == Compute::bf16x6 ? 17 : 13;
  }
}

// Keeps sums exact and within C's range.
FillPlan mixed_plan(const MixedProblem& p) {
  const int bits = bits_of(p), digits = is_fp8(p.a.element) ? 12 : p.c_element == Element::f16 ? 15 : 19;
  const double alpha = std::max(1.0, std::fabs(static_cast<double>(p.alpha)));
  return {bits,
          std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ldexp(1.0, digits - bits - 1) / alpha))};
}

double precise(Random& random, int bits) {
  const std::uint64_t top = std::uint64_t{1} << (bits - 1), draw = random.next();
  const auto value = static_cast<double>(top | ((draw >> 1) & (top - 1)) | 1);
  return (draw & 1) != 0 ? -value : value;
}

// Sets every second element, from `first` on, to ±1 or 0, with an odd or even count, at most `most`, of
// nonzeros.
void set_ones(Random& random, const Line& line, std::int64_t first, std::int64_t most, bool odd) {
  std::int64_t places = line.length > first ? (line.length - first + 1) / 2 : 0;
  std::int64_t left = std::min(places, most);
  if ((left % 2 != 0) != odd && left > 0) --left;
  for (std::int64_t l = first; l < line.length; l += 2, --places) {
    // Chooses `left` of the remaining positions with equal probability (Knuth's algorithm S).
    const bool chosen = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(places))) < left;
    if (chosen) --left;
    line.set(l, chosen ? ((random.next() & 1) != 0 ? 1 : -1) : 0);
  }
}

// Fills A by rows, B by columns, C0 by rows.
void fill_exact(const Arguments& arguments, const std::string& input, const FillPlan& plan,
                const std::function<double(Random&)>& addend, std::uint64_t seed) {
  const ArrayView view = arguments.oriented(input, arguments.array(input).element, 2);
  const std::size_t across = input == "B" ? 1 : 0, along = 1 - across;
  const bool is_a = input == "A";
  Random random(seed);
  for (std::int64_t i = 0; i < view.extents[across]; ++i) {
    const Line line{view, i * view.strides[across], view.strides[along], view.extents[along]};
    if (input == "C0") {
      for (std::int64_t l = 0; l < line.length; ++l) line.set(l, addend(random));
      continue;
    }
    for (std::int64_t l = is_a ? 0 : 1; l < line.length; l += 2) line.set(l, precise(random, plan.bits));
    set_ones(random, line, is_a ? 1 : 0, plan.ones, !is_a);
  }
}

// Sets a few elements to special values, so that most rows and columns of C stay finite.
void strew_specials(const ArrayView& view, std::uint64_t seed) {
  if (view.count() == 0) return;
  Random random(seed, 1);
  const auto size = static_cast<std::int64_t>(size_of(view.element));
  for (const double value : {HUGE_VAL, -HUGE_VAL, std::nan(""), 0.0, 0.0}) {
    const auto i = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(view.extents[0])));
    const auto j = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(view.extents[1])));
    char* at = static_cast<char*>(view.data) + (i * view.strides[0] + j * view.strides[1]) * size;
    store_from_double(view.element, at, value);
    // store_from_double() saturates infinities; e4m3 has none.
    if (view.element == Element::e5m2 && std::isinf(value)) *at = static_cast<char>(value > 0 ? 0x7c : 0xfc);
  }
}

// Fills a bias, or scales such that an i8 result neither vanishes nor always saturates.
void fill_mixed_vector(const MixedProblem& p, const std::string& input, bool exact, std::uint64_t seed,
                       const ArrayView& to) {
  Random random(seed);
  const Line line{to, 0, to.strides[0], to.extents[0]};
  double size = 1;
  if (input == "scale-b" && p.c_element == Element::i8 && !exact)
    size = std::ldexp(1.0, -std::ilogb(100 * std::sqrt(static_cast<double>(p.k) + 1)));
  for (std::int64_t i = 0; i < line.length; ++i)
    if (input == "bias") line.set(i, exact ? precise(random, 5) : random.normal());
    else
      line.set(i, exact ? std::ldexp(1.0, static_cast<int>(random.below(3)) - 1)
                        : size * (0.5 + 1.5 * random.uniform()));
}

}  // namespace

void fill(const Arguments& arguments, const std::string& input, Distribution distribution, std::uint64_t seed,
          const ArrayView& to) {
  Arguments target = arguments;
  target.set_array(input, to);
  const bool mixed = is_mixed(arguments), vector = to.extents.size() == 1;
  const bool real = to.element == Element::f32 || to.element == Element::f64;
  const bool exact = distribution == Distribution::exact && (mixed || real);
  if (mixed) {
    const auto p = MixedProblem::of(target);
    if (vector) return fill_mixed_vector(p, input, exact, seed, to);
    const FillPlan plan = mixed_plan(p);
    if (exact)
      return fill_exact(
          target, input, plan, [&](Random& random) { return precise(random, std::min(plan.bits, 6)); }, seed);
  } else if (exact) {
    const FillPlan plan = to.element == Element::f32 ? plain_plan<float>(target) : plain_plan<double>(target);
    const auto addend = [&](Random& random) { return 2 * precise(random, plan.bits); };
    if (!vector) return fill_exact(target, input, plan, addend, seed);
    Random random(seed);
    const Line line{to, 0, to.strides[0], to.extents[0]};
    for (std::int64_t i = 0; i < line.length; ++i) line.set(i, addend(random));
    return;
  }
  fill_normal(seed, to);
  if (distribution == Distribution::special && !vector && !is_integer(to.element)) strew_specials(to, seed);
}

}  // namespace tessera::matmul
