// SPDX-License-Identifier: Apache-2.0
#include "enqueue.hpp"
#include "call.hpp"
#include "tessera/core/zeroed_front.hpp"

namespace tessera::matmul_batch {
namespace {

// Its workspace holds operands that are written before they are read.
[[maybe_unused]] const bool front = (register_zeroed_front("matmul_batch", "cluster", 0), true);

Arguments arguments_in_place(const detail::AnyBatch& a, const detail::AnyBatch& b, const detail::AnyBatch& c,
                             const Options& options) {
  if (options.check) throw Error("what is enqueued cannot be checked: nobody waits for it");
  const ArrayView out = result_of(c);
  ArrayView added = out;
  if (options.beta != 0 && options.c0.data != nullptr) added = addend_of(options, out);
  return batch_arguments(view_of("A", a), view_of("B", b), out, options,
                         options.beta != 0 ? &added : nullptr);
}

}  // namespace

namespace detail {

std::size_t workspace_bytes(const AnyBatch& a, const AnyBatch& b, const AnyBatch& c, const Options& options) {
  const Arguments there = arguments_in_place(a, b, c, options);
  if (there.array("C").count() == 0) return 0;
  return tessera::workspace_bytes(choose_in_place(the_batch(), there, options.request), there);
}

Plan enqueue(void* stream, const AnyBatch& a, const AnyBatch& b, const AnyBatch& c, const Options& options,
             const Workspace& workspace) {
  const Arguments there = arguments_in_place(a, b, c, options);
  if (there.array("C").count() == 0) return {};
  Plan plan = choose_in_place(the_batch(), there, options.request);
  tessera::enqueue(plan, there, stream, workspace, "C0");
  return plan;
}

}  // namespace detail
}  // namespace tessera::matmul_batch
