// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/array/element.hpp"
#include <bit>
#include <cmath>
#include <cstring>

namespace tessera {
namespace {

struct Row {
  Element element;
  std::string_view name;
  std::size_t bytes;
  bool integer;
};

constexpr Row table[] = {
    {Element::f64, "f64", 8, false},   {Element::f32, "f32", 4, false},   {Element::f16, "f16", 2, false},
    {Element::bf16, "bf16", 2, false}, {Element::i32, "i32", 4, true},    {Element::i8, "i8", 1, true},
    {Element::u8, "u8", 1, true},      {Element::e4m3, "e4m3", 1, false}, {Element::e5m2, "e5m2", 1, false},
    {Element::i16, "i16", 2, true},    {Element::u16, "u16", 2, true},
};

const Row& row(Element element) { return table[static_cast<std::size_t>(element)]; }

template <class T>
T read(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

// Converts a double; one beyond int64, for which conversion is undefined, and NaN become 0.
std::int64_t truncated(double value) {
  return std::abs(value) < 9.2e18 ? static_cast<std::int64_t>(value) : 0;
}

// Drops the last `dropped` bits of a float's fraction, rounding to nearest even.
std::uint32_t round_off(std::uint32_t value, int dropped) {
  const std::uint32_t half = 1u << (dropped - 1), odd = (value >> dropped) & 1;
  return (value + half - 1 + odd) >> dropped;
}

struct Fp8 {
  int fraction_bits, bias;
  std::uint8_t largest, beyond;  // the largest finite number, and the code after it
};
constexpr Fp8 e4m3_format{3, 7, 0x7e, 0x7f}, e5m2_format{2, 15, 0x7b, 0x7c};

std::uint8_t to_fp8(float value, const Fp8& format, Overflow overflow) {
  if (std::isnan(value)) return 0x7f;
  const auto u = std::bit_cast<std::uint32_t>(value), magnitude = u & 0x7fffffff;
  const auto sign = static_cast<std::uint8_t>((u >> 24) & 0x80);
  std::uint32_t out = 0;
  const auto bias_apart = static_cast<std::uint32_t>(127 - format.bias);
  if (magnitude >= (bias_apart + 1) << 23) {
    out = round_off(magnitude - (bias_apart << 23), 23 - format.fraction_bits);
  } else {
    // Subnormal: adding a power of two aligns the fraction with the last place and rounds.
    const float line = std::ldexp(1.0f, 24 - format.bias - format.fraction_bits);
    out = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + line) -
          std::bit_cast<std::uint32_t>(line);
  }
  if (out > format.largest) out = overflow == Overflow::saturates ? format.largest : format.beyond;
  return static_cast<std::uint8_t>(sign | out);
}

float from_fp8(std::uint8_t bits, const Fp8& format) {
  const int magnitude = bits & 0x7f, fraction = magnitude & ((1 << format.fraction_bits) - 1);
  const int exponent = magnitude >> format.fraction_bits;
  float value = 0;
  if (magnitude > format.largest) value = magnitude == 0x7c ? INFINITY : NAN;
  else if (exponent == 0)
    value = std::ldexp(static_cast<float>(fraction), 1 - format.bias - format.fraction_bits);
  else
    value = std::ldexp(static_cast<float>(fraction + (1 << format.fraction_bits)),
                       exponent - format.bias - format.fraction_bits);
  return (bits & 0x80) != 0 ? -value : value;
}

}  // namespace

std::size_t size_of(Element element) { return row(element).bytes; }
std::string_view name_of(Element element) { return row(element).name; }
bool is_integer(Element element) { return row(element).integer; }

std::optional<Element> parse_element(std::string_view name) {
  if (name == "s16") return Element::i16;
  for (const Row& r : table)
    if (r.name == name) return r.element;
  return std::nullopt;
}

const std::vector<Element>& all_elements() {
  static const std::vector<Element> all = [] {
    std::vector<Element> out;
    for (const Row& r : table) out.push_back(r.element);
    return out;
  }();
  return all;
}

bf16 bf16::from(float value) {
  const auto u = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return {static_cast<std::uint16_t>((u >> 16) | 0x40)};
  return {static_cast<std::uint16_t>(round_off(u, 16))};
}

bf16::operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

f16 f16::from(float value) {
  const auto u = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((u >> 16) & 0x8000);
  const std::uint32_t magnitude = u & 0x7fffffff;
  const auto with_sign = [sign](std::uint32_t x) { return f16{static_cast<std::uint16_t>(sign | x)}; };
  if (magnitude > 0x7f800000) return with_sign(0x7e00 | ((magnitude >> 13) & 0x1ff));
  if (magnitude >= 0x47800000) return with_sign(0x7c00);  // 65536 and above, infinity
  if (magnitude >= 0x38800000) return with_sign(round_off(magnitude - 0x38000000, 13));
  // Subnormal: adding 0.5 aligns the fraction with f16's last place and rounds.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
  return with_sign(std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5f));
}

f16::operator float() const {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  if (magnitude < 0x400) {
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000));
}

e4m3 e4m3::from(float value, Overflow overflow) { return {to_fp8(value, e4m3_format, overflow)}; }
e4m3::operator float() const { return from_fp8(bits, e4m3_format); }
e5m2 e5m2::from(float value, Overflow overflow) { return {to_fp8(value, e5m2_format, overflow)}; }
e5m2::operator float() const { return from_fp8(bits, e5m2_format); }

double load_as_double(Element element, const void* address) {
  return dispatch(element, [address](auto type) -> double {
    using T = typename decltype(type)::type;
    if constexpr (std::is_arithmetic_v<T>) return static_cast<double>(read<T>(address));
    else return static_cast<float>(read<T>(address));
  });
}

void store_from_double(Element element, void* address, double value) {
  dispatch(element, [&](auto type) {
    using T = typename decltype(type)::type;
    T stored;
    if constexpr (std::is_integral_v<T>) stored = static_cast<T>(truncated(value));
    else if constexpr (std::is_floating_point_v<T>) stored = static_cast<T>(value);
    else stored = T::from(static_cast<float>(value));
    std::memcpy(address, &stored, sizeof stored);
  });
}

}  // namespace tessera
