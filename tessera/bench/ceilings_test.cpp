// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include "tessera/bench/ceilings.hpp"
#include "tessera/io/cache.hpp"

namespace tessera::bench {
namespace {

const std::string then = "2030-01-31T12:00:00Z", later = "2030-05-31T12:00:00Z";

MeasuredCeilings some(double rate, const std::string& date = then) {
  return {.rates = {.bytes_per_second = rate, .flops_per_second = {{Element::f64, 2 * rate}}}, .date = date};
}

class KnownCeilings : public testing::Test {
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

TEST_F(KnownCeilings, AreRememberedForOneDeviceAndDriver) {
  device_.name = "one that nobody else asks for";
  EXPECT_FALSE(known_ceilings(device_));
  EXPECT_EQ(remember(device_, some(1.25e10)), "");
  const auto known = known_ceilings(device_);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->date, then);
  EXPECT_EQ(known->rates.bytes_per_second, 1.25e10);
  EXPECT_EQ(known->rates.flops_per_second.at(Element::f64), 2.5e10);
  EXPECT_EQ(ceilings_of(device_).bytes_per_second, 1.25e10) << "and not measured again";
  Device other = device_;
  other.threads += 1;
  EXPECT_FALSE(known_ceilings(other));
  other = device_;
  other.driver = "newer";
  EXPECT_FALSE(known_ceilings(other));
}

TEST_F(KnownCeilings, IgnoreADamagedFile) {
  EXPECT_EQ(remember(device_, some(1)), "");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_))
    if (entry.is_regular_file()) std::ofstream(entry.path()) << "tessera ceilings 3\ncpu|";
  EXPECT_FALSE(known_ceilings(device_));
}

TEST_F(KnownCeilings, ReportsAFolderThatCannotBeMade) {
  std::ofstream(folder_ / "file") << "x";
  setenv("XDG_CACHE_HOME", (folder_ / "file").c_str(), 1);
  EXPECT_NE(remember(device_, some(1)), "");
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "/somewhere", 1);
  EXPECT_EQ(*cache_folder(), "/somewhere/.cache/tessera");
}

TEST_F(KnownCeilings, MeasureTheProcessors) {
  const MeasuredCeilings found = measure_ceilings(device_);
  EXPECT_FALSE(found.date.empty());
  EXPECT_GT(found.rates.bytes_per_second.value(), 1e8);
  const auto& rates = found.rates.flops_per_second;
  EXPECT_GT(rates.at(Element::i32), 1e8);
  EXPECT_GT(rates.at(Element::f64), 1e8);
  EXPECT_GT(rates.at(Element::f32), rates.at(Element::f64));
  EXPECT_TRUE(measure_ceilings(host_device(Where::simt)).empty());
}

TEST_F(KnownCeilings, KeepTheBetterOfTwo) {
  EXPECT_EQ(better_of(some(2), some(1, later)).rates.bytes_per_second, 2);
  EXPECT_EQ(better_of(some(1), some(2, later)).rates.bytes_per_second, 2);
  EXPECT_EQ(better_of(some(2), some(1, later)).date, later);
  const MeasuredCeilings none;
  EXPECT_EQ(better_of(none, some(2)).rates.flops_per_second.at(Element::f64), 4);
  EXPECT_EQ(better_of(some(2), none).rates.flops_per_second.at(Element::f64), 4);
}

TEST_F(KnownCeilings, RepeatUntilTheBestIsStable) {
  int made = 0;
  EXPECT_EQ(best_of(4, 100, [&made] { return ++made == 3 ? 9.0 : 5.0; }), 9);
  EXPECT_EQ(made, 7);
  made = 0;
  (void)best_of(4, 5, [&made] { return static_cast<double>(++made); });
  EXPECT_EQ(made, 5);
}

}  // namespace
}  // namespace tessera::bench
