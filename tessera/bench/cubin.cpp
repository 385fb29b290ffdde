// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/cubin.hpp"
#include <cstdint>
#include <optional>
#include "tessera/io/elf.hpp"
#if defined(TESSERA_HAS_ZSTD)
#include <zstd.h>
#endif

namespace tessera::bench {
namespace {

constexpr std::uint32_t magic = 0xba55ed50;
constexpr std::uint64_t container_header = 16, entry_header = 64;
constexpr std::uint16_t kind_ptx = 1, kind_elf = 2;
constexpr std::uint64_t flag_lz4 = 0x2000, flag_zstd = 0x8000;
// No kernel's code comes near; a damaged length must not ask for all memory.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;

std::optional<std::string> unpacked([[maybe_unused]] std::string_view packed,
                                    [[maybe_unused]] std::uint64_t bytes) {
#if defined(TESSERA_HAS_ZSTD)
  if (bytes > most_bytes || ZSTD_getFrameContentSize(packed.data(), packed.size()) != bytes)
    throw Error("is cut short or damaged");
  std::string out(bytes, '\0');
  if (ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size()) != bytes)
    throw Error("is cut short or damaged");
  return out;
#else
  return std::nullopt;
#endif
}

// One entry: where its bytes are, how many of them are compressed, and how many they will be.
void read_entry(std::string_view header, std::string_view payload, Cubins& out) {
  const auto kind = elf::at<std::uint16_t>(header, 0);
  if (kind == kind_ptx) ++out.ptx;
  if (kind != kind_elf) return;
  const auto flags = elf::at<std::uint64_t>(header, 40);
  if ((flags & flag_lz4) != 0) {
    ++out.unreadable;
  } else if ((flags & flag_zstd) != 0) {
    const std::string_view packed = elf::part(payload, 0, elf::at<std::uint32_t>(header, 16));
    if (auto file = unpacked(packed, elf::at<std::uint64_t>(header, 56)))
      out.files.push_back(std::move(*file));
    else ++out.unreadable;
  } else {
    out.files.emplace_back(payload);
  }
}

// Containers one after another, as the linker left them: zeros may lie between.
void read_containers(std::string_view bytes, Cubins& out) {
  for (std::uint64_t at = 0; at + container_header <= bytes.size();) {
    if (elf::at<std::uint64_t>(bytes, at) == 0) {
      at += 8;
      continue;
    }
    if (elf::at<std::uint32_t>(bytes, at) != magic) throw Error("is cut short or damaged");
    const auto header_bytes = elf::at<std::uint16_t>(bytes, at + 6);
    if (header_bytes < container_header) throw Error("is cut short or damaged");
    const std::string_view entries =
        elf::part(bytes, at + header_bytes, elf::at<std::uint64_t>(bytes, at + 8));
    for (std::uint64_t e = 0; e < entries.size();) {
      const auto own = elf::at<std::uint32_t>(entries, e + 4);
      if (own < entry_header) throw Error("is cut short or damaged");
      const std::string_view header = elf::part(entries, e, own);
      const std::string_view payload = elf::part(entries, e + own, elf::at<std::uint64_t>(entries, e + 8));
      read_entry(header, payload, out);
      e += own + payload.size();
    }
    at += header_bytes + entries.size();
  }
}

}  // namespace

Cubins cubins_of(std::string_view file) {
  Cubins out;
  if (!elf::is_elf(file)) {
    if (file.size() < 4 || elf::at<std::uint32_t>(file, 0) != magic)
      throw Error("is neither a program, library or object (ELF), nor a .cubin or .fatbin");
    read_containers(file, out);
    return out;
  }
  const elf::File host = elf::parse(file);
  if (host.machine == elf::machine_cuda) {
    out.files.emplace_back(file);
    return out;
  }
  for (const elf::Section& section : host.sections)
    if (section.name == ".nv_fatbin") read_containers(section.bytes, out);
  return out;
}

}  // namespace tessera::bench
