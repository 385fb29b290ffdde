// SPDX-License-Identifier: Apache-2.0
// Reads the sections and symbols of a 64-bit little-endian ELF file, the form of programs and of GPU code.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>
#include "tessera/core/error.hpp"

namespace tessera::elf {

// A number at a place of untrusted bytes. Throws Error where it would lie beyond their end.
template <class T>
T at(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) throw Error("is cut short or damaged");
  T out;
  std::memcpy(&out, bytes.data() + offset, sizeof out);
  return out;
}

// A part of untrusted bytes. Throws Error where they do not hold it.
std::string_view part(std::string_view bytes, std::uint64_t offset, std::uint64_t size);

struct Section {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint64_t size = 0;  // also of a section that takes no room in the file
  std::string_view bytes;  // within the file
};

struct Symbol {
  std::string_view name;
  unsigned type = 0;  // 2: a function
  std::uint32_t section = 0;
};

constexpr unsigned function = 2;

// Views into the bytes that it was read from.
struct File {
  unsigned machine = 0, abi_version = 0;
  std::uint32_t flags = 0;
  std::vector<Section> sections;
  std::vector<Symbol> symbols;

  const Section* find(std::string_view name) const;
};

constexpr unsigned machine_cuda = 190;

bool is_elf(std::string_view bytes);

// Throws Error with a reason and no name: "is cut short or damaged".
File parse(std::string_view bytes);

}  // namespace tessera::elf
