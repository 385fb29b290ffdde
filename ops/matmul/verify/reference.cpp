// SPDX-License-Identifier: Apache-2.0
// The product in higher precision: floats in double, doubles in pairs of doubles.
#include <algorithm>
#include <vector>
#include "ops/matmul/problem/elements.hpp"
#include "ops/matmul/problem/matmul_operation.hpp"
#include "ops/matmul/problem/typed_operands.hpp"
#include "ops/matmul/verify/bounds.hpp"
#include "ops/matmul/verify/row_sums.hpp"

namespace tessera::matmul {
namespace {

// Calls append(i, j, sum, magnitude, whole) for the elements of some rows of C.
template <class A, class B, class Append>
void for_sums(const Matrix<const A>& a, const Matrix<const B>& b, std::span<const std::int64_t> rows,
              const Append& append) {
  constexpr std::size_t at_a_time = 16;
  for (std::size_t done = 0; done < rows.size(); done += at_a_time) {
    const auto some = rows.subspan(done, std::min(at_a_time, rows.size() - done));
    const Sums<A, B> sums(a, b, some);
    for (std::size_t r = 0; r < some.size(); ++r)
      for (std::int64_t j = 0; j < b.cols(); ++j)
        append(some[r], j, sums.sum(r, j), sums.magnitude(r, j), sums.whole(r, j));
  }
}

void reference_of_mixed(const Arguments& arguments, std::span<const std::int64_t> rows, Data data,
                        Expected& expected) {
  const auto p = MixedProblem::of(arguments);
  const MixedBound bound(p, arguments, data);
  with_factors(p, [&](const auto& a, const auto& b) {
    for_sums(a, b, rows, [&](std::int64_t i, std::int64_t j, double sum, double magnitude, bool whole) {
      bound.append(i, j, sum, magnitude, whole, expected);
    });
  });
}

// f32 with a bias or an activation is a mixed problem.
template <class T>
void reference_of_reals(const Arguments& arguments, std::span<const std::int64_t> rows, Data data,
                        Expected& expected) {
  const auto p = Problem<T>::of(arguments);
  const Bound<T> bound(arguments, p, data);
  const EpilogueBound<double> after(arguments);
  for_sums(p.a, p.b, rows, [&](std::int64_t i, std::int64_t j, Wide<T> sum, double magnitude, bool whole) {
    bound.append(i, j, sum, magnitude, whole, expected);
    after.apply(i, j, expected);
  });
}

void reference_of_integers(const Arguments& arguments, std::span<const std::int64_t> rows,
                           Expected& expected) {
  const auto p = Problem<std::int32_t>::of(arguments);
  const EpilogueBound<std::int32_t> after(arguments);
  std::vector<std::int32_t> sums(static_cast<std::size_t>(p.n()));
  for (const std::int64_t i : rows) {
    sums.assign(sums.size(), 0);
    for (std::int64_t l = 0; l < p.k(); ++l)
      for (std::int64_t j = 0; j < p.n(); ++j) {
        auto& sum = sums[static_cast<std::size_t>(j)];
        sum = multiply_add(p.a(i, l), p.b(l, j), sum);
      }
    for (std::int64_t j = 0; j < p.n(); ++j) {
      expected.value.push_back(p.scaled(i, j, sums[static_cast<std::size_t>(j)]));
      expected.bound.push_back(0);
      expected.beyond.push_back(Expected::nothing);
      after.apply(i, j, expected);
    }
  }
}

}  // namespace

void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data data,
               Expected& expected) {
  if (is_mixed(arguments)) return reference_of_mixed(arguments, rows, data, expected);
  switch (arguments.element()) {
    case Element::f32:
      return reference_of_reals<float>(arguments, rows, data, expected);
    case Element::f64:
      return reference_of_reals<double>(arguments, rows, data, expected);
    case Element::i32:
      return reference_of_integers(arguments, rows, expected);
    default:
      throw Error(Error::Kind::internal, "no reference for this element");
  }
}

}  // namespace tessera::matmul
