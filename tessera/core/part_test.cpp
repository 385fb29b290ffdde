// SPDX-License-Identifier: Apache-2.0
// Parts of a GPU that is only described.
#include "tessera/core/device.hpp"
#include <gtest/gtest.h>

namespace tessera {
namespace {

Device gpu() {
  Device out;
  out.where = Where::cuda;
  out.index = 1;
  out.name = "a GPU, of some kind";
  out.processors = 132;
  return out;
}

TEST(Parts, AreDevicesOfSoManyMultiprocessors) {
  const Device first = as_part(gpu(), 0, 44), rest = as_part(gpu(), 44, 88);
  EXPECT_EQ(first.processors, 44);
  EXPECT_EQ(part_of(first), (Part{0, 44, 132}));
  EXPECT_EQ(part_of(rest), (Part{44, 88, 132}));
  EXPECT_EQ(first.label(), "cuda:1:sms=0-43");
  EXPECT_EQ(rest.label(), "cuda:1:sms=44-131");
}

TEST(Parts, HaveNamesOfTheirOwn) {
  EXPECT_EQ(as_part(gpu(), 44, 88).name, "a GPU, of some kind, multiprocessors 44-131 of 132");
  for (const char* name : {"a GPU", "a GPU, multiprocessors", "a GPU, multiprocessors 4",
                           "a GPU, multiprocessors 4-7 of 9 or so"}) {
    Device whole = gpu();
    whole.name = name;
    EXPECT_FALSE(part_of(whole)) << name;
    EXPECT_EQ(whole.label(), "cuda:1");
  }
}

TEST(Parts, OfMoreThanThereIsAreRefused) {
  for (const auto& [first, count] : {std::pair{0, 0}, {0, 133}, {100, 33}, {-2, 4}, {132, 1}})
    EXPECT_THROW((void)as_part(gpu(), first, count), Error) << first << " " << count;
  EXPECT_EQ(as_part(gpu(), 0, 132).processors, 132);
}

TEST(Parts, AreGivenOrNot) {
  EXPECT_NO_THROW(check_part(gpu()));
  EXPECT_NO_THROW(check_part(host_device(Where::cpu)));
  // No GPU is here, or none that has a part of so few and so many.
  Device impossible = gpu();
  impossible.index = 4711;
  EXPECT_THROW(check_part(as_part(impossible, 1, 1)), Error);
}

}  // namespace
}  // namespace tessera
