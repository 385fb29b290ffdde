// SPDX-License-Identifier: Apache-2.0
// Inputs of few bits that find errors. The exact ones are whole numbers with as many significant bits as the
// element has, against -1, 0 and 1, as in fill.cpp: every shorter element errs in each of them, and yet no
// sum leaves what f32, or the registers of 8-bit sums, hold.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include "ops/matmul/problem/matmul_operation.hpp"
#include "ops/matmul/problem/mixed_problem.hpp"
#include "tessera/core/random.hpp"
#include "tessera/run/inputs.hpp"

namespace tessera::matmul {
namespace {

struct Line {
  ArrayView view;
  std::int64_t offset, stride, length;

  void set(std::int64_t at, double value) const {
    const std::int64_t size = static_cast<std::int64_t>(size_of(view.element));
    store_from_double(view.element, static_cast<char*>(view.data) + (offset + at * stride) * size, value);
  }
};

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
      return p.tf32 ? 11 : 13;
  }
}

// The most ±1 in a line of A or of B such that sums stay exact, and as few as C's range allows.
std::int64_t ones_for(const MixedProblem& p, int bits) {
  const bool fp8 = p.a.element == Element::e4m3 || p.a.element == Element::e5m2;
  const int digits = fp8 ? 12 : p.c_element == Element::f16 ? 15 : 19;
  const double alpha = std::max(1.0, std::fabs(static_cast<double>(p.alpha)));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ldexp(1.0, digits - bits - 1) / alpha));
}

double precise(Random& random, int bits) {
  const std::uint64_t top = std::uint64_t{1} << (bits - 1), draw = random.next();
  const auto value = static_cast<double>(top | ((draw >> 1) & (top - 1)) | 1);
  return (draw & 1) != 0 ? -value : value;
}

// Every second element, from `first` on, is ±1 or 0, the count of ±1 odd or even as told.
void set_ones(Random& random, const Line& line, std::int64_t first, std::int64_t most, bool odd) {
  std::int64_t places = line.length > first ? (line.length - first + 1) / 2 : 0;
  std::int64_t left = std::min(places, most);
  if ((left % 2 != 0) != odd && left > 0) --left;
  for (std::int64_t l = first; l < line.length; l += 2, --places) {
    const bool chosen = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(places))) < left;
    if (chosen) --left;
    line.set(l, chosen ? ((random.next() & 1) != 0 ? 1 : -1) : 0);
  }
}

// A's rows and B's columns; of C0, rows.
void fill_exact(const Arguments& arguments, const MixedProblem& p, const std::string& input,
                std::uint64_t seed) {
  const ArrayView view = arguments.oriented(input, arguments.array(input).element, 2);
  const std::size_t across = input == "B" ? 1 : 0, along = 1 - across;
  const int bits = bits_of(p);
  const std::int64_t ones = ones_for(p, bits);
  Random random(seed);
  for (std::int64_t i = 0; i < view.extents[across]; ++i) {
    const Line line{view, i * view.strides[across], view.strides[along], view.extents[along]};
    if (input == "C0") {
      for (std::int64_t l = 0; l < line.length; ++l) line.set(l, precise(random, std::min(bits, 6)));
      continue;
    }
    const bool is_a = input == "A";
    for (std::int64_t l = is_a ? 0 : 1; l < line.length; l += 2) line.set(l, precise(random, bits));
    set_ones(random, line, is_a ? 1 : 0, ones, !is_a);
  }
}

// Scales so that an i8 result neither vanishes nor always saturates.
void fill_vector(const MixedProblem& p, const std::string& input, Distribution distribution,
                 std::uint64_t seed, const ArrayView& to) {
  Random random(seed);
  const Line line{to, 0, to.strides[0], to.extents[0]};
  const bool exact = distribution == Distribution::exact;
  double size = 1;
  if (input == "scale-b" && p.c_element == Element::i8 && !exact)
    size = std::ldexp(1.0, -std::ilogb(100 * std::sqrt(static_cast<double>(p.k) + 1)));
  for (std::int64_t i = 0; i < line.length; ++i)
    if (input == "bias") line.set(i, exact ? precise(random, 5) : random.normal());
    else
      line.set(i, exact ? std::ldexp(1.0, static_cast<int>(random.below(3)) - 1)
                        : size * (0.5 + 1.5 * random.uniform()));
}

// A few of each, so that most rows and columns of C stay finite.
void strew_specials(const ArrayView& view, std::uint64_t seed) {
  if (view.count() == 0) return;
  Random random(seed, 1);
  const std::int64_t size = static_cast<std::int64_t>(size_of(view.element));
  for (const double value : {HUGE_VAL, -HUGE_VAL, std::nan(""), 0.0, 0.0}) {
    const auto i = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(view.extents[0])));
    const auto j = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(view.extents[1])));
    char* at = static_cast<char*>(view.data) + (i * view.strides[0] + j * view.strides[1]) * size;
    store_from_double(view.element, at, value);
    // Stored, an infinity saturates; e4m3 has none.
    if (view.element == Element::e5m2 && std::isinf(value)) *at = static_cast<char>(value > 0 ? 0x7c : 0xfc);
  }
}

}  // namespace

void mixed_fill(const Arguments& arguments, const std::string& input, Distribution distribution,
                std::uint64_t seed, const ArrayView& to) {
  Arguments target = arguments;
  target.set_array(input, to);
  const auto p = MixedProblem::of(target);
  if (to.extents.size() == 1) return fill_vector(p, input, distribution, seed, to);
  if (distribution == Distribution::exact) return fill_exact(target, p, input, seed);
  fill_normal(seed, to);
  if (distribution == Distribution::special && !is_integer(to.element)) strew_specials(to, seed);
}

}  // namespace tessera::matmul
