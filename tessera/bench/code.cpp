// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/code.hpp"
#include <cxxabi.h>
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "tessera/bench/elf.hpp"
#include "tessera/core/array/rounding.hpp"
#if defined(TESSERA_HAS_ZSTD)
#include <zstd.h>
#endif

namespace tessera::bench {

struct Cubins {
  std::vector<std::string> files;  // ELF files
  std::size_t ptx = 0;             // PTX entries, which the driver compiles at load time
  std::size_t unreadable = 0;      // entries in a compression that this build cannot read
};

// Throws Error with a reason but no file name.
Cubins cubins_of(std::string_view file);

namespace {

constexpr std::uint32_t magic = 0xba55ed50;
constexpr std::uint64_t container_header = 16, entry_header = 64;
constexpr std::uint16_t kind_ptx = 1, kind_elf = 2;
constexpr std::uint64_t flag_lz4 = 0x2000, flag_zstd = 0x8000;
// A limit far above any kernel's size, so that a damaged length does not allocate all memory.
constexpr std::uint64_t max_bytes = std::uint64_t{1} << 30;

std::optional<std::string> unpacked([[maybe_unused]] std::string_view packed,
                                    [[maybe_unused]] std::uint64_t bytes) {
#if defined(TESSERA_HAS_ZSTD)
  if (bytes > max_bytes || ZSTD_getFrameContentSize(packed.data(), packed.size()) != bytes)
    throw Error("is cut short or damaged");
  std::string out(bytes, '\0');
  if (ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size()) != bytes)
    throw Error("is cut short or damaged");
  return out;
#else
  return std::nullopt;
#endif
}

// Reads one entry, whose header holds the compressed and the uncompressed size of its payload.
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

// Reads the containers that the linker concatenated, possibly with zeros between them.
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

namespace {

constexpr int oldest = 70;  // older architectures encode instructions differently
constexpr std::uint64_t instruction_bytes = 16;

int architecture_of(const elf::File& cubin) {
  constexpr unsigned newer_abi = 8;
  return static_cast<int>(cubin.abi_version >= newer_abi ? cubin.flags >> 8 & 0xff : cubin.flags & 0xff);
}

void count_width(Widths& widths, std::uint64_t upper, std::int64_t* bytes) {
  const unsigned width = upper >> 9 & 7;
  if (width == 6) ++widths.of128;
  else if (width == 5) ++widths.of64;
  else if (width == 4) ++widths.of32;
  else ++widths.narrow;
  if (bytes != nullptr) *bytes += width >= 4 ? 4 << (width - 4) : width < 2 ? 1 : 2;
}

struct Access {
  unsigned operation;
  Widths KernelCode::*widths;
  std::int64_t KernelCode::*bytes;
};
struct Plain {
  unsigned operation;
  std::int64_t KernelCode::*count;
};

using K = KernelCode;
constexpr Access accesses[] = {{0x181, &K::global_load, nullptr},
                               {0x186, &K::global_store, nullptr},
                               {0x184, &K::shared_load, nullptr},
                               {0x188, &K::shared_store, nullptr},
                               {0x183, &K::local_load, &K::spill_load_bytes},
                               {0x187, &K::local_store, &K::spill_store_bytes}};
constexpr Plain plain[] = {{0x023, &K::fma32},       {0x021, &K::add32},   {0x020, &K::mul32},
                           {0x02b, &K::fma64},       {0x029, &K::add64},   {0x028, &K::mul64},
                           {0x03b, &K::matrix_load}, {0x11d, &K::barriers}};

// Counts an instruction. Nine bits encode its operation, and three more the kinds of its operands.
void count_instruction(KernelCode& out, std::uint64_t lower, std::uint64_t upper) {
  constexpr unsigned no_operation = 0x118;
  const unsigned operation = lower & 0x1ff;
  if (operation == no_operation) return;
  ++out.instructions;
  for (const Access& access : accesses)
    if (operation == access.operation)
      count_width(out.*access.widths, upper, access.bytes != nullptr ? &(out.*access.bytes) : nullptr);
  for (const Plain& one : plain)
    if (operation == one.operation) ++(out.*one.count);
}

// Finds an attribute in .nv.info. Each entry is a format, a name, and either a 2-byte value or a length and
// that many bytes.
std::optional<std::int64_t> attribute(const elf::File& cubin, unsigned wanted, std::string_view symbol) {
  constexpr unsigned sized = 4;
  const elf::Section* info = cubin.find(".nv.info");
  if (info == nullptr) return std::nullopt;
  for (std::uint64_t o = 0; o + 4 <= info->bytes.size();) {
    const unsigned form = elf::at<std::uint8_t>(info->bytes, o),
                   name = elf::at<std::uint8_t>(info->bytes, o + 1);
    const std::uint64_t size = form == sized ? elf::at<std::uint16_t>(info->bytes, o + 2) : 0;
    if (name == wanted && size >= 8) {
      const auto index = elf::at<std::uint32_t>(info->bytes, o + 4);
      if (index < cubin.symbols.size() && cubin.symbols[index].name == symbol)
        return elf::at<std::uint32_t>(info->bytes, o + 8);
    }
    o += 4 + size;
  }
  return std::nullopt;
}

std::int64_t shared_bytes_of(const elf::File& cubin, const std::string& symbol) {
  const elf::Section* own = cubin.find(".nv.shared." + symbol);
  if (own == nullptr) return 0;
  // Since Hopper the section begins with the part reserved for the driver.
  const std::uint64_t reserve = cubin.find(".nv.shared.reserved.0") != nullptr ? 1024 : 0;
  return own->size > reserve ? static_cast<std::int64_t>(own->size - reserve) : 0;
}

void read_cubin(std::string_view bytes, std::vector<KernelCode>& out) {
  constexpr unsigned register_count = 0x2f, frame_size = 0x11;
  constexpr std::string_view text = ".text.";
  const elf::File cubin = elf::parse(bytes);
  if (cubin.machine != elf::machine_cuda) throw Error("is cut short or damaged");
  const int architecture = architecture_of(cubin);
  for (const elf::Section& section : cubin.sections) {
    if (!section.name.starts_with(text)) continue;
    KernelCode code;
    code.symbol = section.name.substr(text.size());
    // Only kernels have a constant bank for parameters; skips device functions.
    if (cubin.find(".nv.constant0." + code.symbol) == nullptr) continue;
    if (architecture < oldest)
      throw Error("holds code for compute capability " + std::to_string(architecture / 10) + "." +
                  std::to_string(architecture % 10) + ", and only that of 7.0 and later can be read");
    code.name = readable(code.symbol);
    code.architecture = architecture;
    code.registers = attribute(cubin, register_count, code.symbol);
    code.stack_bytes = attribute(cubin, frame_size, code.symbol);
    code.shared_bytes = shared_bytes_of(cubin, code.symbol);
    for (std::uint64_t o = 0; o + instruction_bytes <= section.bytes.size(); o += instruction_bytes)
      count_instruction(code, elf::at<std::uint64_t>(section.bytes, o),
                        elf::at<std::uint64_t>(section.bytes, o + 8));
    out.push_back(std::move(code));
  }
}

bool replace_all(std::string& text, std::string_view from, std::string_view to) {
  bool any = false;
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size(), any = true)
    text.replace(at, from.size(), to);
  return any;
}

// Replaces words that begin with `start` and are followed by `behind`.
void replace_words(std::string& text, std::string_view start, std::string_view behind, std::string_view to) {
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t at = 0; (at = text.find(start, at)) != std::string::npos;) {
    std::size_t end = at + start.size();
    while (end < text.size() && in_word(text[end])) ++end;
    if (text.compare(end, behind.size(), behind) == 0) {
      text.replace(at, end + behind.size() - at, to);
      at += to.size();
    } else {
      at = end;
    }
  }
}

// Removes differences between compilers from a name: namespaces of files, inline namespaces of builds, and
// trailing zeros of a braced value, which only some compilers write.
std::string spelled(std::string name) {
  replace_words(name, "_GLOBAL__N_", "", "(anonymous namespace)");
  replace_words(name, "unit_", "::", "");
  for (const std::string_view cast : {"(int)", "(bool)", "(unsigned int)"}) replace_all(name, cast, "");
  for (bool again = true; again;) {
    again = replace_all(name, ", 0}", "}");
    again = replace_all(name, ", false}", "}") || again;
  }
  replace_all(name, "{0}", "{}");
  replace_all(name, "{false}", "{}");
  while (replace_all(name, "> >", ">>")) continue;
  return name;
}

}  // namespace

std::string readable(const std::string& symbol) {
  constexpr std::size_t longest = 4096;  // longer symbols come from damaged files
  if (symbol.size() > longest) return symbol;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  const std::string name = status == 0 ? text.get() : symbol;
  return name.size() > longest ? symbol : spelled(name);
}

std::string made_from(const std::string& kernel_name) {
  constexpr std::string_view entry = "::entry<";
  const std::size_t at = kernel_name.find(entry);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + entry.size();
  int depth = 0;
  for (std::size_t end = begin; end < kernel_name.size(); ++end) {
    const char c = kernel_name[end];
    if (depth == 0 && (c == ',' || c == '>')) return kernel_name.substr(begin, end - begin);
    depth += c == '<' || c == '{' || c == '(' ? 1 : c == '>' || c == '}' || c == ')' ? -1 : 0;
  }
  return {};
}

std::optional<double> KernelCode::instructions_per_fma() const {
  const std::int64_t fmas = fma32 + fma64;
  if (fmas == 0) return std::nullopt;
  return static_cast<double>(instructions) / static_cast<double>(fmas);
}

std::vector<KernelCode> code_of(std::string_view file) {
  const Cubins cubins = cubins_of(file);
  std::vector<KernelCode> out;
  for (const std::string& cubin : cubins.files) read_cubin(cubin, out);
  if (!out.empty()) return out;
  if (cubins.unreadable != 0)
    throw Error(
        "holds code compressed in a way that this build cannot read: compile with nvcc "
        "--compress-mode=none, or give a .cubin");
  if (cubins.ptx != 0) throw Error("holds PTX only, which the driver compiles when it runs: give a .cubin");
  throw Error("holds no GPU code");
}

std::vector<KernelCode> read_code(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(path + ": cannot be read");
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  try {
    return code_of(bytes);
  } catch (const Error& error) {
    throw Error(error.kind(), path + ": " + error.what());
  }
}

const KernelCode* find_code(const std::vector<KernelCode>& all, const std::string& kernel_type,
                            int capability) {
  const std::string wanted = "<" + readable(kernel_type) + ",";
  const KernelCode* best = nullptr;
  for (const KernelCode& code : all) {
    const bool runs = code.architecture <= capability && code.architecture / 10 == capability / 10;
    if (runs && (best == nullptr || code.architecture > best->architecture) &&
        code.name.find(wanted) != std::string::npos)
      best = &code;
  }
  return best;
}

namespace {

struct Capability {
  int number, warps, blocks;
  std::int64_t shared_kilobytes;
};

// CUDA C++ Programming Guide 13, "Compute Capabilities", tables of technical specifications and of memory;
// the toolkit's cuda_occupancy.h says the same.
constexpr Capability capabilities[] = {
    {75, 32, 16, 64},  {80, 64, 32, 164},  {86, 48, 16, 100},  {87, 48, 16, 164},  {89, 48, 24, 100},
    {90, 64, 32, 228}, {100, 64, 32, 228}, {110, 48, 24, 228}, {120, 48, 24, 100},
};

}  // namespace

Multiprocessor multiprocessor_of(int compute_capability) {
  const Capability* nearest = &capabilities[0];
  for (const Capability& known : capabilities)
    if (known.number <= compute_capability) nearest = &known;
  Multiprocessor out;
  out.warps = nearest->warps;
  out.blocks = nearest->blocks;
  out.shared_bytes = nearest->shared_kilobytes * 1024;
  if (nearest->number < 80) out.shared_reserved = 0, out.shared_unit = 256;
  return out;
}

Occupancy occupancy(const Multiprocessor& on, std::int64_t threads_per_block, std::int64_t shared_bytes,
                    std::optional<std::int64_t> registers) {
  Occupancy out;
  if (threads_per_block <= 0) return out;
  const std::int64_t warps = (threads_per_block + 31) / 32;
  std::int64_t most = on.blocks;
  out.limit = "blocks";
  const auto at_most = [&](std::int64_t blocks, const char* what) {
    if (blocks >= most) return;
    most = blocks;
    out.limit = what;
  };
  at_most(on.warps / warps, "warps");
  if (shared_bytes > 0)
    at_most(on.shared_bytes / round_up(shared_bytes + on.shared_reserved, on.shared_unit), "shared memory");
  if (registers && *registers > 0) {
    const std::int64_t each = round_up(*registers * 32, on.registers_per_warp_unit);
    at_most(on.registers / on.parts / each * on.parts / warps, "registers");
  }
  out.blocks = static_cast<int>(most);
  out.warps = static_cast<int>(most * warps);
  out.fraction = static_cast<double>(out.warps) / on.warps;
  return out;
}

}  // namespace tessera::bench
