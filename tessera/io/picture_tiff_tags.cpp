// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/picture_tiff_tags.hpp"

namespace tessera::picture {
namespace {

enum : std::uint64_t { type_short = 3, type_long8 = 16, big_version = 43 };

std::uint64_t number_at(std::span<const std::byte> file, std::uint64_t at, unsigned bytes) {
  if (at > file.size() || file.size() - at < bytes) return 0;
  const bool largest_first = file[0] == std::byte{'M'};
  std::uint64_t out = 0;
  for (unsigned i = 0; i < bytes; ++i)
    out = out << 8 | std::to_integer<std::uint64_t>(file[at + (largest_first ? i : bytes - 1 - i)]);
  return out;
}

}  // namespace

std::uint64_t listed_number(std::span<const std::byte> file, std::uint64_t directory, std::uint16_t tag) {
  const auto number = [&](std::uint64_t at, unsigned bytes) { return number_at(file, at, bytes); };
  const bool big = number(2, 2) == big_version;
  const unsigned word = big ? 8 : 4, count = big ? 8 : 2, entry = 4 + 2 * word;
  const std::uint64_t entries = number(directory, count);
  std::uint64_t at = directory + count;
  for (std::uint64_t i = 0; i < entries && at < file.size(); ++i, at += entry)
    if (number(at, 2) == tag && number(at + 4, word) == 1) {
      const std::uint64_t type = number(at + 2, 2);
      return number(at + 4 + word, type == type_short ? 2 : type == type_long8 ? 8 : 4);
    }
  return 0;
}

}  // namespace tessera::picture
