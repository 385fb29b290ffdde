// SPDX-License-Identifier: Apache-2.0
// Inputs that find errors. The exact ones are whole numbers that float, or double, just holds, while
// every type with a shorter significand rounds each of them; yet no sum leaves the type's whole numbers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include "ops/matmul/matmul.hpp"
#include "ops/matmul/problem/elements.hpp"
#include "ops/matmul/problem/matmul_operation.hpp"
#include "tessera/core/random.hpp"
#include "tessera/run/inputs.hpp"

namespace tessera::matmul {
namespace {

// Along k, even places hold A's precise numbers against B's -1, 0 and 1, odd places the reverse.
//
// Precise numbers are odd with `bits` significant bits, so rounding one to fewer bits errs by an odd
// number. Every column of B has an odd count of ±1 in even places, every row of A an even count in odd
// places: with both factors rounded, each element of C errs by an odd count of odd numbers, never by 0.
// C0 is twice such a number, so its rounding cannot hide that either.
struct Plan {
  int bits;
  std::int64_t ones;  // the most ±1 in a line of either kind
};

template <class T>
Plan plan_for(const Problem<T>& p, bool biased) {
  constexpr int digits = std::numeric_limits<T>::digits, least_bits = digits == 24 ? 13 : 30;
  const double alpha = std::max(1.0, std::fabs(static_cast<double>(p.alpha))),
               beta = std::fabs(static_cast<double>(p.beta)) + (biased ? 1 : 0);  // a bias is like a C0
  // Σ|terms| ≤ 2^bits·(|α|·ones on either side + 2|β|) must stay within 2^digits.
  const double all_terms = alpha * static_cast<double>(p.k() + 1) + 2 * beta;
  const int bits =
      std::clamp(digits - 1 - static_cast<int>(std::ceil(std::log2(all_terms))), least_bits, digits - 1);
  const double room = (std::ldexp(1.0, digits - bits) - 2 * beta) / alpha / 2;
  return {bits, static_cast<std::int64_t>(std::clamp(room, 1.0, 1e15))};
}

template <class T>
T precise(Random& random, int bits) {
  const std::uint64_t top = std::uint64_t{1} << (bits - 1), draw = random.next();
  const auto value = static_cast<T>(top | ((draw >> 1) & (top - 1)) | 1);
  return (draw & 1) != 0 ? -value : value;
}

// Sets every second element of a line, from `first` on, to ±1 or 0, with at most `most` that are not 0,
// whose count is odd or even as told.
template <class T>
void fill_with_ones(Random& random, T* line, std::int64_t stride, std::int64_t length, std::int64_t first,
                    std::int64_t most, bool odd) {
  std::int64_t places = length > first ? (length - first + 1) / 2 : 0;
  std::int64_t left = std::min(places, most);
  if ((left % 2 != 0) != odd && left > 0) --left;
  for (std::int64_t l = first; l < length; l += 2, --places) {
    // Each of the remaining places is equally likely to be among those left (Knuth's algorithm S).
    const bool chosen = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(places))) < left;
    if (chosen) --left;
    line[l * stride] = chosen ? static_cast<T>((random.next() & 1) != 0 ? 1 : -1) : T{0};
  }
}

// `line` is a row of A or a column of B: the numbers along k.
template <class T>
void fill_line(Random& random, T* line, std::int64_t stride, std::int64_t length, const Plan& plan,
               bool is_a) {
  for (std::int64_t l = is_a ? 0 : 1; l < length; l += 2) line[l * stride] = precise<T>(random, plan.bits);
  fill_with_ones(random, line, stride, length, is_a ? 1 : 0, plan.ones, !is_a);
}

template <class T>
void fill_exact_vector(const ArrayView& vector, const Plan& plan, std::uint64_t seed) {
  Random random(seed);
  for (std::int64_t i = 0; i < vector.extents[0]; ++i)
    static_cast<T*>(vector.data)[i * vector.strides[0]] = 2 * precise<T>(random, plan.bits);
}

template <class T>
void fill_exact(const Arguments& arguments, const std::string& input, std::uint64_t seed) {
  const auto p = Problem<T>::of(arguments);
  const Plan plan = plan_for(p, arguments.has("bias"));
  if (input == "bias") return fill_exact_vector<T>(arguments.array(input), plan, seed);
  const auto matrix = arguments.view<T, 2>(input);
  const bool is_b = input == "B";
  Random random(seed);
  for (std::int64_t line = 0; line < matrix.extent[is_b ? 1 : 0]; ++line) {
    T* first = matrix.data + line * matrix.stride[is_b ? 1 : 0];
    const std::int64_t stride = matrix.stride[is_b ? 0 : 1], length = matrix.extent[is_b ? 0 : 1];
    if (input != "C0") fill_line(random, first, stride, length, plan, !is_b);
    else
      for (std::int64_t j = 0; j < length; ++j) first[j * stride] = 2 * precise<T>(random, plan.bits);
  }
}

// A few of each, so that most rows and columns of C stay finite.
template <class T>
void strew_specials(const Matrix<T>& matrix, std::uint64_t seed) {
  if (matrix.rows() == 0 || matrix.cols() == 0) return;
  constexpr T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  Random random(seed, 1);
  for (const T value : {infinity, -infinity, nan, T{0}, T{0}}) {
    const auto i = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(matrix.rows())));
    const auto j = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(matrix.cols())));
    matrix(i, j) = value;
  }
}

}  // namespace

void fill(const Arguments& arguments, const std::string& input, Distribution distribution, std::uint64_t seed,
          const ArrayView& to) {
  if (is_mixed(arguments)) return mixed_fill(arguments, input, distribution, seed, to);
  Arguments target = arguments;
  target.set_array(input, to);
  dispatch(to.element, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      if (distribution == Distribution::exact) return fill_exact<T>(target, input, seed);
      fill_normal(seed, to);
      if (distribution == Distribution::special && to.extents.size() == 2)
        strew_specials(target.view<T, 2>(input), seed);
    } else {
      fill_normal(seed, to);
    }
  });
}

}  // namespace tessera::matmul
