// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include "tessera/bench/ceilings.hpp"
#include "tessera/io/cache.hpp"

namespace tessera::bench {
namespace {

const std::string then = "2030-01-31T12:00:00Z", later = "2030-05-31T12:00:00Z";
constexpr double calm = 0.01, busy = 0.4;

MeasuredCeilings some(double rate, std::optional<double> waited, const std::string& date = then) {
  return {.copy = Ceiling{rate, date, waited}, .arithmetic = {{Element::f64, {2 * rate, date, waited}}}};
}

class Ceilings : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("tessera-ceilings-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    device_.cache_bytes = 0;  // the smallest arrays will do here
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  Device device_ = host_device(Where::cpu);
};

TEST_F(Ceilings, AreRememberedForOneDeviceAndDriver) {
  EXPECT_FALSE(known_ceilings(device_));
  const MeasuredCeilings kept = some(1.25e10, {});
  EXPECT_EQ(remember(device_, kept), "");
  const auto known = known_ceilings(device_);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->copy, kept.copy);
  EXPECT_EQ(known->arithmetic, kept.arithmetic);
  EXPECT_EQ(known->rates().bytes_per_second, 1.25e10);
  EXPECT_EQ(known->rates().flops_per_second.at(Element::f64), 2.5e10);
  EXPECT_EQ(remember(device_, some(1, busy)), "");
  EXPECT_TRUE(known_ceilings(device_)->under_load()) << "what was in its way is remembered, too";
  Device other = device_;
  other.threads += 1;
  EXPECT_FALSE(known_ceilings(other));
  other = device_;
  other.driver = "newer";
  EXPECT_FALSE(known_ceilings(other));
}

TEST_F(Ceilings, ADamagedFileIsAsGoodAsNone) {
  EXPECT_EQ(remember(device_, some(1, calm)), "");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_))
    if (entry.is_regular_file()) std::ofstream(entry.path()) << "tessera ceilings 3\ncpu|";
  EXPECT_FALSE(known_ceilings(device_));
}

TEST_F(Ceilings, ReportsAFolderThatCannotBeMade) {
  std::ofstream(folder_ / "file") << "x";
  setenv("XDG_CACHE_HOME", (folder_ / "file").c_str(), 1);
  EXPECT_NE(remember(device_, some(1, calm)), "");
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "/somewhere", 1);
  EXPECT_EQ(*cache_folder(), "/somewhere/.cache/tessera");
}

TEST_F(Ceilings, OfTheProcessorsAreMeasured) {
  const MeasuredCeilings found = measure_ceilings(device_);
  ASSERT_TRUE(found.copy);
  EXPECT_GT(found.copy->rate, 1e8);
  for (const Element element : {Element::f32, Element::f64, Element::i32}) {
    const Ceiling& one = found.arithmetic.at(element);
    EXPECT_GT(one.rate, 1e8);
    EXPECT_TRUE(one.waited && *one.waited < 1 && !one.date.empty());
  }
  EXPECT_GT(found.arithmetic.at(Element::f32).rate, found.arithmetic.at(Element::f64).rate);
  EXPECT_TRUE(measure_ceilings(host_device(Where::simt)).empty());
}

TEST_F(Ceilings, TheBetterOfTwoStands) {
  EXPECT_EQ(better_of(some(2, calm), some(1, busy, later)).copy->rate, 2);
  EXPECT_EQ(better_of(some(1, busy), some(2, calm, later)).copy->rate, 2);
  EXPECT_EQ(better_of(some(1, busy), some(2, calm, later)).date(), later);
  EXPECT_TRUE(better_of(some(1, busy), some(2, busy)).under_load());
  EXPECT_FALSE(better_of(some(1, busy), some(2, calm)).under_load());
  EXPECT_FALSE(better_of(some(2, busy), some(1.99, calm)).under_load())
      << "a calm run vouches for what was reached";
  const MeasuredCeilings none;
  EXPECT_EQ(better_of(none, some(2, calm)).arithmetic.at(Element::f64).rate, 4);
  EXPECT_EQ(better_of(some(2, calm), none).arithmetic.at(Element::f64).rate, 4);
}

TEST_F(Ceilings, WhatWasMeasuredUnderLoadIsMeasuredOnceMore) {
  Device one = device_, two = device_;
  one.name = "calm then";
  two.name = "busy then";
  EXPECT_EQ(remember(one, some(1, calm)), "");
  EXPECT_EQ(remember(two, some(1, busy)), "");
  EXPECT_EQ(ceilings_of(one).bytes_per_second, 1) << "taken as it is";
  EXPECT_GT(*ceilings_of(two).bytes_per_second, 1e8);
  EXPECT_GT(known_ceilings(two)->copy->rate, 1e8) << "and kept";
}

TEST_F(Ceilings, ReportsDoubts) {
  EXPECT_EQ(doubt_about(device_, some(1, calm)), "");
  EXPECT_EQ(doubt_about(device_, some(1, {})), "");
  EXPECT_NE(doubt_about(device_, some(1, busy)).find("under load (threads waited for 40 % of the time)"),
            std::string::npos);
}

TEST(Reached, WhoHasNoProcessorWaits) {
  // Asleep, as one of whom the system thinks little.
  const Reached slept = reach(2, 1, [](int) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
  EXPECT_GT(slept.waited, 0.9);
  EXPECT_LE(slept.rate, 50);
  const double before = thread_seconds();
  const Reached worked = reach(1, 1, [&](int) {
    while (thread_seconds() - before < 0.02) {
    }
  });
  EXPECT_LT(worked.waited, slept.waited);
}

TEST(Reached, TheBestStandsUntilItHasStoodForAsMany) {
  int made = 0;
  const auto run = [&made] { return Reached{.rate = ++made == 3 ? 9.0 : 5.0, .waited = 0.1 * made}; };
  const Reached best = best_of(4, 100, run);
  EXPECT_EQ(best.rate, 9);
  EXPECT_NEAR(best.waited, 0.3, 1e-12) << "as it was in the run that was best";
  EXPECT_EQ(made, 7);
  made = 0;
  (void)best_of(4, 5, [&made] { return Reached{.rate = static_cast<double>(++made)}; });
  EXPECT_EQ(made, 5);
}

}  // namespace
}  // namespace tessera::bench
