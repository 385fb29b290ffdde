// SPDX-License-Identifier: Apache-2.0
#include "multiply.hpp"
#include <cstdio>

namespace tessera::matmul {
namespace {

template <class T>
ArrayView view_of(const char* name, const MatrixView<T>& matrix) {
  if (matrix.rows < 0 || matrix.cols < 0) throw Error(std::string(name) + " has a negative extent");
  const std::int64_t step = matrix.leading_dimension == 0 ? matrix.cols : matrix.leading_dimension;
  if (step < matrix.cols)
    throw Error(std::string(name) + " has the leading dimension " + std::to_string(step) + ", but rows of " +
                std::to_string(matrix.cols));
  if (matrix.data == nullptr && matrix.rows != 0 && matrix.cols != 0)
    throw Error(std::string(name) + " has no data");
  using Plain = std::remove_const_t<T>;
  return {const_cast<Plain*>(matrix.data), element_of<Plain>, {matrix.rows, matrix.cols}, {step, 1}};
}

std::string exactly(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

const Operation& the_operation() {
  const Operation* operation = find_operation("matmul");
  if (operation == nullptr) throw Error(Error::Kind::internal, "the matrix product is not linked");
  return *operation;
}

}  // namespace

template <class T>
Outcome multiply(ConstMatrixView<T> a, ConstMatrixView<T> b, MatrixView<T> c, const Options& options) {
  const Operation& operation = the_operation();
  std::map<std::string, ArrayView> inputs{{"A", view_of("A", a)}, {"B", view_of("B", b)}};
  const ArrayView out = view_of("C", c);
  // What is added is set aside: C is written, and poisoned before a check, while C0 is still needed.
  Array c0;
  if (options.beta != 0) {
    c0 = packed_copy(out);
    inputs["C0"] = c0.view();
  }
  Arguments arguments(operation.signature, element_of<T>, std::move(inputs),
                      {{"alpha", exactly(options.alpha)},
                       {"beta", exactly(options.beta)},
                       {"op-a", options.transpose_a ? "transpose" : "none"},
                       {"op-b", options.transpose_b ? "transpose" : "none"}});
  arguments.set_array("C", out);
  return run(operation, arguments, options.request, options.check);
}

template Outcome multiply(ConstMatrixView<float>, ConstMatrixView<float>, MatrixView<float>, const Options&);
template Outcome multiply(ConstMatrixView<double>, ConstMatrixView<double>, MatrixView<double>,
                          const Options&);
template Outcome multiply(ConstMatrixView<std::int32_t>, ConstMatrixView<std::int32_t>,
                          MatrixView<std::int32_t>, const Options&);

}  // namespace tessera::matmul
