// SPDX-License-Identifier: Apache-2.0
// Reads the sections and symbols of a 64-bit little-endian ELF file, the format of programs and GPU code.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>
#include "tessera/core/text/error.hpp"

namespace tessera::elf {

// Reads a number from untrusted bytes. Throws Error if it extends beyond their end.
template <class T>
T at(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) throw Error("is cut short or damaged");
  T out;
  std::memcpy(&out, bytes.data() + offset, sizeof out);
  return out;
}

// Returns a part of untrusted bytes. Throws Error if it extends beyond their end.
inline std::string_view part(std::string_view bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size) throw Error("is cut short or damaged");
  return bytes.substr(offset, size);
}

struct Section {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint64_t size = 0;  // also of a section without bytes in the file
  std::string_view bytes;  // within the file
};

struct Symbol {
  std::string_view name;
  unsigned type = 0;  // 2: a function
  std::uint32_t section = 0;
};

constexpr unsigned function = 2;

// Holds views into the bytes that it was parsed from.
struct File {
  unsigned machine = 0, abi_version = 0;
  std::uint32_t flags = 0;
  std::vector<Section> sections;
  std::vector<Symbol> symbols;

  const Section* find(std::string_view name) const;
};

constexpr unsigned machine_cuda = 190;

constexpr std::uint32_t type_symbols = 2, type_no_bits = 8;
constexpr std::uint64_t section_bytes = 64, symbol_bytes = 24;

inline std::string_view name_at(std::string_view names, std::uint64_t offset) {
  if (offset > names.size()) throw Error("is cut short or damaged");
  const std::string_view rest = names.substr(offset);
  const std::size_t end = rest.find('\0');
  if (end == rest.npos) throw Error("is cut short or damaged");
  return rest.substr(0, end);
}

inline std::vector<Symbol> symbols_of(std::string_view table, std::string_view names) {
  std::vector<Symbol> out;
  for (std::uint64_t o = 0; o + symbol_bytes <= table.size(); o += symbol_bytes) {
    const auto name = at<std::uint32_t>(table, o);
    out.push_back({name == 0 ? std::string_view() : name_at(names, name),
                   at<std::uint8_t>(table, o + 4) & 15u, at<std::uint16_t>(table, o + 6)});
  }
  return out;
}

inline bool is_elf(std::string_view bytes) {
  return bytes.starts_with(
      "\x7f"
      "ELF");
}

inline const Section* File::find(std::string_view name) const {
  const auto found = std::ranges::find(sections, name, &Section::name);
  return found == sections.end() ? nullptr : &*found;
}

// Throws Error with a reason but no file name: "is cut short or damaged".
inline File parse(std::string_view bytes) {
  if (!is_elf(bytes)) throw Error("is no ELF file");
  constexpr std::uint8_t wide = 2, little = 1;
  if (at<std::uint8_t>(bytes, 4) != wide || at<std::uint8_t>(bytes, 5) != little)
    throw Error("is an ELF file, but not a 64-bit little-endian one");
  File out;
  out.abi_version = at<std::uint8_t>(bytes, 8);
  out.machine = at<std::uint16_t>(bytes, 18);
  out.flags = at<std::uint32_t>(bytes, 48);
  const auto table = at<std::uint64_t>(bytes, 40);
  const auto each = at<std::uint16_t>(bytes, 58), count = at<std::uint16_t>(bytes, 60);
  const auto names_index = at<std::uint16_t>(bytes, 62);
  if (count == 0) return out;
  if (each != section_bytes || names_index >= count) throw Error("is cut short or damaged");
  const std::string_view headers = part(bytes, table, count * section_bytes);
  const auto contents = [&](std::uint64_t header) {
    return part(bytes, at<std::uint64_t>(headers, header + 24), at<std::uint64_t>(headers, header + 32));
  };
  const std::string_view names = contents(names_index * section_bytes);
  for (std::uint64_t h = 0; h < headers.size(); h += section_bytes) {
    Section section;
    section.name = name_at(names, at<std::uint32_t>(headers, h));
    section.type = at<std::uint32_t>(headers, h + 4);
    section.size = at<std::uint64_t>(headers, h + 32);
    if (section.type != 0 && section.type != type_no_bits) section.bytes = contents(h);
    out.sections.push_back(section);
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    if (out.sections[i].type != type_symbols) continue;
    const auto link = at<std::uint32_t>(headers, i * section_bytes + 40);
    if (link >= count) throw Error("is cut short or damaged");
    out.symbols = symbols_of(out.sections[i].bytes, out.sections[link].bytes);
  }
  return out;
}

}  // namespace tessera::elf
