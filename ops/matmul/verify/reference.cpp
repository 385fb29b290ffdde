// SPDX-License-Identifier: Apache-2.0
// Products of few bits: their reference, and the rows of a large one to look at.
#include <algorithm>
#include <cmath>
#include <vector>
#include "ops/matmul/problem/elements.hpp"
#include "ops/matmul/problem/matmul_operation.hpp"
#include "ops/matmul/problem/typed_operands.hpp"
#include "ops/matmul/verify/bounds.hpp"
#include "ops/matmul/verify/row_sums.hpp"
#include "tessera/core/parallel.hpp"
#include "tessera/core/random.hpp"

namespace tessera::matmul {

void mixed_reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data data,
                     Expected& expected) {
  constexpr std::size_t at_a_time = 16;
  const auto p = MixedProblem::of(arguments);
  const MixedBound bound(p, arguments, data);
  with_factors(p, [&](const auto& a, const auto& b) {
    using A = std::remove_cvref_t<decltype(*a.data)>;
    using B = std::remove_cvref_t<decltype(*b.data)>;
    for (std::size_t done = 0; done < rows.size(); done += at_a_time) {
      const auto some = rows.subspan(done, std::min(at_a_time, rows.size() - done));
      const Sums<A, B> sums(a, b, some);
      for (std::size_t r = 0; r < some.size(); ++r)
        for (std::int64_t j = 0; j < p.n; ++j)
          bound.append(some[r], j, sums.sum(r, j), sums.magnitude(r, j), sums.whole(r, j), expected);
    }
  });
}

bool sampled_only(const Arguments& arguments) {
  if (!is_mixed(arguments)) return !is_plain(arguments);
  return arguments.text("activation") != "none" || arguments.array("C").element == Element::i8;
}

// The product in higher precision: floats in double, doubles in pairs of doubles.

namespace {

template <class T>
void reference_of_reals(const Arguments& arguments, std::span<const std::int64_t> rows, Data data,
                        Expected& expected) {
  constexpr std::size_t at_a_time = 16;
  const auto p = Problem<T>::of(arguments);
  const Bound<T> bound(arguments, p, data);
  const EpilogueBound<double> after(
      arguments);  // f32 with a bias or an activation has its reference elsewhere
  for (std::size_t done = 0; done < rows.size(); done += at_a_time) {
    const auto some = rows.subspan(done, std::min(at_a_time, rows.size() - done));
    const Sums<T> sums(p.a, p.b, some);
    for (std::size_t r = 0; r < some.size(); ++r)
      for (std::int64_t j = 0; j < p.n(); ++j) {
        bound.append(some[r], j, sums.sum(r, j), sums.magnitude(r, j), sums.whole(r, j), expected);
        after.apply(some[r], j, expected);
      }
  }
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
  if (is_mixed(arguments)) return mixed_reference(arguments, rows, data, expected);
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
