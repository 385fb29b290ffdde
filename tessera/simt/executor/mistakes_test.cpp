// SPDX-License-Identifier: Apache-2.0
// Mistakes of a kernel other than wrong results: each is reported with kernel, block and thread,
// and the next launch is not affected.
#include <gtest/gtest.h>
#include <chrono>
#include <sys/resource.h>
#include <unistd.h>
#include <cstdlib>
#include <string>
#include <vector>
#include "tessera/core/text/error.hpp"
#include "tessera/simt/executor/executor.hpp"
#include "tessera/simt/executor/launch.hpp"

namespace tessera {
namespace {

struct NoShared {};

struct Cells {
  std::int64_t* cell;
};

template <class Kernel>
void launch(Launch grid, const Cells& cells, int os_threads = 2) {
  Device device;
  device.threads = os_threads;
  Run run;
  run.device = &device;
  launch_kernel<Kernel>(grid, cells, run);
}

struct Harmless {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const Cells& p) const {
    t.sync();
    t.atomic_add(p.cell, std::int64_t{1});
  }
};

// Returns the message of a launch that must fail; the next launch must succeed.
template <class Kernel>
std::string message_of(Launch grid, const Cells& cells, int os_threads = 2) {
  std::string text = "nothing was thrown";
  try {
    launch<Kernel>(grid, cells, os_threads);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::memory) << e.what();
    text = e.what();
  }
  std::int64_t count = 0;
  launch<Harmless>({.grid = {4}, .block = {64}}, Cells{&count});
  EXPECT_EQ(count, 256);
  return text;
}

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
}

std::string line(int number) { return "mistakes_test.cpp:" + std::to_string(number); }

constexpr int half_line = __LINE__ + 4;
struct HalfTheBlock {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const Cells& p) const {
    if (t.rank() < 32) t.sync();
    p.cell[t.rank()] = 1;
  }
};

TEST(Mistakes, ABarrierThatOthersReturnedBefore) {
  std::vector<std::int64_t> cells(64);
  expect_parts(
      message_of<HalfTheBlock>({.grid = {1}, .block = {64}}, Cells{cells.data()}),
      {"kernel HalfTheBlock, block (0, 0, 0)", "returned before a barrier of the others",
       "threads 0-31 wait at ", line(half_line) + " (sync)", "threads 32-63 returned", "may_return_early"});
}

struct ReturnsFirst {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const Cells& p) const {
    if (t.rank() < 5) return;
    p.cell[t.rank()] = 1;
    t.sync();
  }
};

TEST(Mistakes, ReturningWhereTheOthersPassABarrier) {
  std::vector<std::int64_t> cells(64);
  expect_parts(message_of<ReturnsFirst>({.grid = {1}, .block = {64}}, Cells{cells.data()}),
               {"threads 0-4 returned", "threads 5-63 wait at "});
}

struct MeansIt : ReturnsFirst {
  static constexpr bool may_return_early = true;
};

TEST(Mistakes, AKernelMayDeclareThatItReturnsEarly) {
  std::vector<std::int64_t> cells(64);
  EXPECT_NO_THROW(launch<MeansIt>({.grid = {1}, .block = {64}}, Cells{cells.data()}));
  EXPECT_EQ(cells[4], 0);
  EXPECT_EQ(cells[5], 1);
}

// clang-format off
constexpr int one_line = __LINE__ + 4;
struct TwoOnOneLine {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const Cells& p) const {
    if (p.cell[t.rank()] == 0) t.sync(); else t.sync();
  }
};
struct OneMoreRound {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const Cells& p) const {
    for (int i = 0; i < 3 + p.cell[t.rank()]; ++i) { t.sync(); } t.sync();
  }
};
// clang-format on

TEST(Mistakes, TwoBarriersOnOneLineAreTwo) {
  std::vector<std::int64_t> cells(64);
  for (std::size_t i = 40; i < 64; ++i) cells[i] = 1;
  const std::string text = message_of<TwoOnOneLine>({.grid = {1}, .block = {64}}, Cells{cells.data()});
  // Barriers differ by their columns, which compilers count from different ends of a call.
  expect_parts(text, {"deadlock: ", "threads 0-39 wait at ", "threads 40-63 wait at ", line(one_line) + ":"});
}

TEST(Mistakes, ThreeAndOneBarriersAreNotFourAndOne) {
  std::vector<std::int64_t> cells(64);
  cells[63] = 1;
  expect_parts(message_of<OneMoreRound>({.grid = {1}, .block = {64}}, Cells{cells.data()}),
               {"deadlock: ", "threads 0-62 wait at ", "thread 63 waits at "});
}

#if !defined(__SANITIZE_ADDRESS__)
[[gnu::noinline]] std::int64_t with_large_frame(std::int64_t at) {
  volatile std::int64_t frame[512 << 10];
  frame[at] = at;
  return frame[at];
}

struct LargeFrame {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const Cells& p) const {
    t.sync();
    if (t.block().x == 1 && t.rank() == 3) p.cell[0] = with_large_frame(t.rank());
  }
};

TEST(Mistakes, ALargeFrameOverflowsTheStack) {
  std::int64_t cell = 0;
  for (int again = 0; again < 3; ++again)
    EXPECT_EQ(message_of<LargeFrame>({.grid = {2}, .block = {8}}, Cells{&cell}),
              "stack overflow in thread (3, 0, 0) of block (1, 0, 0) of kernel LargeFrame: more than 64 KiB");
}

struct Writes {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const Cells& p) const {
    t.sync();
    if (t.block().y == 1 && t.rank() == 2) *const_cast<volatile std::int64_t*>(p.cell) = 1;
  }
};

TEST(Mistakes, AnAccessToNoMemory) {
  const Launch grid{.grid = {1, 2}, .block = {4}};
  EXPECT_EQ(
      message_of<Writes>(grid, Cells{nullptr}),
      "an access to a null or impossible address in thread (2, 0, 0) of block (0, 1, 0) of kernel Writes");
  EXPECT_EQ(
      message_of<Writes>(grid, Cells{reinterpret_cast<std::int64_t*>(0x1230)}),
      "an access to the address 0x1230, where there is no memory, in thread (2, 0, 0) of block (0, 1, 0) of "
      "kernel Writes");
  // A non-canonical address, which the machine does not report.
  expect_parts(message_of<Writes>(grid, Cells{reinterpret_cast<std::int64_t*>(0x7f7f7f7f7f7f7f70)}),
               {"impossible address"});
}

struct Divides {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const Cells& p) const { p.cell[1] = 7 / p.cell[t.rank()]; }
};

TEST(Mistakes, ADivisionByZero) {
  std::int64_t cells[2] = {0, 0};
  expect_parts(message_of<Divides>({.grid = {1}, .block = {1}}, Cells{cells}),
               {"an integer division by zero in thread (0, 0, 0)", "kernel Divides"});
}

[[noreturn]] void ask_for_too_many() {
  const rlimit small{std::uint64_t{4} << 30, RLIM_INFINITY};
  ::setrlimit(RLIMIT_AS, &small);
  std::int64_t cell = 0;
  bool refused = false;
  try {
    launch<Harmless>({.grid = {100'000}, .block = {1}}, Cells{&cell}, 20'000);
  } catch (const Error& e) {
    refused = e.kind() == Error::Kind::user;
  }
  launch<Harmless>({.grid = {1}, .block = {1}}, Cells{&cell}, 2);
  std::exit(refused ? 7 : 1);
}

TEST(Mistakes, MoreOsThreadsThanTheSystemGives) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(ask_for_too_many(), ::testing::ExitedWithCode(7), "");
}

// Sets the time that a spinning thread has, for as long as it lives.
class SpinLimit {
 public:
  explicit SpinLimit(const char* seconds) { setenv("TESSERA_SIMT_TIMEOUT", seconds, 1); }
  ~SpinLimit() { unsetenv("TESSERA_SIMT_TIMEOUT"); }
  SpinLimit(const SpinLimit&) = delete;
  SpinLimit& operator=(const SpinLimit&) = delete;
};

struct WaitsForTheNextBlock {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const Cells& p) const {
    t.sync();
    if (t.rank() == 7 && t.block().x == 0)
      while (t.atomic_add(p.cell, std::int64_t{0}) == 0) {
      }
    if (t.block().x == 1) t.atomic_add(p.cell, std::int64_t{1});
  }
};

TEST(Mistakes, WaitingForAnotherBlockIsStopped) {
  const SpinLimit limit("0.2");
  std::int64_t cell = 0;
  expect_parts(message_of<WaitsForTheNextBlock>({.grid = {2}, .block = {32}}, Cells{&cell}, 1),
               {"no progress in thread (7, 0, 0) of block (0, 0, 0) of kernel WaitsForTheNextBlock",
                "0.2 s without a barrier or a return", "cooperative launch", "TESSERA_SIMT_TIMEOUT"});
}

// A launch with a time limit: one thread that runs for ever, and too many blocks.
struct GoesOn {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const Cells& p) const {
    volatile std::int64_t i = 0;
    while (*p.cell == 0 || i < 100'000) i = i + 1;
    if (t.block().x < 0) *p.cell = i;
  }
};

TEST(Mistakes, ALaunchIsStoppedByItsClock) {
  for (const std::int64_t cell_before : {0, 1})
    for (const char* const limit_seconds : {"0", "10"}) {
      const SpinLimit limit(limit_seconds);
      std::int64_t cell = cell_before;
      const simt::TimeLimit allowed(0.2);
      const auto start = std::chrono::steady_clock::now();
      try {
        launch<GoesOn>({.grid = {cell == 0 ? 1 : 1'000'000'000}, .block = {32}}, Cells{&cell}, 2);
        ADD_FAILURE() << "it ended";
      } catch (const simt::OutOfTime& late) {
        EXPECT_EQ(std::string(late.what()), "kernel GoesOn was stopped after 0.2 s, the time allowed");
      }
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      EXPECT_GE(took.count(), 0.2);
      EXPECT_LT(took.count(), 5);
    }
  // The next launch is not affected.
  std::int64_t cell = 1;
  launch<GoesOn>({.grid = {4}, .block = {32}}, Cells{&cell}, 2);
}

// Each thread stays within its time limit, the block exceeds it.
struct TakesItsTime {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const Cells& p) const {
    for (int round = 0; round < 4; ++round) {
      for (volatile int i = 0; i < 20'000'000;) i = i + 1;
      t.sync();
    }
    t.atomic_add(p.cell, std::int64_t{1});
  }
};

TEST(Mistakes, ASlowKernelIsNoMistake) {
  const SpinLimit limit("0.3");
  std::int64_t cell = 0;
  EXPECT_NO_THROW(launch<TakesItsTime>({.grid = {2}, .block = {4}}, Cells{&cell}));
  EXPECT_EQ(cell, 8);
}

TEST(Mistakes, TheSpinLimitIsANumber) {
  const SpinLimit limit("soon");
  std::int64_t cell = 0;
  EXPECT_THROW(launch<Harmless>({.grid = {1}, .block = {1}}, Cells{&cell}), Error);
}
#endif

}  // namespace
}  // namespace tessera
