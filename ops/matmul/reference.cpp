// SPDX-License-Identifier: Apache-2.0
// The product in higher precision: floats in double, doubles in pairs of doubles.
#include <algorithm>
#include <vector>
#include "check_vectors.hpp"
#include "checking.hpp"
#include "rounding.hpp"

namespace tessera::matmul {
namespace {

// Some rows of C, while B passes by in square blocks that stay in the first cache.
template <class T>
class Sums {
 public:
  Sums(const Problem<T>& p, std::span<const std::int64_t> rows)
      : p_(p),
        rows_(rows),
        stride_((p.n() + tile_side - 1) / tile_side * tile_side),
        high_(rows.size() * static_cast<std::size_t>(stride_)),
        low_(is_float ? 0 : high_.size()),
        magnitude_(high_.size()),
        a_(rows.size() * tile_side),
        b_(tile_side * tile_side),
        row_whole_(rows.size()),
        col_whole_(static_cast<std::size_t>(stride_), 1) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      bool whole = true;
      for (std::int64_t l = 0; whole && l < p.k(); ++l) whole = is_whole(p.a(rows[r], l));
      row_whole_[r] = static_cast<char>(whole);
      any_whole_ = any_whole_ || whole;
    }
    for (std::int64_t l = 0; l < p.k(); l += tile_side) add(l, std::min(tile_side, p.k() - l));
  }

  Wide<T> sum(std::size_t r, std::int64_t j) const {
    if constexpr (is_float) return high_[at(r, j)];
    else return static_cast<long double>(high_[at(r, j)]) + static_cast<long double>(low_[at(r, j)]);
  }
  double magnitude(std::size_t r, std::int64_t j) const { return magnitude_[at(r, j)]; }
  bool whole(std::size_t r, std::int64_t j) const {
    return row_whole_[r] != 0 && col_whole_[static_cast<std::size_t>(j)] != 0;
  }

 private:
  static constexpr bool is_float = std::is_same_v<T, float>;

  std::size_t at(std::size_t r, std::int64_t j) const {
    return r * static_cast<std::size_t>(stride_) + static_cast<std::size_t>(j);
  }

  void add(std::int64_t l, std::int64_t depth) {
    for (std::size_t r = 0; r < rows_.size(); ++r)
      for (std::int64_t d = 0; d < depth; ++d)
        a_[r * tile_side + static_cast<std::size_t>(d)] = p_.a(rows_[r], l + d);
    for (std::int64_t j = 0; j < p_.n(); j += tile_side) {
      take_block(l, depth, j, std::min(tile_side, p_.n() - j));
      double* const low = is_float ? nullptr : low_.data() + j;
      add_tile(a_.data(), static_cast<std::int64_t>(rows_.size()), b_.data(), depth,
               {high_.data() + j, low, magnitude_.data() + j, stride_});
    }
  }

  // Along whichever of its directions B is contiguous.
  void take_block(std::int64_t l, std::int64_t depth, std::int64_t j, std::int64_t width) {
    if (!any_whole_ && p_.b.stride[1] == 1) {
      for (std::int64_t d = 0; d < depth; ++d) std::copy_n(&p_.b(l + d, j), width, b_.data() + d * tile_side);
      return;
    }
    const auto take = [&](std::int64_t d, std::int64_t w) {
      const T value = p_.b(l + d, j + w);
      b_[static_cast<std::size_t>(d * tile_side + w)] = value;
      if (any_whole_ && !is_whole(value)) col_whole_[static_cast<std::size_t>(j + w)] = 0;
    };
    if (p_.b.stride[0] < p_.b.stride[1])
      for (std::int64_t w = 0; w < width; ++w)
        for (std::int64_t d = 0; d < depth; ++d) take(d, w);
    else
      for (std::int64_t d = 0; d < depth; ++d)
        for (std::int64_t w = 0; w < width; ++w) take(d, w);
  }

  const Problem<T>& p_;
  std::span<const std::int64_t> rows_;
  std::int64_t stride_;
  std::vector<double> high_, low_, magnitude_, a_, b_;
  std::vector<char> row_whole_,
      col_whole_;           // nothing but whole numbers in this row of A, in this column of B
  bool any_whole_ = false;  // else nobody asks about the columns
};

template <class T>
void reference_of_reals(const Arguments& arguments, std::span<const std::int64_t> rows, Data data,
                        Expected& expected) {
  constexpr std::size_t at_a_time = 16;
  const auto p = Problem<T>::of(arguments);
  const Bound<T> bound(arguments, p, data);
  for (std::size_t done = 0; done < rows.size(); done += at_a_time) {
    const auto some = rows.subspan(done, std::min(at_a_time, rows.size() - done));
    const Sums<T> sums(p, some);
    for (std::size_t r = 0; r < some.size(); ++r)
      for (std::int64_t j = 0; j < p.n(); ++j)
        bound.append(some[r], j, sums.sum(r, j), sums.magnitude(r, j), sums.whole(r, j), expected);
  }
}

void reference_of_integers(const Arguments& arguments, std::span<const std::int64_t> rows,
                           Expected& expected) {
  const auto p = Problem<std::int32_t>::of(arguments);
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
    }
  }
}

}  // namespace

void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data data,
               Expected& expected) {
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
