// SPDX-License-Identifier: Apache-2.0
// Fibers and the stacks that GPU threads run on. An inaccessible guard gap below each stack makes an
// overflow fault at once instead of corrupting a neighbouring stack.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

namespace tessera::simt {

// AddressSanitizer makes frames several times larger.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr std::size_t stack_bytes = 256 << 10;
#else
inline constexpr std::size_t stack_bytes = 64 << 10;
#endif

struct Stack {
  char* low = nullptr;
  std::size_t bytes = 0;
  char* top() const { return low + bytes; }
};

// The stacks of one OS thread: mapped on first use, kept for later launches.
class Stacks {
 public:
  Stacks() = default;
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  ~Stacks();

  void reserve(std::size_t count);  // throws Error when the system has no more memory to map
  Stack operator[](std::size_t i) const { return stacks_[i]; }
  std::size_t count() const { return stacks_.size(); }
  bool in_gap(const void* address) const noexcept;  // safe in a signal handler
  void forget_frames();  // unpoisons, for AddressSanitizer, frames that never returned

 private:
  struct Region {
    char* low;
    std::size_t bytes;
  };
  std::vector<Region> regions_;
  std::vector<Stack> stacks_;
};

// Takes stacks from a pool of the process and returns them for the next launch.
class BorrowedStacks {
 public:
  explicit BorrowedStacks(std::size_t count);
  ~BorrowedStacks();
  BorrowedStacks(const BorrowedStacks&) = delete;
  BorrowedStacks& operator=(const BorrowedStacks&) = delete;
  Stacks& operator*() const { return *stacks_; }

 private:
  std::unique_ptr<Stacks> stacks_;
};

// A stack and the point at which execution stopped on it. Switching is Boost.Context's bare jump: no
// unwinding, no signal masks. AddressSanitizer is notified of every switch.
struct Fiber {
  Stack stack;
  void (*entry)(void*) = nullptr;
  void* argument = nullptr;
  void* context = nullptr;
  void* fake_stack = nullptr;  // AddressSanitizer's
};

// On the first switch to it, the fiber calls entry(argument), which must end with leave(), not return.
void prepare(Fiber& fiber);
void switch_to(Fiber& from, Fiber& to);           // returns when a fiber switches back
[[noreturn]] void leave(Fiber& from, Fiber& to);  // `from` is never resumed

Fiber this_os_thread();

}  // namespace tessera::simt
