// SPDX-License-Identifier: Apache-2.0
// Products of unequal sizes, or anywhere, for programs whose matrices lie in a GPU's memory, in the order of
// a stream of theirs. The list itself, and the addresses in it, are the host's and need not stay. Installed:
// for programs.
#pragma once
#include "group.hpp"
#include "tessera/run/enqueue.hpp"

namespace tessera::matmul_batch {

namespace detail {
std::size_t group_workspace_bytes(std::span<const AnyProduct> products, const Options& options);
std::string enqueue_group(void* stream, std::span<const AnyProduct> products, const Options& options,
                          const Workspace& workspace);
}  // namespace detail

// As multiply_group() has it, on what matmul::enqueue() says of memory, bits, stream, workspace and
// Options. A GPU whose tensor cores do not serve them takes one after another. Returns how: "cluster, one
// launch". A graph that notes the call down keeps the list with it.
template <class T, class Out = T, class TB = T>
std::string enqueue_group(void* stream, std::span<const std::type_identity_t<Product<T, Out, TB>>> products,
                          const Options& options = {}, const Workspace& workspace = {}) {
  return detail::enqueue_group(stream, detail::any(products), options, workspace);
}

// What the same call needs of a workspace of the caller's.
template <class T, class Out = T, class TB = T>
std::size_t group_workspace_bytes(std::span<const std::type_identity_t<Product<T, Out, TB>>> products,
                                  const Options& options = {}) {
  return detail::group_workspace_bytes(detail::any(products), options);
}

}  // namespace tessera::matmul_batch
