// SPDX-License-Identifier: Apache-2.0
#include "tessera/lab/ceilings.hpp"
#include <gtest/gtest.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include "tessera/io/cache_folder.hpp"

namespace tessera::lab {
namespace {

class Ceilings : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("tessera-ceilings-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  Device device_ = host_device(Where::cpu);
};

TEST_F(Ceilings, AreRememberedForOneDeviceAndDriver) {
  EXPECT_FALSE(known_ceilings(device_));
  const tessera::Ceilings some{.bytes_per_second = 1.25e10, .flops_per_second = {{Element::f64, 3e9}}};
  EXPECT_EQ(remember(device_, some), "");
  const auto known = known_ceilings(device_);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->bytes_per_second, some.bytes_per_second);
  EXPECT_EQ(known->flops_per_second, some.flops_per_second);
  Device other = device_;
  other.threads += 1;
  EXPECT_FALSE(known_ceilings(other));
  other = device_;
  other.driver = "newer";
  EXPECT_FALSE(known_ceilings(other));
}

TEST_F(Ceilings, ADamagedFileIsAsGoodAsNone) {
  EXPECT_EQ(remember(device_, {.bytes_per_second = 1, .flops_per_second = {}}), "");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_))
    if (entry.is_regular_file()) std::ofstream(entry.path()) << "{\"schema\": 1, \"dev";
  EXPECT_FALSE(known_ceilings(device_));
}

TEST_F(Ceilings, AFolderThatCannotBeMadeIsTold) {
  std::ofstream(folder_ / "file") << "x";
  setenv("XDG_CACHE_HOME", (folder_ / "file").c_str(), 1);
  EXPECT_NE(remember(device_, {.bytes_per_second = 1, .flops_per_second = {}}), "");
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "/somewhere", 1);
  EXPECT_EQ(*cache_folder(), "/somewhere/.cache/tessera");
}

TEST_F(Ceilings, OfTheProcessorsAreMeasured) {
  device_.cache_bytes = 0;  // the smallest arrays will do here
  const tessera::Ceilings found = measure_ceilings(device_);
  ASSERT_TRUE(found.bytes_per_second);
  EXPECT_GT(*found.bytes_per_second, 1e8);
  for (const Element element : {Element::f32, Element::f64, Element::i32})
    EXPECT_GT(found.flops_per_second.at(element), 1e8);
  EXPECT_GT(found.flops_per_second.at(Element::f32), found.flops_per_second.at(Element::f64));
  EXPECT_TRUE(measure_ceilings(host_device(Where::simt)).empty());
}

}  // namespace
}  // namespace tessera::lab
