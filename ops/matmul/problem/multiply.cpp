// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/problem/multiply.hpp"
#include "ops/matmul/kernels/ampere/mma_plan.hpp"
#include "ops/matmul/kernels/hopper/tile_plan.hpp"
#include "ops/matmul/kernels/simt/warp_plan.hpp"
#include "ops/matmul/problem/call_arguments.hpp"
#include "tessera/core/zeroed_front.hpp"

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

namespace tessera::matmul {

namespace {

// Counters come first in these variants' workspaces; each run leaves zeros in them.
[[maybe_unused]] const bool fronts = [] {
  constexpr std::size_t counter = sizeof(std::uint32_t);
  register_zeroed_front("matmul", "warp_tiles", std::size_t{most_warp_counters} * counter);
  register_zeroed_front("matmul", "tensor_cores", std::size_t{most_mma_counters} * counter);
  register_zeroed_front("matmul", "cluster", std::size_t{most_split_tiles} * counter);
  return true;
}();

Arguments arguments_in_place(const detail::AnyMatrix& a, const detail::AnyMatrix& b,
                             const detail::AnyMatrix& c, const Options& options) {
  if (options.check) throw Error("what is enqueued cannot be checked: nobody waits for it");
  const ArrayView out = view_of("C", c);
  ArrayView added = out;
  if (options.beta != 0 && options.c0.data != nullptr) added = addend_of(options, c.element, c.rows, c.cols);
  return arguments_of(view_of("A", a), view_of("B", b), out, options, options.beta != 0 ? &added : nullptr);
}

}  // namespace

namespace detail {

std::size_t workspace_bytes(const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c,
                            const Options& options) {
  const Arguments there = arguments_in_place(a, b, c, options);
  if (there.array("C").count() == 0) return 0;
  return tessera::workspace_bytes(choose_in_place(the_product(), there, options.request), there);
}

Plan enqueue(void* stream, const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c, const Options& options,
             const Workspace& workspace) {
  const Arguments there = arguments_in_place(a, b, c, options);
  if (there.array("C").count() == 0) return {};
  Plan plan = choose_in_place(the_product(), there, options.request);
  tessera::enqueue(plan, there, stream, workspace, "C0");
  return plan;
}

}  // namespace detail

}  // namespace tessera::matmul
