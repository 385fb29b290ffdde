// SPDX-License-Identifier: Apache-2.0
#include "tessera/simt/fiber.hpp"
#include <boost/context/detail/fcontext.hpp>
#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace tessera::simt {
namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

struct Jump {
  Fiber* from;
  Fiber* to;
};

// Only the side that was jumped to learns where the other stopped.
Fiber& arrive(transfer_t transfer) {
  const Jump jump = *static_cast<const Jump*>(transfer.data);
  jump.from->context = transfer.fctx;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(jump.to->fake_stack, nullptr, nullptr);
#endif
  return *jump.to;
}

void begin(transfer_t transfer) {
  Fiber& self = arrive(transfer);
  self.entry(self.argument);
  __builtin_unreachable();
}

}  // namespace

void prepare(Fiber& fiber) {
  fiber.context = make_fcontext(fiber.stack.top(), fiber.stack.bytes, begin);
  fiber.fake_stack = nullptr;
}

void switch_to(Fiber& from, Fiber& to) {
  Jump jump{&from, &to};
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack.low, to.stack.bytes);
#endif
  arrive(jump_fcontext(to.context, &jump));
}

void leave(Fiber& from, Fiber& to) {
  Jump jump{&from, &to};
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(nullptr, to.stack.low, to.stack.bytes);
#endif
  jump_fcontext(to.context, &jump);
  __builtin_unreachable();
}

Fiber this_os_thread() {
  Fiber fiber;
#if defined(__SANITIZE_ADDRESS__)
  pthread_attr_t attributes;
  void* low = nullptr;
  std::size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_destroy(&attributes);
  }
  fiber.stack = {static_cast<char*>(low), bytes};
#endif
  return fiber;
}

}  // namespace tessera::simt
