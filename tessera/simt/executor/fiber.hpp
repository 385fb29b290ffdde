// SPDX-License-Identifier: Apache-2.0
// Fibers and the stacks that GPU threads run on. Each stack lies above an inaccessible gap, so that an
// overflow faults where it happens instead of spoiling a neighbour.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

namespace tessera::simt {

// A sanitizer's frames are several times larger.
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

// The stacks of one OS thread: mapped when first asked for, kept for later launches.
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
  void forget_frames();  // what AddressSanitizer remembers of frames that were never left

 private:
  struct Region {
    char* low;
    std::size_t bytes;
  };
  std::vector<Region> regions_;
  std::vector<Stack> stacks_;
};

// Stacks on loan; they go back to the process for the next launch.
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

// A stack and where execution stopped on it. Switching is Boost.Context's bare jump: no unwinding,
// no signal masks. AddressSanitizer is told of every switch.
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
