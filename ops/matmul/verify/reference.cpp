// SPDX-License-Identifier: Apache-2.0
// The product in higher precision: floats in double, doubles in pairs of doubles.
#include <algorithm>
#include <span>
#include <vector>
#include "ops/matmul/gemm/operands.hpp"
#include "ops/matmul/verify/bounds.hpp"
#include "ops/matmul/verify/check_vectors.hpp"
#include "ops/matmul/operation/matmul_operation.hpp"

namespace tessera::matmul {
namespace {

// Computes some rows of C; B is read in square blocks that stay in the L1 cache.
template <class A, class B = A>
class Sums {
 public:
  Sums(const Matrix<const A>& a, const Matrix<const B>& b, std::span<const std::int64_t> rows)
      : left_(a),
        right_(b),
        rows_(rows),
        stride_((b.cols() + tile_side - 1) / tile_side * tile_side),
        high_(rows.size() * static_cast<std::size_t>(stride_)),
        error_(one_double ? 0 : high_.size()),
        magnitude_(high_.size()),
        a_(rows.size() * tile_side),
        b_(tile_side * tile_side),
        row_whole_(rows.size()),
        col_whole_(static_cast<std::size_t>(stride_), 1) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      bool whole = true;
      for (std::int64_t l = 0; whole && l < a.cols(); ++l) whole = is_whole(widened(a(rows[r], l)));
      row_whole_[r] = static_cast<char>(whole);
      any_whole_ = any_whole_ || whole;
    }
    for (std::int64_t l = 0; l < a.cols(); l += tile_side) add(l, std::min(tile_side, a.cols() - l));
  }

  Wide<A> sum(std::size_t r, std::int64_t j) const {
    if constexpr (one_double) return high_[at(r, j)];
    else return static_cast<long double>(high_[at(r, j)]) + static_cast<long double>(error_[at(r, j)]);
  }
  double magnitude(std::size_t r, std::int64_t j) const { return magnitude_[at(r, j)]; }
  bool whole(std::size_t r, std::int64_t j) const {
    return row_whole_[r] != 0 && col_whole_[static_cast<std::size_t>(j)] != 0;
  }

 private:
  static constexpr bool one_double = !std::is_same_v<A, double>;

  std::size_t at(std::size_t r, std::int64_t j) const {
    return r * static_cast<std::size_t>(stride_) + static_cast<std::size_t>(j);
  }

  void add(std::int64_t l, std::int64_t depth) {
    for (std::size_t r = 0; r < rows_.size(); ++r)
      for (std::int64_t d = 0; d < depth; ++d)
        a_[r * tile_side + static_cast<std::size_t>(d)] = widened(left_(rows_[r], l + d));
    for (std::int64_t j = 0; j < right_.cols(); j += tile_side) {
      take_block(l, depth, j, std::min(tile_side, right_.cols() - j));
      double* const error = one_double ? nullptr : error_.data() + j;
      add_tile(a_.data(), static_cast<std::int64_t>(rows_.size()), b_.data(), depth,
               {high_.data() + j, error, magnitude_.data() + j, stride_});
    }
  }

  // Reads B along its contiguous direction.
  void take_block(std::int64_t l, std::int64_t depth, std::int64_t j, std::int64_t width) {
    if (!any_whole_ && right_.stride[1] == 1) {
      for (std::int64_t d = 0; d < depth; ++d)
        std::transform(&right_(l + d, j), &right_(l + d, j) + width, b_.data() + d * tile_side, widened<B>);
      return;
    }
    const auto take = [&](std::int64_t d, std::int64_t w) {
      const double value = widened(right_(l + d, j + w));
      b_[static_cast<std::size_t>(d * tile_side + w)] = value;
      if (any_whole_ && !is_whole(value)) col_whole_[static_cast<std::size_t>(j + w)] = 0;
    };
    if (right_.stride[0] < right_.stride[1])
      for (std::int64_t w = 0; w < width; ++w)
        for (std::int64_t d = 0; d < depth; ++d) take(d, w);
    else
      for (std::int64_t d = 0; d < depth; ++d)
        for (std::int64_t w = 0; w < width; ++w) take(d, w);
  }

  const Matrix<const A> left_;
  const Matrix<const B> right_;
  std::span<const std::int64_t> rows_;
  std::int64_t stride_;
  std::vector<double> high_, error_, magnitude_, a_, b_;
  std::vector<char> row_whole_,
      col_whole_;           // true: this row of A, this column of B, has integers only
  bool any_whole_ = false;  // false: col_whole_ is not needed
};

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
                        Expected& expected, const Slack& slack) {
  const auto p = MixedProblem::of(arguments);
  const MixedBound bound(p, arguments, data, slack);
  with_factors(p, [&](const auto& a, const auto& b) {
    for_sums(a, b, rows, [&](std::int64_t i, std::int64_t j, double sum, double magnitude, bool whole) {
      bound.append(i, j, sum, magnitude, whole, expected);
    });
  });
}

// f32 with a bias or an activation is a mixed problem.
template <class T>
void reference_of_reals(const Arguments& arguments, std::span<const std::int64_t> rows, Data data,
                        Expected& expected, const Slack& slack) {
  const auto p = Problem<T>::of(arguments);
  const Bound<T> bound(arguments, p, data, slack);
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

void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data data, Expected& expected,
               const Slack& slack) {
  if (is_mixed(arguments)) return reference_of_mixed(arguments, rows, data, expected, slack);
  switch (arguments.element()) {
    case Element::f32:
      return reference_of_reals<float>(arguments, rows, data, expected, slack);
    case Element::f64:
      return reference_of_reals<double>(arguments, rows, data, expected, slack);
    case Element::i32:
      return reference_of_integers(arguments, rows, expected);
    default:
      throw Error(Error::Kind::internal, "no reference for this element");
  }
}

}  // namespace tessera::matmul
