// SPDX-License-Identifier: Apache-2.0
// Many products for programs whose matrices lie in a GPU's memory, in the order of a stream of theirs.
// Installed: for programs.
#pragma once
#include "multiply.hpp"
#include "tessera/run/enqueue.hpp"

namespace tessera::matmul_batch {

namespace detail {
std::size_t workspace_bytes(const AnyBatch& a, const AnyBatch& b, const AnyBatch& c, const Options& options);
Plan enqueue(void* stream, const AnyBatch& a, const AnyBatch& b, const AnyBatch& c, const Options& options,
             const Workspace& workspace);
}  // namespace detail

// As multiply_batch() has it, on what matmul::enqueue() says of memory, bits, stream, workspace and
// Options.
template <class T, class Out = T, class TB = T>
Plan enqueue(void* stream, ConstBatchView<T> a, ConstBatchView<TB> b, BatchView<Out> c,
             const Options& options = {}, const Workspace& workspace = {}) {
  return detail::enqueue(stream, detail::any(a), detail::any(b), detail::any(c), options, workspace);
}

// What the same call needs of a workspace of the caller's.
template <class T, class Out = T, class TB = T>
std::size_t workspace_bytes(ConstBatchView<T> a, ConstBatchView<TB> b, BatchView<Out> c,
                            const Options& options = {}) {
  return detail::workspace_bytes(detail::any(a), detail::any(b), detail::any(c), options);
}

}  // namespace tessera::matmul_batch
