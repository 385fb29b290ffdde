// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include "tessera/core/device/child.hpp"
#include "tessera/core/text/error.hpp"
#include "tessera/core/device/parallel.hpp"

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

TEST(Parallel, RunsInAProcessThatForkedOff) {
  parallel(3, [](int) {});
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::atomic<int> runs{0};
    parallel(3, [&](int) { ++runs; });
    _exit(runs == 3 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  parallel(3, [](int) {});
}

TEST(Parallel, PartsRunAtTheSameTime) {
  std::atomic<int> arrived{0};
  parallel(3, [&](int) {
    ++arrived;
    while (arrived < 3) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 3);
}

// Parts that wait for each other still do so on different threads.
TEST(Parallel, TheCallerRunsPartsThatHaveNotBegun) {
  std::atomic<int> arrived{0};
  for (int repeat = 0; repeat < 300; ++repeat) {
    arrived = 0;
    if (repeat % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    parallel(4, [&](int part) {
      if (part > 1) return;
      ++arrived;
      while (arrived < 2) std::this_thread::yield();
    });
    ASSERT_EQ(arrived, 2);
  }
}

TEST(Parallel, ALongWaitForAThreadIsRememberedForSomeMilliseconds) {
  const auto wait_for_worker = [](std::chrono::milliseconds it_takes) {
    std::atomic<bool> begun = false;
    parallel(2, [&](int part) {
      if (part == 0) begun = true, std::this_thread::sleep_for(it_takes);
      while (!begun) std::this_thread::yield();
    });
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(is_contended());
  wait_for_worker(std::chrono::milliseconds(100));
  EXPECT_TRUE(is_contended());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(is_contended());
}

TEST(Parallel, WakesThreadsThatHaveGoneToSleep) {
  std::atomic<int> runs{0};
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    parallel(2, [&](int) { ++runs; });
  }
  EXPECT_EQ(runs, 6);
}

TEST(Parallel, RethrowsExceptionsOfParts) {
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

TEST(Parallel, ReleasesExceptionsOfParts) {
  std::weak_ptr<int> thrown;
  try {
    parallel(2, [&](int part) {
      if (part != 0) return;
      const auto object = std::make_shared<int>(1);
      thrown = object;
      throw object;
    });
    FAIL();
  } catch (const std::shared_ptr<int>& object) {
    EXPECT_EQ(*object, 1);
  }
  EXPECT_TRUE(thrown.expired());
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
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

namespace {

TEST(Child, WorksOnSharedMemoryInAnEnvironmentOfItsOwn) {
  Child child(
      sizeof(int), [] { setenv("TESSERA_CHILD_TEST", "3", 1); },
      [](const void* request, void* bytes) {
        auto* values = static_cast<double*>(bytes);
        const int count = *static_cast<const int*>(request);
        for (int i = 0; i < count; ++i) values[i] *= std::atof(getenv("TESSERA_CHILD_TEST"));
        return 0.25;
      });
  for (const int count : {10, 100000, 10}) {
    auto* values = static_cast<double*>(child.memory(sizeof(double) * static_cast<std::size_t>(count)));
    for (int i = 0; i < count; ++i) values[i] = i;
    EXPECT_EQ(child.call(count), 0.25);
    for (int i = 0; i < count; ++i) ASSERT_EQ(values[i], 3.0 * i);
  }
  EXPECT_EQ(getenv("TESSERA_CHILD_TEST"), nullptr);
}

std::string failure_of(Child& child, int request) {
  try {
    child.call(request);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(Child, ReportsAnErrorAndContinues) {
  Child child(
      sizeof(int), [] {},
      [](const void* request, void*) -> double {
        if (*static_cast<const int*>(request) < 0) throw Error("negative");
        return 1;
      });
  EXPECT_EQ(failure_of(child, -1), "negative");
  EXPECT_EQ(failure_of(child, 1), "none");
}

TEST(Child, ItsDeathIsAnError) {
  Child child(
      sizeof(int), [] {}, [](const void*, void*) -> double { _Exit(1); });
  EXPECT_EQ(failure_of(child, 1), "the child process has died");
  EXPECT_EQ(failure_of(child, 1), "the child process has died");
}

}  // namespace

}  // namespace tessera
