// SPDX-License-Identifier: Apache-2.0
// A stack and where execution stopped on it. Switching is Boost.Context's bare jump: no unwinding,
// no signal masks. AddressSanitizer is told of every switch.
#pragma once
#include "tessera/simt/stack.hpp"

namespace tessera::simt {

struct Fiber {
  Stack stack;
  void (*entry)(void*) = nullptr;
  void* argument = nullptr;
  void* context = nullptr;
  void* fake_stack = nullptr;  // AddressSanitizer's
};

// When first switched to, the fiber calls entry(argument), which must not return but leave.
void prepare(Fiber& fiber);
void switch_to(Fiber& from, Fiber& to);           // returns when somebody switches back
[[noreturn]] void leave(Fiber& from, Fiber& to);  // `from` will not be switched to again

// The fiber that stands for the calling OS thread.
Fiber this_os_thread();

}  // namespace tessera::simt
