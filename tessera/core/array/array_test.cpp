// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <numeric>
#include "tessera/core/array/array.hpp"
#include "tessera/core/device/device.hpp"

namespace tessera {
namespace {

TEST(Array, OwnsAlignedMemory) {
  const Array a(Element::f32, {3, 5});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.view().data) % 256, 0u);
  EXPECT_EQ(a.view().strides, (Extents{5, 1}));
  EXPECT_EQ(a.view().count(), 15);
  EXPECT_TRUE(a.view().row_major());
}

TEST(Array, CopiesShareAndOutliveTheFirst) {
  Array b;
  {
    Array a(Element::i32, {2});
    a.as<int>()[1] = 42;
    b = a;
  }
  EXPECT_EQ(b.as<int>()[1], 42);
}

TEST(Array, EmptyAndSingle) {
  EXPECT_EQ(Array(Element::f64, {0, 7}).view().count(), 0);
  EXPECT_EQ(Array(Element::f64, {}).view().count(), 1);
  EXPECT_EQ(to_string(Extents{}), "a single value");
  EXPECT_EQ(to_string(Extents{10, 33}), "10 × 33");
}

TEST(Array, RefusesImpossibleSizes) {
  EXPECT_THROW((void)count_of({-1}), Error);
  EXPECT_THROW((void)count_of({std::int64_t{1} << 40, std::int64_t{1} << 40}), Error);
  EXPECT_EQ(count_of({std::int64_t{1} << 40, std::int64_t{1} << 40, 0}), 0);
  EXPECT_THROW(Array(Element::f64, {std::int64_t{1} << 50}), Error);
}

TEST(Array, CountsBytesRatherThanElements) {
  const Extents wide{std::int64_t{1} << 31, std::int64_t{1} << 31};
  EXPECT_EQ(count_of(wide), std::int64_t{1} << 62);
  EXPECT_EQ(bytes_of(Element::u8, wide), std::size_t{1} << 62);
  EXPECT_THROW((void)bytes_of(Element::f32, wide), Error);
  EXPECT_THROW(Array(Element::f32, wide), Error);
  EXPECT_THROW(Array(Element::f64, {std::int64_t{1} << 61}), Error);
  EXPECT_EQ(bytes_of(Element::f64, {0, std::int64_t{1} << 40, std::int64_t{1} << 40}), 0u);
}

TEST(Array, PacksAnyStrides) {
  Array a(Element::i32, {2, 3, 4});
  std::iota(a.as<int>(), a.as<int>() + 24, 0);
  const ArrayView t = a.view().transposed();
  EXPECT_FALSE(t.row_major());
  EXPECT_EQ(t.extents, (Extents{2, 4, 3}));
  const Array packed = packed_copy(t);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      for (int k = 0; k < 3; ++k) EXPECT_EQ(packed.as<int>()[(i * 4 + j) * 3 + k], i * 12 + k * 4 + j);
}

TEST(Array, SpansNegativeStrides) {
  ArrayView v{nullptr, Element::f32, {4, 3}, {-3, 1}};
  EXPECT_EQ(v.span(), (std::pair<std::int64_t, std::int64_t>{-9, 3}));
}

}  // namespace

// Parts of a GPU that is only described.

namespace {

Device gpu() {
  Device out;
  out.where = Where::cuda;
  out.index = 1;
  out.name = "a GPU, of some kind";
  out.multiprocessors = 132;
  return out;
}

TEST(Parts, HaveTheGivenNumberOfMultiprocessors) {
  const Device first = as_part(gpu(), 0, 44), rest = as_part(gpu(), 44, 88);
  EXPECT_EQ(first.multiprocessors, 44);
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

TEST(Parts, AreRefusedBeyondTheDevice) {
  for (const auto& [first, count] : {std::pair{0, 0}, {0, 133}, {100, 33}, {-2, 4}, {132, 1}})
    EXPECT_THROW((void)as_part(gpu(), first, count), Error) << first << " " << count;
  EXPECT_EQ(as_part(gpu(), 0, 132).multiprocessors, 132);
}

TEST(Parts, CheckAcceptsWholeDevicesAndRefusesAMissingGpu) {
  EXPECT_NO_THROW(check_part(gpu()));
  EXPECT_NO_THROW(check_part(host_device(Where::cpu)));
  // No GPU is here, or none that has a part of so few and so many.
  Device impossible = gpu();
  impossible.index = 4711;
  EXPECT_THROW(check_part(as_part(impossible, 1, 1)), Error);
}

}  // namespace

}  // namespace tessera
