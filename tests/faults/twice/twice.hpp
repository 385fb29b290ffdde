// SPDX-License-Identifier: Apache-2.0
// An operation for the tests alone, B = 2·A, with one right rung and others that are wrong, each in its
// own way: so that the checks, the exit codes and the messages are seen to work.
#pragma once
#include "tessera/core/operation/arguments.hpp"
#include "tessera/core/array/element.hpp"
#include "tessera/core/device/view.hpp"

namespace tessera::twice {
inline namespace TESSERA_UNIT {

template <class T>
struct Problem {
  using Elements = Types<float, double>;

  Matrix<const T> a;
  Matrix<T> b;

  SIMT std::int64_t m() const { return b.rows(); }
  SIMT std::int64_t n() const { return b.cols(); }

  static Problem of(const Arguments& arguments) {
    Problem p;
    p.a = arguments.view<const T, 2>("A");
    p.b = arguments.view<T, 2>("B");
    return p;
  }
};

// Where the wrong rungs go wrong, if B reaches that far.
inline constexpr std::int64_t wrong_row = 1, wrong_column = 2;

}  // namespace TESSERA_UNIT
}  // namespace tessera::twice
