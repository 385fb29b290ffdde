// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>
#include "tessera/core/text/error.hpp"
#include "tessera/simt/executor/launch.hpp"

namespace tessera {
namespace {

struct NoShared {};

template <class Kernel, class Problem>
void launch(Launch grid, const Problem& problem, int os_threads = 2) {
  Device device;
  device.threads = os_threads;
  Run run;
  run.device = &device;
  launch_kernel<Kernel>(grid, problem, run);
}

template <class Kernel, class Problem>
std::string message_of(Launch grid, const Problem& problem, Error::Kind kind = Error::Kind::memory) {
  try {
    launch<Kernel>(grid, problem);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
}

std::string line(int number) { return "executor_test.cpp:" + std::to_string(number); }

struct Places {
  std::int64_t* seen;
};

struct WritePlace {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const Places& p) const {
    const auto [x, y, z] = t.index();
    const Index3 b = t.block(), s = t.size(), g = t.grid();
    const std::int64_t block = b.x + g.x * (b.y + std::int64_t{g.y} * b.z);
    const int rank = x + s.x * (y + s.y * z);
    const bool consistent = rank == t.rank() && t.lane() == rank % 32 && t.warp() == rank / 32;
    t.atomic_add(&p.seen[block * s.x * s.y * s.z + rank], consistent ? std::int64_t{1} : std::int64_t{1000});
  }
};

TEST(Executor, RunsEveryThreadOnceWithItsIndices) {
  const Launch grid{.grid = {3, 4, 5}, .block = {5, 3, 7}};
  std::vector<std::int64_t> seen(60 * 105);
  launch<WritePlace>(grid, Places{seen.data()});
  EXPECT_EQ(seen, std::vector<std::int64_t>(60 * 105, 1));
}

TEST(Executor, RunsNothingForAnEmptyGrid) {
  for (const Launch& grid :
       {Launch{.grid = {0, 4, 5}, .block = {32}}, Launch{.grid = {1, 1, 0}, .block = {32}}})
    EXPECT_NO_THROW(launch<WritePlace>(grid, Places{nullptr}));
}

TEST(Executor, RefusesBlocksLargerThanAnyGpus) {
  EXPECT_THROW(launch<WritePlace>({.grid = {1}, .block = {1025}}, Places{nullptr}), Error);
  EXPECT_THROW(launch<WritePlace>({.grid = {1}, .block = {0}}, Places{nullptr}), Error);
}

// Every thread reads what its mirror image wrote, and writes it back mirrored, many times over.
struct Mirror {
  struct Shared {
    int cell[1024];
  };
  void operator()(Thread t, Shared& shared, const Places& p) const {
    const int n = t.size().x, me = t.rank();
    int value = me;
    for (int round = 0; round < 5; ++round) {
      shared.cell[me] = value + 1;
      t.sync();
      value = shared.cell[n - 1 - me];
      t.sync();
    }
    p.seen[t.block().x * n + me] = value;
  }
};

TEST(Executor, BarriersSeparateWritesFromReads) {
  for (const int n : {1, 31, 256, 1024}) {
    std::vector<std::int64_t> seen(static_cast<std::size_t>(3 * n)), expected;
    launch<Mirror>({.grid = {3}, .block = {n}}, Places{seen.data()});
    for (int i = 0; i < 3 * n; ++i) expected.push_back(n - 1 - i % n + 5);
    EXPECT_EQ(seen, expected) << n;
  }
}

struct SumUp {
  std::int32_t* integer;
  double* real;
  std::uint64_t* most;
  std::int32_t* last;
  int* finished;
};

struct Atomics {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const SumUp& p) const {
    const int global = t.block().x * t.size().x + t.rank();
    t.atomic_add(p.integer, global);
    t.atomic_add(p.real, 0.5);
    t.atomic_max(p.most, static_cast<std::uint64_t>(global));
    t.atomic_min(p.last, -global);
    t.fence();
    if (t.atomic_add(p.finished, 1) == t.grid().x * t.size().x - 1) t.atomic_exchange(p.finished, -1);
    t.atomic_cas(p.finished, -1, -2);
  }
};

TEST(Executor, AtomicsCountAcrossBlocksAndOsThreads) {
  for (const int os_threads : {1, 2, 5}) {
    std::int32_t integer = 0, last = 0;
    double real = 0;
    std::uint64_t most = 0;
    int finished = 0;
    launch<Atomics>({.grid = {300}, .block = {64}}, SumUp{&integer, &real, &most, &last, &finished},
                    os_threads);
    EXPECT_EQ(integer, 19200 / 2 * 19199);
    EXPECT_EQ(real, 9600);
    EXPECT_EQ(most, 19199u);
    EXPECT_EQ(last, -19199);
    EXPECT_EQ(finished, -2);
  }
}

struct ReadUnwritten {
  struct Shared {
    std::uint32_t word[33];
  };
  void operator()(Thread t, Shared& shared, const Places& p) const {
    p.seen[t.block().x] = shared.word[32];
    shared.word[32] = 7;
  }
};

TEST(Executor, SharedMemoryStartsAsPoisonInEveryBlock) {
  std::vector<std::int64_t> seen(4);
  launch<ReadUnwritten>({.grid = {4}, .block = {1}}, Places{seen.data()}, 1);
  EXPECT_EQ(seen, std::vector<std::int64_t>(4, 0x7FBADBAD));
}

struct LeaveEarly {
  using Shared = NoShared;
  static constexpr bool may_return_early = true;
  void operator()(Thread t, Shared&, const Places& p) const {
    if (t.rank() % 3 == 0) return;
    t.atomic_add(p.seen, std::int64_t{1});
    t.sync();
    if (t.rank() % 3 == 1) return;
    p.seen[1 + t.rank()] = p.seen[0];
    t.sync();
  }
};

TEST(Executor, BarriersDoNotWaitForThreadsThatReturned) {
  std::vector<std::int64_t> seen(101);
  launch<LeaveEarly>({.grid = {1}, .block = {100}}, Places{seen.data()});
  EXPECT_EQ(seen[0], 66);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i + 1)], i % 3 == 2 ? 66 : 0) << i;
}

constexpr int first_branch = __LINE__ + 7, second_branch = __LINE__ + 8;
struct TwoBarriers {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const Places& p) const {
    if (t.block().y == 0) return;
    if (t.rank() == 5) return;
    if (t.rank() < 16) {
      t.sync();
    } else t.sync();
    p.seen[0] = 1;
  }
};

TEST(Executor, ReportsWhereThreadsWaitAtADivergentBarrier) {
  std::int64_t reached = 0;
  const std::string text = message_of<TwoBarriers>({.grid = {1, 2}, .block = {8, 5}}, Places{&reached});
  expect_parts(text, {"kernel TwoBarriers, block (0, 1, 0)", "threads 0-4, 6-15 wait at ",
                      line(first_branch) + " (sync)", "threads 16-39 wait at ",
                      line(second_branch) + " (sync)", "thread 5 returned"});
  EXPECT_EQ(reached, 0);
}

constexpr int barrier_line = __LINE__ + 5, shuffle_line = __LINE__ + 6;
struct BarrierAgainstShuffle {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const Places& p) const {
    if (t.rank() != 40) {
      t.sync();
    } else p.seen[0] = t.shuffle(1, 0);
  }
};

TEST(Executor, NamesADeadlockOfABarrierWithACollective) {
  std::int64_t result = 0;
  const std::string text = message_of<BarrierAgainstShuffle>({.grid = {1}, .block = {64}}, Places{&result});
  expect_parts(text, {"block (0, 0, 0)", "threads 0-39, 41-63 wait at ", line(barrier_line) + " (sync)",
                      "thread 40 waits at ", line(shuffle_line) + " (shuffle of lanes 0xffffffff)"});
}

struct Throws {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const Places& p) const {
    if (t.block().x == 2 && t.rank() == 40) throw std::runtime_error("of its own");
    t.sync();
    t.atomic_add(p.seen, std::int64_t{1});
  }
};

TEST(Executor, RethrowsWhatAThreadThrows) {
  std::int64_t count = 0;
  const std::string text =
      message_of<Throws>({.grid = {100'000}, .block = {8, 8}}, Places{&count}, Error::Kind::internal);
  EXPECT_EQ(text, "kernel Throws, block (2, 0, 0): thread (0, 5, 0): of its own");
  EXPECT_LT(count, 50'000 * 64) << "the other OS threads went on to the end";
  EXPECT_NO_THROW(launch<Mirror>({.grid = {1}, .block = {64}}, Places{std::vector<std::int64_t>(64).data()}));
}

constexpr int load_line = __LINE__ + 4;
struct Misaligned {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const Places& p) const {
    const Bytes16 value = t.load16(p.seen);
    t.store16(p.seen + 2, value);
    t.store16(p.seen + 1, value);
  }
};

TEST(Executor, WideAccessesMustBeAligned) {
  alignas(16) std::int64_t cells[4] = {3, 4, 0, 0};
  const std::string text = message_of<Misaligned>({.grid = {1}, .block = {1}}, Places{cells});
  EXPECT_EQ(cells[2], 3);
  EXPECT_EQ(cells[3], 4);
  expect_parts(text, {"thread (0, 0, 0)", line(load_line + 2), "8 bytes past a multiple of 16"});
  EXPECT_THROW(launch<Misaligned>({.grid = {1}, .block = {1}}, Places{cells + 1}), Error);
}

struct Nested {
  using Shared = NoShared;
  void operator()(Thread, Shared&, const Places& p) const {
    launch<WritePlace>({.grid = {1}, .block = {1}}, p);
  }
};

TEST(Executor, RefusesALaunchFromInsideAKernel) {
  std::int64_t seen = 0;
  expect_parts(message_of<Nested>({.grid = {1}, .block = {1}}, Places{&seen}, Error::Kind::user),
               {"launched from inside a kernel"});
}

#if !defined(__SANITIZE_ADDRESS__)
[[gnu::noinline]] std::int64_t descend(std::int64_t depth, volatile char* above) {
  volatile char frame[512];
  frame[0] = above[0];
  return depth == 0 ? frame[0] : descend(depth - 1, frame) + frame[0];
}

struct Recurses {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const Places& p) const {
    volatile char start = 1;
    t.sync();
    const bool deep = t.block().x == 1 && t.rank() == 33;
    p.seen[t.rank()] = descend(deep ? 1'000'000 : 10, &start);
  }
};

TEST(Executor, ReportsAStackOverflowAndContinues) {
  std::vector<std::int64_t> seen(64);
  for (int again = 0; again < 3; ++again) {
    const std::string text = message_of<Recurses>({.grid = {3}, .block = {32, 2}}, Places{seen.data()});
    EXPECT_NE(
        text.find(
            "stack overflow in thread (1, 1, 0) of block (1, 0, 0) of kernel Recurses: more than 64 KiB"),
        std::string::npos)
        << text;
    EXPECT_NO_THROW(launch<Mirror>({.grid = {1}, .block = {64}}, Places{seen.data()}));
  }
}

TEST(Executor, LeavesOtherFaultsAlone) {
  std::vector<std::int64_t> seen(64);
  launch<Mirror>({.grid = {1}, .block = {64}}, Places{seen.data()});
  volatile std::uintptr_t nowhere = 64;
  EXPECT_EXIT(*reinterpret_cast<volatile int*>(nowhere) = 1, testing::KilledBySignal(SIGSEGV), "");
}
#endif

TEST(Executor, AnyNumberOfOsThreadsGivesTheSameResult) {
  std::vector<std::int64_t> one(64 * 500), two = one;
  launch<Mirror>({.grid = {500}, .block = {64}}, Places{one.data()}, 1);
  launch<Mirror>({.grid = {500}, .block = {64}}, Places{two.data()}, 2);
  EXPECT_EQ(one, two);
}

TEST(Executor, IsADevice) {
  Backend* const backend = find_backend(Where::simt);
  ASSERT_NE(backend, nullptr);
  ASSERT_EQ(backend->devices().size(), 1u);
  EXPECT_EQ(backend->devices()[0].where, Where::simt);
  EXPECT_GE(backend->devices()[0].threads, 1);
}

}  // namespace
}  // namespace tessera
