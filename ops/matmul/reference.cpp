// SPDX-License-Identifier: Apache-2.0
// The product in higher precision, and how far from it an honest rung may be.
#include <algorithm>
#include <cmath>
#include <limits>
#include "checking.hpp"
#include "matmul.hpp"

namespace tessera::matmul {
namespace {

// double holds a product of floats exactly; long double's 64 bits leave errors of double 2^11 apart.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;
static_assert(std::numeric_limits<long double>::digits >= 64);

template <class T>
bool is_whole(T value) {
  return std::fabs(value) <= static_cast<T>(0x1p53) &&
         static_cast<T>(static_cast<std::int64_t>(value)) == value;
}

// Some rows of C at a time, so that a row of B is widened once for all of them.
template <class T>
struct Sums {
  std::int64_t rows, cols;
  std::vector<Wide<T>> sums;
  std::vector<double> magnitudes;          // of |A|·|B|
  std::vector<char> row_whole, col_whole;  // nothing but whole numbers in this row of A, in this column of B
};

template <class T>
Sums<T> sum_rows(const Problem<T>& p, std::int64_t first, std::int64_t rows) {
  const auto cols = static_cast<std::size_t>(p.n()), count = static_cast<std::size_t>(rows) * cols;
  Sums<T> out{rows,
              p.n(),
              std::vector<Wide<T>>(count),
              std::vector<double>(count),
              std::vector<char>(static_cast<std::size_t>(rows), 1),
              std::vector<char>(cols, 1)};
  bool any_whole = false;  // else nobody asks about the columns
  for (std::int64_t i = 0; i < rows; ++i) {
    bool whole = true;
    for (std::int64_t l = 0; whole && l < p.k(); ++l) whole = is_whole(p.a(first + i, l));
    out.row_whole[static_cast<std::size_t>(i)] = static_cast<char>(whole);
    any_whole = any_whole || whole;
  }
  std::vector<Wide<T>> row(cols);
  std::vector<double> absolute(cols);
  for (std::int64_t l = 0; l < p.k(); ++l) {
    for (std::size_t j = 0; j < cols; ++j) {
      const T b = p.b(l, static_cast<std::int64_t>(j));
      row[j] = b;
      absolute[j] = std::fabs(static_cast<double>(b));
      if (any_whole) out.col_whole[j] = static_cast<char>(out.col_whole[j] & char{is_whole(b)});
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      const T element = p.a(first + i, l);
      const Wide<T> a = element;
      const double a_absolute = std::fabs(static_cast<double>(element));
      Wide<T>* sums = out.sums.data() + static_cast<std::size_t>(i) * cols;
      double* magnitudes = out.magnitudes.data() + static_cast<std::size_t>(i) * cols;
      for (std::size_t j = 0; j < cols; ++j) sums[j] += a * row[j];
      for (std::size_t j = 0; j < cols; ++j) magnitudes[j] += a_absolute * absolute[j];
    }
  }
  return out;
}

// The bound of one element's error. `product` is its |A|·|B|, `added` its |β|·|C0|.
template <class T>
struct Bound {
  double growth, count, alpha;
  bool scales_whole;

  Bound(const Arguments& arguments, const Problem<T>& p)
      : growth(rounding_growth(arguments, unit)),
        count(static_cast<double>(p.k()) + 3),
        alpha(std::fabs(static_cast<double>(p.alpha))),
        scales_whole(is_whole(p.alpha) && is_whole(p.beta)) {}

  double operator()(double product, double added, double value, bool whole) const {
    const double magnitude = (alpha * product + added) * (1 + count * 0x1p-52);
    // Sums of whole numbers whose magnitudes stay within the significand round nowhere.
    if (whole && scales_whole && alpha * product + added <= std::ldexp(1.0, limits::digits)) return 0;
    // A partial sum may overflow or not, as the order of the sum has it.
    if (std::max(product, magnitude) > static_cast<double>(limits::max()))
      return std::numeric_limits<double>::infinity();
    const double reference_error =
        magnitude * count * static_cast<double>(std::numeric_limits<Wide<T>>::epsilon() / 2) +
        std::fabs(value) * 0x1p-53;
    const double underflow = count * (alpha + 1) * static_cast<double>(limits::denorm_min());
    return growth * magnitude + reference_error + underflow;
  }

 private:
  using limits = std::numeric_limits<T>;
  static constexpr double unit = static_cast<double>(limits::epsilon()) / 2;
};

template <class T>
void reference_of_reals(const Arguments& arguments, std::int64_t first, std::int64_t last,
                        Expected& expected) {
  constexpr std::int64_t at_a_time = 16;
  const auto p = Problem<T>::of(arguments);
  const Bound<T> bound(arguments, p);
  for (std::int64_t i0 = first; i0 < last; i0 += at_a_time) {
    const Sums<T> sums = sum_rows(p, i0, std::min(at_a_time, last - i0));
    std::size_t at = 0;
    for (std::int64_t i = 0; i < sums.rows; ++i)
      for (std::int64_t j = 0; j < sums.cols; ++j, ++at) {
        const T c0 = p.beta == T{0} ? T{0} : p.c0(i0 + i, j);
        Wide<T> value = p.alpha * sums.sums[at];
        if (p.beta != T{0}) value += Wide<T>{p.beta} * c0;
        const auto rounded = static_cast<double>(value);
        const bool whole = sums.row_whole[static_cast<std::size_t>(i)] != 0 &&
                           sums.col_whole[static_cast<std::size_t>(j)] != 0 && is_whole(c0);
        const double added = std::fabs(static_cast<double>(p.beta) * static_cast<double>(c0));
        expected.value.push_back(rounded);
        expected.bound.push_back(bound(sums.magnitudes[at], added, rounded, whole));
      }
  }
}

void reference_of_integers(const Arguments& arguments, std::int64_t first, std::int64_t last,
                           Expected& expected) {
  const auto p = Problem<std::int32_t>::of(arguments);
  std::vector<std::int32_t> sums(static_cast<std::size_t>(p.n()));
  for (std::int64_t i = first; i < last; ++i) {
    sums.assign(sums.size(), 0);
    for (std::int64_t l = 0; l < p.k(); ++l)
      for (std::int64_t j = 0; j < p.n(); ++j) {
        auto& sum = sums[static_cast<std::size_t>(j)];
        sum = multiply_add(p.a(i, l), p.b(l, j), sum);
      }
    for (std::int64_t j = 0; j < p.n(); ++j) {
      expected.value.push_back(p.scaled(i, j, sums[static_cast<std::size_t>(j)]));
      expected.bound.push_back(0);
    }
  }
}

}  // namespace

double rounding_growth(const Arguments& arguments, double unit_roundoff) {
  constexpr double chance = 1e-6;
  const double count = static_cast<double>(arguments.dim("k")) + 3, u = unit_roundoff;
  const double elements =
      std::max(1.0, static_cast<double>(arguments.dim("m")) * static_cast<double>(arguments.dim("n")));
  const double lambda = std::sqrt(2 * std::log(2 * elements * count / chance)) / (1 - u);
  const double always = count * u < 1 ? count * u / (1 - count * u) : std::numeric_limits<double>::infinity();
  return std::min(always, std::expm1(lambda * std::sqrt(count) * u + count * u * u / (1 - u)));
}

void reference(const Arguments& arguments, std::int64_t first, std::int64_t last, Expected& expected) {
  switch (arguments.element()) {
    case Element::f32:
      return reference_of_reals<float>(arguments, first, last, expected);
    case Element::f64:
      return reference_of_reals<double>(arguments, first, last, expected);
    case Element::i32:
      return reference_of_integers(arguments, first, last, expected);
    default:
      throw Error(Error::Kind::internal, "no reference for this element");
  }
}

}  // namespace tessera::matmul
