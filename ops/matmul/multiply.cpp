// SPDX-License-Identifier: Apache-2.0
#include "multiply.hpp"
#include "call.hpp"

namespace tessera::matmul::detail {

Outcome multiply(const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c, const Options& options) {
  const ArrayView out = view_of("C", c);
  // What is added is set aside: C is written, and poisoned before a check, while C0 is still needed.
  Array kept;
  ArrayView added;
  if (options.beta != 0)
    added = options.c0.data == nullptr ? set_aside(out, kept) : addend_of(options, c.element, c.rows, c.cols);
  Arguments arguments =
      arguments_of(view_of("A", a), view_of("B", b), out, options, options.beta != 0 ? &added : nullptr);
  return run(the_product(), arguments, options.request, options.check);
}

}  // namespace tessera::matmul::detail
