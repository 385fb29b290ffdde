// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/npy_header.hpp"
#include <algorithm>
#include <bit>
#include <string_view>
#include "tessera/io/file_kind.hpp"

namespace tessera::npy {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr char native_order = std::endian::native == std::endian::little ? '<' : '>';
// NumPy has no name for bf16 and the 8-bit floats, so that ml_dtypes saves them as mere bytes.
struct Untyped {
  std::string_view code;
  Element element;
};
constexpr Untyped untyped[] = {{"V2", Element::bf16}, {"V1", Element::e4m3}, {"V1", Element::e5m2}};

struct Code {
  std::string_view code;
  Element element;
};
constexpr Code codes[] = {{"f8", Element::f64}, {"f4", Element::f32}, {"f2", Element::f16},
                          {"i4", Element::i32}, {"i1", Element::i8},  {"u1", Element::u8},
                          {"i2", Element::i16}, {"u2", Element::u16}};

// What NumPy can save and we cannot read, with the nearest type that we can.
struct Foreign {
  std::string_view code, name, nearest;
};
constexpr Foreign foreign[] = {
    {"i8", "int64", "int32"},  {"u4", "uint32", "int32"},      {"u8", "uint64", "int32"},
    {"b1", "bool", "uint8"},   {"f16", "float128", "float64"}, {"c8", "complex64", ""},
    {"c16", "complex128", ""}, {"c32", "complex256", ""},      {"O", "Python objects", ""},
};

std::string why_foreign(std::string_view descr, std::string_view code) {
  if (code == "V2") return "holds 2-byte values of no type (V2); if they are bf16, pass --element bf16";
  if (code == "V1")
    return "holds 1-byte values of no type (V1); if they are 8-bit floats, pass --element e4m3 or e5m2";
  for (const Foreign& f : foreign) {
    if (f.code != code) continue;
    std::string text = "holds " + std::string(f.name);
    if (f.nearest.empty()) return text + ", which cannot be computed with here";
    return text + "; convert with a.astype('" + std::string(f.nearest) + "')";
  }
  if (code.starts_with('S') || code.starts_with('U')) return "holds text, not numbers";
  if (code.starts_with('M') || code.starts_with('m')) return "holds dates or durations, not numbers";
  return "holds elements of the unknown type '" + printable(descr) + "'";
}

void read_element(Header& header, std::string_view descr, const std::string& name,
                  std::optional<Element> as) {
  const std::string_view code = type_code(descr);
  header.swapped = is_swapped(descr);
  const Code* found =
      std::find_if(std::begin(codes), std::end(codes), [&](const Code& c) { return c.code == code; });
  if (found != std::end(codes)) header.element = found->element;
  else if (std::ranges::any_of(untyped, [&](const Untyped& u) { return u.code == code && u.element == as; }))
    header.element = *as;
  else throw Error(name + ": " + why_foreign(descr, code));
  if (as && *as != header.element)
    throw Error(name + ": holds " + std::string(name_of(header.element)) + ", but " +
                std::string(name_of(*as)) + " was asked for");
}

// The header's text; sets data_offset.
std::string_view text_of(std::size_t& data_offset, std::string_view file, const std::string& name) {
  if (file.empty()) throw Error(name + ": is empty");
  if (file.starts_with("PK\x03\x04"))
    throw Error(name + ": is a zip archive (.npz); save its arrays one by one");
  if (!file.starts_with(magic.substr(0, file.size())))
    throw Error(name + ": is not a .npy file" + but_seems(std::as_bytes(std::span(file))));
  const auto byte = [&](std::size_t i) {
    if (i >= file.size()) throw Error(name + ": ends within its header");
    return static_cast<std::size_t>(static_cast<unsigned char>(file[i]));
  };
  const std::size_t at = magic.size(), major = byte(at), minor = byte(at + 1);
  if (major < 1 || major > 3 || minor != 0)
    throw Error(name + ": is of .npy version " + std::to_string(major) + "." + std::to_string(minor) +
                "; 1.0, 2.0 and 3.0 can be read");
  const std::size_t length_bytes = major == 1 ? 2 : 4, begin = at + 2 + length_bytes;
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= byte(at + 2 + i) << (8 * i);
  if (length > file.size() - begin) throw Error(name + ": ends within its header");
  data_offset = begin + length;
  return file.substr(begin, length);
}

}  // namespace

Extents column_major_strides(const Extents& extents) {
  Extents strides(extents.size(), 1);
  for (std::size_t i = 1; i < extents.size(); ++i) strides[i] = strides[i - 1] * extents[i - 1];
  return strides;
}

Extents Header::strides() const {
  return column_major ? column_major_strides(extents) : row_major_strides(extents);
}

bool is_swapped(std::string_view descr) {
  const char order = descr.empty() ? '=' : descr.front();
  return (order == '<' || order == '>') && order != native_order;
}

std::string_view type_code(std::string_view descr) {
  const bool ordered = !descr.empty() && std::string_view("<>=|").find(descr.front()) != descr.npos;
  return ordered ? descr.substr(1) : descr;
}

// Extents of 0 are left out of the overflow check's product, or an empty array could have strides beyond any
// integer.
std::size_t bytes_of_data(const Extents& extents, std::size_t element_bytes, const std::string& name) {
  auto bytes = static_cast<std::int64_t>(element_bytes);
  bool empty = false;
  for (const std::int64_t extent : extents) {
    empty |= extent == 0;
    if (extent != 0 && __builtin_mul_overflow(bytes, extent, &bytes))
      throw Error(name + ": its shape " + to_string(extents) + " is larger than any memory");
  }
  return empty ? 0 : static_cast<std::size_t>(bytes);
}

Preamble parse_preamble(std::span<const std::byte> file, const std::string& name) {
  Preamble out;
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
  out.dict = parse_dict(text_of(out.data_offset, bytes, name), name);
  return out;
}

Header parse_header(std::span<const std::byte> file, const std::string& name, std::optional<Element> as) {
  const auto [dict, data_offset] = parse_preamble(file, name);
  Header header;
  header.data_offset = data_offset;
  header.extents = dict.shape;
  header.column_major = dict.fortran_order;
  read_element(header, dict.descr, name, as);
  header.data_bytes = bytes_of_data(header.extents, size_of(header.element), name);
  // More is fine: NumPy lets arrays follow one another in a file.
  if (const std::size_t there = file.size() - header.data_offset; there < header.data_bytes)
    throw Error(name + ": is cut short: " + to_string(header.extents) + " of " +
                std::string(name_of(header.element)) + " needs " + std::to_string(header.data_bytes) +
                " bytes, " + std::to_string(there) + " are there");
  return header;
}

std::string format_header(Element element, bool column_major, const Extents& extents) {
  constexpr std::size_t alignment = 64;
  std::string_view code;
  for (const Untyped& u : untyped)
    if (u.element == element) code = u.code;
  for (const Code& c : codes)
    if (c.element == element) code = c.code;
  std::string text = "{'descr': '";
  text += size_of(element) == 1 ? '|' : native_order;
  text += std::string(code) + "', 'fortran_order': " + (column_major ? "True" : "False") + ", 'shape': (";
  for (const std::int64_t extent : extents)
    text += std::to_string(extent) + (extents.size() == 1 ? "," : ", ");
  if (extents.size() > 1) text.resize(text.size() - 2);
  text += "), }";
  const std::size_t before = magic.size() + 4, unpadded = before + text.size() + 1;
  text.append((alignment - unpadded % alignment) % alignment, ' ');
  text += '\n';
  // At most 64 extents: the length always fits version 1.0's two bytes.
  const std::string start{'\1', '\0', static_cast<char>(text.size() & 255),
                          static_cast<char>(text.size() >> 8)};
  return std::string(magic) + start + text;
}

}  // namespace tessera::npy
