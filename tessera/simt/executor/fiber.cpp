// SPDX-License-Identifier: Apache-2.0
#include <boost/context/detail/fcontext.hpp>
#include <sys/mman.h>
#include <mutex>
#include <string>
#include "tessera/core/text/error.hpp"
#include "tessera/simt/executor/fiber.hpp"
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace tessera::simt {

namespace {

// The gap is as large as a stack, so that a frame with a large array does not skip it.
constexpr std::size_t gap_bytes = 64 << 10;
// Stack tops at the same offset in a page would all map to the same few sets of the L1 cache, so
// tops are staggered within one extra page.
constexpr std::size_t page_bytes = 4096, stagger_bytes = 320;
constexpr std::size_t usable_bytes = stack_bytes + page_bytes;
constexpr std::size_t pitch = gap_bytes + usable_bytes;

struct Pool {
  std::mutex mutex;
  std::vector<std::unique_ptr<Stacks>> idle;
};

Pool& pool() {
  static Pool the_pool;
  return the_pool;
}

}  // namespace

Stacks::~Stacks() {
  for (const Region& region : regions_) munmap(region.low, region.bytes);
}

void Stacks::reserve(std::size_t count) {
  if (count <= stacks_.size()) return;
  const std::size_t more = count - stacks_.size(), bytes = more * pitch;
  const auto fails = [](std::size_t n) {
    throw Error(Error::Kind::user,
                "the system gives no memory for the stacks of " + std::to_string(n) + " GPU threads");
  };
  stacks_.reserve(count);
  regions_.reserve(regions_.size() + 1);
  void* const low = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (low == MAP_FAILED) return fails(more);
  regions_.push_back({static_cast<char*>(low), bytes});
  for (std::size_t i = 0; i < more; ++i) {
    char* const usable = static_cast<char*>(low) + i * pitch + gap_bytes;
    if (mprotect(usable, usable_bytes, PROT_READ | PROT_WRITE) != 0) return fails(more);
    const std::size_t stagger = stacks_.size() * stagger_bytes % page_bytes / 64 * 64;
    stacks_.push_back({usable, usable_bytes - stagger});
  }
}

bool Stacks::in_gap(const void* address) const noexcept {
  for (const Region& region : regions_) {
    const auto offset = static_cast<std::size_t>(static_cast<const char*>(address) - region.low);
    if (address >= region.low && offset < region.bytes) return offset % pitch < gap_bytes;
  }
  return false;
}

void Stacks::forget_frames() {
#if defined(__SANITIZE_ADDRESS__)
  for (const Stack& stack : stacks_) __asan_unpoison_memory_region(stack.low, stack.bytes);
#endif
}

BorrowedStacks::BorrowedStacks(std::size_t count) {
  {
    const std::lock_guard lock(pool().mutex);
    if (!pool().idle.empty()) {
      stacks_ = std::move(pool().idle.back());
      pool().idle.pop_back();
    }
  }
  if (!stacks_) stacks_ = std::make_unique<Stacks>();
  stacks_->reserve(count);
}

BorrowedStacks::~BorrowedStacks() {
  const std::lock_guard lock(pool().mutex);
  try {
    pool().idle.push_back(std::move(stacks_));
  } catch (...) {  // no memory for the pool's entry: they are unmapped
  }
}

namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

struct Jump {
  Fiber* from;
  Fiber* to;
};

// Stores, in the fiber that was switched to, the context of the one that switched.
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
