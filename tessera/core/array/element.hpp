// SPDX-License-Identifier: Apache-2.0
// The element types of arrays. f16, bf16, e4m3 and e5m2 are our own storage types, so that builds without
// CUDA have them and every build rounds alike (to nearest, ties to even).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>
#include "tessera/core/text/error.hpp"

namespace tessera {

enum class Element : std::uint8_t { f64, f32, f16, bf16, i32, i8, u8, e4m3, e5m2, i16, u16 };

struct f16 {
  std::uint16_t bits = 0;
  static f16 from(float value);
  explicit operator float() const;
};

struct bf16 {
  std::uint16_t bits = 0;
  static bf16 from(float value);
  explicit operator float() const;
};

// The result of converting a number beyond the largest, or an infinity. saturates: the largest of its sign,
// as `cvt` with `satfinite`. escapes: as IEEE 754 would, an infinity, or NaN if the type has none.
enum class Overflow : std::uint8_t { saturates, escapes };

// OCP's 8-bit floats (OFP8 1.0). e4m3: 1 sign, 4 exponent, 3 fraction bits, no infinities, one NaN of either
// sign, at most 448. e5m2: as IEEE 754 would have it, at most 57344. NaN becomes 0x7f.
struct e4m3 {
  std::uint8_t bits = 0;
  static e4m3 from(float value, Overflow overflow = Overflow::saturates);
  explicit operator float() const;
};

struct e5m2 {
  std::uint8_t bits = 0;
  static e5m2 from(float value, Overflow overflow = Overflow::saturates);
  explicit operator float() const;
};

template <class... T>
struct Types {};

template <class T>
inline constexpr Element element_of = Element::f64;
template <>
inline constexpr Element element_of<double> = Element::f64;
template <>
inline constexpr Element element_of<float> = Element::f32;
template <>
inline constexpr Element element_of<f16> = Element::f16;
template <>
inline constexpr Element element_of<bf16> = Element::bf16;
template <>
inline constexpr Element element_of<std::int32_t> = Element::i32;
template <>
inline constexpr Element element_of<std::int8_t> = Element::i8;
template <>
inline constexpr Element element_of<std::uint8_t> = Element::u8;
template <>
inline constexpr Element element_of<e4m3> = Element::e4m3;
template <>
inline constexpr Element element_of<e5m2> = Element::e5m2;
template <>
inline constexpr Element element_of<std::int16_t> = Element::i16;
template <>
inline constexpr Element element_of<std::uint16_t> = Element::u16;

std::size_t size_of(Element element);       // in bytes
std::string_view name_of(Element element);  // "f32"
[[nodiscard]] bool is_integer(Element element);
// Parses an element type; also accepts "s16" for i16, a name common for images.
[[nodiscard]] std::optional<Element> parse_element(std::string_view name);
const std::vector<Element>& all_elements();

// Loads one element as a double, which is exact for every element type.
double load_as_double(Element element, const void* address);
// Rounds to the element type; integers are truncated towards zero and wrap.
void store_from_double(Element element, void* address, double value);

// Calls f(std::type_identity<T>{}) with the C++ type of `element`.
template <class F>
decltype(auto) dispatch(Element element, F&& f) {
  switch (element) {
    case Element::f64:
      return f(std::type_identity<double>{});
    case Element::f32:
      return f(std::type_identity<float>{});
    case Element::f16:
      return f(std::type_identity<f16>{});
    case Element::bf16:
      return f(std::type_identity<bf16>{});
    case Element::i32:
      return f(std::type_identity<std::int32_t>{});
    case Element::i8:
      return f(std::type_identity<std::int8_t>{});
    case Element::u8:
      return f(std::type_identity<std::uint8_t>{});
    case Element::e4m3:
      return f(std::type_identity<e4m3>{});
    case Element::e5m2:
      return f(std::type_identity<e5m2>{});
    case Element::i16:
      return f(std::type_identity<std::int16_t>{});
    case Element::u16:
      return f(std::type_identity<std::uint16_t>{});
  }
  throw Error(Error::Kind::internal, "unknown element");
}

}  // namespace tessera
