// SPDX-License-Identifier: Apache-2.0
// A large product checked in O(n²) operations: C·x must be α·A·(B·x) + β·C0·x for every x.
//
// What this finds are rows to look at, so a row suspected in vain costs little, and every doubt is
// resolved that way.
#include <algorithm>
#include <cmath>
#include <limits>
#include "checking.hpp"
#include "matmul.hpp"
#include "tessera/core/parallel.hpp"
#include "tessera/core/random.hpp"

namespace tessera::matmul {
namespace {

void for_each_row(std::int64_t rows, const std::function<void(std::int64_t)>& work) {
  const int parts = static_cast<int>(std::clamp<std::int64_t>(rows, 1, host_threads()));
  parallel(parts, [&](int part) {
    for (std::int64_t i = rows * part / parts; i < rows * (part + 1) / parts; ++i) work(i);
  });
}

// rows × cols, row-major.
template <class W>
struct Table {
  Table(std::int64_t rows, std::int64_t columns)
      : cols(columns), values(static_cast<std::size_t>(rows * columns)) {}
  W* row(std::int64_t i) { return values.data() + i * cols; }
  const W* row(std::int64_t i) const { return values.data() + i * cols; }
  std::int64_t cols;
  std::vector<W> values;
};

template <class T, class W>
Table<W> product(const Matrix<T>& matrix, const Table<W>& x) {
  Table<W> out(matrix.rows(), x.cols);
  for_each_row(matrix.rows(), [&](std::int64_t i) {
    W* sums = out.row(i);
    for (std::int64_t l = 0; l < matrix.cols(); ++l) {
      const W value = static_cast<W>(matrix(i, l));
      const W* row = x.row(l);
      for (std::int64_t g = 0; g < x.cols; ++g) sums[g] += value * row[g];
    }
  });
  return out;
}

// Columns are dealt to groups, and each group has a vector of its own: fewer honest errors then add up
// to hide a wrong element.
constexpr std::int64_t groups = 16;

template <class W>
struct Folded {
  Table<W> sums;        // of each group's columns, with random signs
  Table<double> norms;  // L2, of each group's columns
};

// A column of each group at a time: without a remainder to compute, compilers make vectors of it.
template <class T, class W>
void fold_row(const Matrix<T>& matrix, std::int64_t i, const W* signs, W* sums, double* norms) {
  for (std::int64_t j0 = 0; j0 < matrix.cols(); j0 += groups) {
    const std::int64_t count = std::min(groups, matrix.cols() - j0);
    const auto add = [&](std::int64_t g) {
      const auto value = matrix(i, j0 + g);
      sums[g] += signs[j0 + g] * value;
      norms[g] += static_cast<double>(value) * static_cast<double>(value);
    };
    if (count == groups)
      for (std::int64_t g = 0; g < groups; ++g) add(g);
    else
      for (std::int64_t g = 0; g < count; ++g) add(g);
  }
  for (std::int64_t g = 0; g < groups; ++g) norms[g] = std::sqrt(norms[g]);
}

template <class T, class W>
Folded<W> fold(const Matrix<T>& matrix, const std::vector<W>& signs) {
  Folded<W> out{Table<W>(matrix.rows(), groups), Table<double>(matrix.rows(), groups)};
  for_each_row(matrix.rows(),
               [&](std::int64_t i) { fold_row(matrix, i, signs.data(), out.sums.row(i), out.norms.row(i)); });
  return out;
}

// Of each row, the largest ratio of |C·x - α·A·(B·x) - β·C0·x| to the L2 norm of the bounds of what it
// adds up, γ·(|α|·|A|·|B| + |β|·|C0|); the triangle inequality makes that norm an O(n²) matter too.
template <class T>
std::vector<double> residual_ratios(const Arguments& arguments, std::uint64_t seed) {
  using W = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  const auto p = Problem<T>::of(arguments);
  const double growth =
      rounding_growth(arguments, static_cast<double>(std::numeric_limits<T>::epsilon()) / 2);
  Random random(seed);
  std::vector<W> signs(static_cast<std::size_t>(p.n()));
  for (W& sign : signs) sign = (random.next() & 1) != 0 ? W{1} : W{-1};
  const auto b = fold(p.b, signs), c = fold(p.c, signs);
  std::vector<double> ratios(static_cast<std::size_t>(p.m()));
  for_each_row(p.m(), [&](std::int64_t i) {
    double norms[groups] = {}, c0_norms[groups] = {};
    W sums[groups] = {}, c0_sums[groups] = {};
    for (std::int64_t l = 0; l < p.k(); ++l) {
      const T value = p.a(i, l);
      for (std::int64_t g = 0; g < groups; ++g) sums[g] += value * b.sums.row(l)[g];
      for (std::int64_t g = 0; g < groups; ++g)
        norms[g] += std::fabs(static_cast<double>(value)) * b.norms.row(l)[g];
    }
    if (p.beta != T{0}) fold_row(p.c0, i, signs.data(), c0_sums, c0_norms);
    double& worst = ratios[static_cast<std::size_t>(i)];
    for (std::int64_t g = 0; g < groups; ++g) {
      const W wanted = p.alpha * sums[g] + p.beta * c0_sums[g];
      const double residual = static_cast<double>(std::fabs(c.sums.row(i)[g] - wanted));
      const double bound = growth * (std::fabs(static_cast<double>(p.alpha)) * norms[g] +
                                     std::fabs(static_cast<double>(p.beta)) * c0_norms[g]);
      const double ratio = residual == 0 ? 0 : residual / bound;
      worst = ratio >= 0 ? std::max(worst, ratio) : std::numeric_limits<double>::infinity();
    }
  });
  return ratios;
}

// Rows beyond the bound, and, since honest errors are far below theirs, those that stand out most.
template <class T>
std::vector<std::int64_t> suspects_among_reals(const Arguments& arguments, std::uint64_t seed) {
  constexpr std::size_t always_looked_at = 8;
  const std::vector<double> ratios = residual_ratios<T>(arguments, seed);
  std::vector<std::int64_t> rows;
  for (std::size_t i = 0; i < ratios.size(); ++i)
    if (ratios[i] > 0) rows.push_back(static_cast<std::int64_t>(i));
  std::ranges::stable_sort(rows, std::ranges::greater{},
                           [&](std::int64_t i) { return ratios[static_cast<std::size_t>(i)]; });
  std::size_t kept = 0;
  while (kept < rows.size() &&
         (kept < always_looked_at || !(ratios[static_cast<std::size_t>(rows[kept])] <= 1)))
    ++kept;
  rows.resize(kept);
  return rows;
}

// Modulo 2^32 nothing is rounded. An error that is an odd multiple of 2^s vanishes against a random
// number with a chance of 2^(s-32), at most a half: 24 vectors leave 2^-24.
std::vector<std::int64_t> suspects_among_integers(const Arguments& arguments, std::uint64_t seed) {
  constexpr std::int64_t vectors = 24;
  const auto p = Problem<std::int32_t>::of(arguments);
  Random random(seed);
  Table<std::uint32_t> x(p.n(), vectors);
  for (auto& value : x.values) value = static_cast<std::uint32_t>(random.next() >> 32);
  const auto z = product(p.a, product(p.b, x)), c = product(p.c, x);
  const auto c0 = product(p.beta == 0 ? Matrix<const std::int32_t>{} : p.c0, x);
  const auto alpha = static_cast<std::uint32_t>(p.alpha), beta = static_cast<std::uint32_t>(p.beta);
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < p.m(); ++i)
    for (std::int64_t v = 0; v < vectors; ++v)
      if (c.row(i)[v] != alpha * z.row(i)[v] + (beta == 0 ? 0 : beta * c0.row(i)[v])) {
        rows.push_back(i);
        break;
      }
  return rows;
}

}  // namespace

std::vector<std::int64_t> suspect_rows(const Arguments& arguments, std::uint64_t seed) {
  switch (arguments.element()) {
    case Element::f32:
      return suspects_among_reals<float>(arguments, seed);
    case Element::f64:
      return suspects_among_reals<double>(arguments, seed);
    case Element::i32:
      return suspects_among_integers(arguments, seed);
    default:
      throw Error(Error::Kind::internal, "no check for this element");
  }
}

}  // namespace tessera::matmul
