// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/parallel.hpp"
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

namespace tessera {
namespace {

TEST(Parallel, RunsEveryPartOnce) {
  for (const int parts : {0, 1, 2, 5})
    for (int repeat = 0; repeat < 200; ++repeat) {
      std::array<std::atomic<int>, 5> runs{};
      parallel(parts, [&](int part) { ++runs[static_cast<std::size_t>(part)]; });
      for (int part = 0; part < 5; ++part)
        ASSERT_EQ(runs[static_cast<std::size_t>(part)], part < parts ? 1 : 0);
    }
}

TEST(Parallel, PartsRunAtTheSameTime) {
  std::atomic<int> arrived{0};
  parallel(3, [&](int) {
    ++arrived;
    while (arrived < 3) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 3);
}

TEST(Parallel, WakesThreadsThatHaveGoneToSleep) {
  std::atomic<int> runs{0};
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    parallel(2, [&](int) { ++runs; });
  }
  EXPECT_EQ(runs, 6);
}

TEST(Parallel, HandsOnWhatAPartThrows) {
  for (int thrower = 0; thrower < 3; ++thrower) {
    std::atomic<int> finished{0};
    EXPECT_THROW(parallel(3,
                          [&](int part) {
                            if (part == thrower) throw std::runtime_error("part");
                            ++finished;
                          }),
                 std::runtime_error);
    EXPECT_EQ(finished, 2);
  }
}

#if !defined(__SANITIZE_ADDRESS__)
// Address space for some hundreds of stacks, not for thousands.
[[noreturn]] void ask_for_too_many() {
  const rlimit small{std::uint64_t{4} << 30, RLIM_INFINITY};
  ::setrlimit(RLIMIT_AS, &small);
  bool refused = false;
  try {
    parallel(5000, [](int) {});
  } catch (const Error& e) {
    refused =
        e.kind() == Error::Kind::user && std::string(e.what()).find("5000 threads") != std::string::npos;
  }
  std::atomic<int> runs = 0;
  parallel(3, [&](int) { ++runs; });
  std::exit(refused && runs == 3 ? 7 : 1);
}

TEST(Parallel, TooManyThreadsAreAnError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(ask_for_too_many(), ::testing::ExitedWithCode(7), "");
}
#endif

TEST(Parallel, ACallFromInsideRunsInTurn) {
  std::atomic<int> runs{0};
  parallel(2, [&](int) { parallel(3, [&](int) { ++runs; }); });
  EXPECT_EQ(runs, 6);
}

TEST(Parallel, CallsFromSeveralThreadsTakeTurns) {
  std::atomic<int> runs{0};
  const auto many = [&] {
    for (int repeat = 0; repeat < 100; ++repeat) parallel(2, [&](int) { ++runs; });
  };
  std::thread other(many);
  many();
  other.join();
  EXPECT_EQ(runs, 400);
}

}  // namespace
}  // namespace tessera
