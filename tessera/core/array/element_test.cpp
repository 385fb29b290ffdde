// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/array/element.hpp"
#include <gtest/gtest.h>
#include <bit>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

// The nearest of all 65536 values, ties to the even one: slow and independent of the conversion.
template <class T>
float nearest_value(float x) {
  float best = 0, least = std::numeric_limits<float>::infinity();
  bool even = false;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto value = static_cast<float>(T{static_cast<std::uint16_t>(bits)});
    if (!std::isfinite(value)) continue;
    const float distance = std::abs(value - x);
    const bool is_even = (bits & 1) == 0;
    if (distance < least || (distance == least && is_even && !even))
      best = value, least = distance, even = is_even;
  }
  return best;
}

template <class T>
void expect_rounds_to_nearest(float x) {
  EXPECT_EQ(static_cast<float>(T::from(x)), nearest_value<T>(x)) << x;
}

template <class T>
void expect_round_trip() {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const T value{static_cast<std::uint16_t>(bits)};
    const auto wide = static_cast<float>(value);
    if (std::isnan(wide)) EXPECT_TRUE(std::isnan(static_cast<float>(T::from(wide))));
    else EXPECT_EQ(T::from(wide).bits, value.bits);
  }
}

TEST(Element, EveryHalfRoundTripsThroughFloat) {
  expect_round_trip<f16>();
  expect_round_trip<bf16>();
}

TEST(Element, HalvesRoundToNearestTiesToEven) {
  for (const float x : {1.0f, 1.00048828125f, 1.00146484375f, 0.1f, -3.14159265f, 65503.0f, 6.0e-8f, 2.98e-8f,
                        3.0e-5f, 6.1e-5f, 1e-3f, 2049.0f, 2051.0f, -0.33333f})
    expect_rounds_to_nearest<f16>(x);
  for (const float x : {1.0f, 1.00390625f, 1.01171875f, 0.1f, 3.14159265f, 1e30f, -1e-30f, 257.0f, 259.0f})
    expect_rounds_to_nearest<bf16>(x);
}

TEST(Element, HalvesOverflowToInfinityWhereTheyShould) {
  EXPECT_EQ(f16::from(65519.0f).bits, 0x7bff);
  EXPECT_EQ(f16::from(65520.0f).bits, 0x7c00);
  EXPECT_EQ(f16::from(-1e30f).bits, 0xfc00);
  EXPECT_EQ(bf16::from(std::numeric_limits<float>::max()).bits, 0x7f80);
}

// What a bit pattern stands for, from the OCP specification's words alone.
double meant(std::uint8_t bits, int fraction_bits, int bias, bool has_infinity) {
  const int exponent = (bits & 0x7f) >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
  const int highest = (0x7f >> fraction_bits), all_ones = (1 << fraction_bits) - 1;
  const double sign = (bits & 0x80) != 0 ? -1 : 1, unit = std::pow(2.0, -fraction_bits);
  if (has_infinity && exponent == highest) return fraction == 0 ? sign * INFINITY : NAN;
  if (!has_infinity && exponent == highest && fraction == all_ones) return NAN;
  if (exponent == 0) return sign * std::pow(2.0, 1 - bias) * fraction * unit;
  return sign * std::pow(2.0, exponent - bias) * (1 + fraction * unit);
}

template <class T>
void expect_fp8(int fraction_bits, int bias, bool has_infinity, double largest) {
  double found = 0;
  for (int bits = 0; bits < 256; ++bits) {
    const T value{static_cast<std::uint8_t>(bits)};
    const double wanted = meant(value.bits, fraction_bits, bias, has_infinity);
    const auto wide = static_cast<float>(value);
    if (std::isnan(wanted)) {
      EXPECT_TRUE(std::isnan(wide)) << bits;
      EXPECT_TRUE(std::isnan(static_cast<float>(T::from(wide, Overflow::escapes))));
      continue;
    }
    EXPECT_EQ(wide, wanted) << bits;
    EXPECT_EQ(std::signbit(wide), bits >= 128);
    EXPECT_EQ(T::from(wide, Overflow::escapes).bits, bits);
    if (std::isfinite(wanted)) found = std::max(found, wanted);
  }
  EXPECT_EQ(found, largest);
}

TEST(Element, Fp8HoldsWhatTheSpecificationSays) {
  expect_fp8<e4m3>(3, 7, false, 448);
  expect_fp8<e5m2>(2, 15, true, 57344);
}

// Every interval between neighbours: its ends, its middle (the tie), and the floats beside the middle.
template <class T>
void expect_fp8_roundings(std::uint8_t largest) {
  for (int bits = 0; bits < largest; ++bits) {
    const auto low = static_cast<float>(T{static_cast<std::uint8_t>(bits)}),
               high = static_cast<float>(T{static_cast<std::uint8_t>(bits + 1)}), middle = (low + high) / 2;
    const int even = bits % 2 == 0 ? bits : bits + 1;
    for (const Overflow overflow : {Overflow::saturates, Overflow::escapes}) {
      EXPECT_EQ(T::from(middle, overflow).bits, even) << middle;
      EXPECT_EQ(T::from(std::nextafter(middle, 0.0f), overflow).bits, bits);
      EXPECT_EQ(T::from(std::nextafter(middle, 1e9f), overflow).bits, bits + 1);
      EXPECT_EQ(T::from(-middle, overflow).bits, even | 0x80);
    }
  }
}

TEST(Element, Fp8RoundsToNearestTiesToEven) {
  expect_fp8_roundings<e4m3>(0x7e);
  expect_fp8_roundings<e5m2>(0x7b);
}

TEST(Element, Fp8OverflowSaturatesOrGivesNaN) {
  using enum Overflow;
  EXPECT_EQ(e4m3::from(464.0f, escapes).bits, 0x7e);  // the tie with 480, which is not a number
  EXPECT_EQ(e4m3::from(464.1f, escapes).bits, 0x7f);
  EXPECT_EQ(e4m3::from(-464.1f, saturates).bits, 0xfe);
  EXPECT_EQ(e5m2::from(61439.0f, escapes).bits, 0x7b);
  EXPECT_EQ(e5m2::from(61440.0f, escapes).bits, 0x7c);
  EXPECT_EQ(e5m2::from(-61440.0f, saturates).bits, 0xfb);
  for (const float infinite : {INFINITY, 3e38f}) {
    EXPECT_EQ(e4m3::from(infinite).bits, 0x7e);
    EXPECT_EQ(e5m2::from(-infinite).bits, 0xfb);
    EXPECT_TRUE(std::isnan(static_cast<float>(e4m3::from(infinite, escapes))));
    EXPECT_EQ(static_cast<float>(e5m2::from(-infinite, escapes)), -INFINITY);
  }
  EXPECT_EQ(e4m3::from(NAN).bits, 0x7f);
  EXPECT_EQ(e5m2::from(-NAN, escapes).bits, 0x7f);
}

TEST(Element, NamesAndSizes) {
  for (const Element element : all_elements()) {
    EXPECT_EQ(parse_element(name_of(element)), element);
    dispatch(element, [element](auto type) {
      using T = typename decltype(type)::type;
      EXPECT_EQ(sizeof(T), size_of(element));
      EXPECT_EQ(element_of<T>, element);
    });
  }
  EXPECT_FALSE(parse_element("f33"));
}

TEST(Element, StoresAndLoadsThroughDouble) {
  for (const Element element : all_elements()) {
    alignas(8) unsigned char at[8] = {};
    store_from_double(element, at, 96.0);
    EXPECT_EQ(load_as_double(element, at), 96.0) << name_of(element);
  }
  std::int32_t whole = 7;
  store_from_double(Element::i32, &whole, std::nan(""));
  EXPECT_EQ(whole, 0);
  store_from_double(Element::i32, &whole, 4294967297.0);
  EXPECT_EQ(whole, 1);
}

}  // namespace
}  // namespace tessera
