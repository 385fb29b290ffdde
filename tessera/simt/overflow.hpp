// SPDX-License-Identifier: Apache-2.0
// Turns a GPU thread's stack overflow, a fault in the gap below its stack, into a return to the
// OS thread's own stack. Every other fault goes to whoever handled faults before.
#pragma once
#include <csetjmp>
#include <csignal>
#include <memory>
#include "tessera/simt/stack.hpp"

namespace tessera::simt {

// Watches the calling OS thread for as long as it lives.
class OverflowWatch {
 public:
  explicit OverflowWatch(const Stacks& stacks);
  ~OverflowWatch();
  OverflowWatch(const OverflowWatch&) = delete;
  OverflowWatch& operator=(const OverflowWatch&) = delete;

  // To be filled by sigsetjmp before a fiber is entered.
  sigjmp_buf& way_back() { return way_back_; }
  bool caused_by(const void* address) const noexcept { return stacks_.in_gap(address); }

 private:
  const Stacks& stacks_;
  std::unique_ptr<char[]> handler_stack_;
  stack_t before_ = {};
  sigjmp_buf way_back_;
};

}  // namespace tessera::simt
