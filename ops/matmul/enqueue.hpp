// SPDX-License-Identifier: Apache-2.0
// The product for programs whose matrices lie in a GPU's memory, in the order of a stream of theirs.
// Installed: for programs.
#pragma once
#include "multiply.hpp"
#include "tessera/run/enqueue.hpp"

namespace tessera::matmul {

namespace detail {
std::size_t workspace_bytes(const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c,
                            const Options& options);
Plan enqueue(void* stream, const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c, const Options& options,
             const Workspace& workspace);
}  // namespace detail

// As multiply() has it, but all that is pointed to lies in the memory of one GPU, where the
// work is done after whatever the stream (a cudaStream_t, null for the default one) holds already; C is there
// once the stream has come so far. Nothing waits, nothing is copied from or to the host, and no memory is
// allocated once calls repeat themselves, so a CUDA graph may note the call down. β·C is added in place.
// Returns what was chosen, as multiply() would: by `tune`'s findings or the sizes; a C without elements
// leaves it empty.
//
// The bits are multiply()'s where the arrays lie as it would place them: addresses multiples of 128 bytes, no
// gaps between lines (or gaps with which, as without, lines begin at multiples of 128 bytes), C's rows one
// after another. Else the plan, and so the order of a sum, may be another; each call repeats its own bits
// from run to run. The matrices may also lie in host memory: the stream is null then, and the work done on
// return.
//
// Throws as multiply() does, and where something lies elsewhere, the stream is another GPU's, the workspace
// is smaller than workspace_bytes() says, or Options ask for a check.
template <class T, class Out = T, class TB = T>
Plan enqueue(void* stream, ConstMatrixView<T> a, ConstMatrixView<TB> b, MatrixView<Out> c,
             const Options& options = {}, const Workspace& workspace = {}) {
  return detail::enqueue(stream, detail::any(a), detail::any(b), detail::any(c), options, workspace);
}

// What the same call needs of a workspace of the caller's.
template <class T, class Out = T, class TB = T>
std::size_t workspace_bytes(ConstMatrixView<T> a, ConstMatrixView<TB> b, MatrixView<Out> c,
                            const Options& options = {}) {
  return detail::workspace_bytes(detail::any(a), detail::any(b), detail::any(c), options);
}

}  // namespace tessera::matmul
