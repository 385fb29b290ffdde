// SPDX-License-Identifier: Apache-2.0
#include "multiply.hpp"
#include "call.hpp"
#include "ops/matmul/call.hpp"

namespace tessera::matmul_batch::detail {

Outcome multiply_batch(const AnyBatch& a, const AnyBatch& b, const AnyBatch& c, const Options& options) {
  const ArrayView out = result_of(c);
  // What is added is set aside: C is written, and poisoned before a check, while C0 is still needed.
  Array kept;
  ArrayView added;
  if (options.beta != 0)
    added = options.c0.data == nullptr ? matmul::set_aside(out, kept) : addend_of(options, out);
  Arguments arguments =
      batch_arguments(view_of("A", a), view_of("B", b), out, options, options.beta != 0 ? &added : nullptr);
  return run(the_batch(), arguments, options.request, options.check);
}

}  // namespace tessera::matmul_batch::detail
