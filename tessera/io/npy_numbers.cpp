// SPDX-License-Identifier: Apache-2.0
// Numbers of types that no kernel computes with, for whoever wants their values.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include "tessera/io/npy.hpp"
#include "tessera/io/npy_header.hpp"

namespace tessera::npy {
namespace {

// Between what is stored and its double there must be no difference: 2^63 and more would overflow on the way
// back.
template <class T>
double exactly(T value, const std::string& name) {
  const auto out = static_cast<double>(value);
  const bool back = out < std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (!back || static_cast<T>(out) != value)
    throw Error(name + ": holds " + std::to_string(value) + ", which no double is");
  return out;
}

template <class T>
void widen(std::span<const std::byte> from, bool swapped, const std::string& name, double* to) {
  for (std::size_t at = 0; at < from.size(); at += sizeof(T)) {
    std::byte bytes[sizeof(T)];
    std::memcpy(bytes, from.data() + at, sizeof bytes);
    if (swapped) std::ranges::reverse(bytes);
    T value;
    std::memcpy(&value, bytes, sizeof value);
    *to++ = exactly(value, name);
  }
}

struct Wide {
  std::string_view code;
  std::size_t size;
  void (*widen)(std::span<const std::byte>, bool, const std::string&, double*);
};
constexpr Wide wide[] = {{"i8", 8, widen<std::int64_t>},
                         {"u8", 8, widen<std::uint64_t>},
                         {"u4", 4, widen<std::uint32_t>},
                         {"b1", 1, widen<std::uint8_t>}};

// As the file has it, in f64.
Array widened(const Preamble& preamble, const Wide& type, std::span<const std::byte> file,
              const std::string& name) {
  const std::size_t bytes = bytes_of_data(preamble.dict.shape, type.size, name);
  if (file.size() - preamble.data_offset < bytes) throw Error(name + ": is cut short");
  const Array kept(Element::f64, {static_cast<std::int64_t>(bytes / type.size)});
  type.widen(file.subspan(preamble.data_offset, bytes), is_swapped(preamble.dict.descr), name,
             static_cast<double*>(kept.view().data));
  const Extents& shape = preamble.dict.shape;
  return Array({kept.view().data, Element::f64, shape,
                preamble.dict.fortran_order ? column_major_strides(shape) : row_major_strides(shape)},
               std::make_shared<Array>(kept));
}

}  // namespace

Numbers parse_numbers(std::span<const std::byte> file, const std::string& name) {
  const Preamble preamble = parse_preamble(file, name);
  const std::string_view code = type_code(preamble.dict.descr);
  const auto type = std::ranges::find(wide, code, &Wide::code);
  const Array array =
      packed_copy((type == std::end(wide) ? parse(file, name) : widened(preamble, *type, file, name)).view());
  Numbers out{array.extents(), {}};
  const std::size_t size = size_of(array.element());
  for (std::int64_t i = 0; i < array.view().count(); ++i)
    out.values.push_back(
        load_as_double(array.element(), array.as<char>() + static_cast<std::size_t>(i) * size));
  return out;
}

}  // namespace tessera::npy
