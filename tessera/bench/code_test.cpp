// SPDX-License-Identifier: Apache-2.0
// Reads synthetic GPU code, intact and damaged.
#include <gtest/gtest.h>
#include <array>
#include <cstring>
#include "tessera/bench/code.hpp"
#include "tessera/bench/elf.hpp"

namespace tessera::bench {
namespace {

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Makes an ELF file of the added sections; the section of names comes last.
class ElfMaker {
 public:
  ElfMaker(unsigned machine, std::uint32_t flags) : machine_(machine), flags_(flags) { add("", 0, ""); }

  void add(const std::string& name, std::uint32_t type, const std::string& bytes, std::uint32_t link = 0,
           std::uint64_t size_without_bytes = 0) {
    constexpr std::uint32_t no_bits = 8;
    put<std::uint32_t>(headers_, static_cast<std::uint32_t>(names_.size()));
    names_ += name + '\0';
    put(headers_, type);
    put<std::uint64_t>(headers_, 0);
    put<std::uint64_t>(headers_, 0);
    put<std::uint64_t>(headers_, 64 + contents_.size());
    put<std::uint64_t>(headers_, type == no_bits ? size_without_bytes : bytes.size());
    put(headers_, link);
    headers_.append(20, '\0');
    contents_ += bytes;
    ++count_;
  }

  std::string file() {
    const std::uint64_t names_at = contents_.size();
    const auto last = static_cast<std::uint16_t>(count_);
    add(".shstrtab", 3, "");
    std::string headers = headers_;
    const std::uint64_t names_bytes = names_.size(), place = 64 + names_at;
    std::memcpy(headers.data() + last * 64 + 24, &place, 8);
    std::memcpy(headers.data() + last * 64 + 32, &names_bytes, 8);
    std::string out(
        "\x7f"
        "ELF\2\1\1\x41\x08",
        9);
    out.resize(16);
    put<std::uint16_t>(out, 2);
    put<std::uint16_t>(out, static_cast<std::uint16_t>(machine_));
    out.resize(40);
    put<std::uint64_t>(out, 64 + contents_.size() + names_.size());
    put(out, flags_);
    out.resize(58);
    put<std::uint16_t>(out, 64);
    put<std::uint16_t>(out, static_cast<std::uint16_t>(count_));
    put(out, last);
    return out + contents_ + names_ + headers;
  }

 private:
  unsigned machine_;
  std::uint32_t flags_;
  std::string contents_, names_, headers_;
  int count_ = 0;
};

struct Instruction {
  unsigned operation, width = 0;
};

std::string text(const std::vector<Instruction>& instructions) {
  std::string out;
  for (const Instruction& i : instructions) {
    put<std::uint64_t>(out, 0x7000 | i.operation);
    put<std::uint64_t>(out, std::uint64_t{i.width} << 9);
  }
  return out;
}

constexpr unsigned of32 = 4, of64 = 5, of128 = 6;

std::string cubin(std::uint32_t architecture = 90) {
  ElfMaker elf(elf::machine_cuda, 0x6000004 | architecture << 8);
  const std::string symbol = "_Z4tinyPf";
  std::string symbols(24, '\0'), info;
  put<std::uint32_t>(symbols, 1);
  symbols.append({elf::function, 0, 4, 0});
  symbols.append(16, '\0');
  info.append("\x04\x2f\x08\x00\x01\x00\x00\x00", 8);  // registers of symbol 1
  put<std::uint32_t>(info, 40);
  info.append("\x03\x50\x00\x00", 4);
  info.append("\x04\x11\x08\x00\x01\x00\x00\x00", 8);  // its stack
  put<std::uint32_t>(info, 24);
  elf.add(".strtab", 3, std::string(1, '\0') + symbol + '\0');
  elf.add(".symtab", 2, symbols, 1);
  elf.add(".nv.info", 0x70000000, info);
  elf.add(".text." + symbol, 1,
          text({{0x981, of128},
                {0x981, of32},
                {0x984, of32},
                {0x984, of64},
                {0x388, of32},
                {0x983, of64},
                {0x387, of32},
                {0xb1d},
                {0x223},
                {0x823},
                {0x221},
                {0x220},
                {0x986, of32},
                {0x94d},
                {0x918}}));
  elf.add(".nv.constant0." + symbol, 1, std::string(8, '\0'));
  elf.add(".nv.shared." + symbol, 8, "", 0, 1024 + 512);
  elf.add(".nv.shared.reserved.0", 8, "");
  elf.add(".text.helper", 1, text({{0x223}}));  // a function that is no kernel
  return elf.file();
}

std::string fatbin(const std::string& code, std::uint16_t kind = 2, std::uint64_t flags = 0x11) {
  std::string out;
  put<std::uint32_t>(out, 0xba55ed50);
  put<std::uint16_t>(out, 1);
  put<std::uint16_t>(out, 16);
  put<std::uint64_t>(out, 64 + code.size());
  put(out, kind);
  put<std::uint16_t>(out, 0x101);
  put<std::uint32_t>(out, 64);
  put<std::uint64_t>(out, code.size());
  out.resize(16 + 40);
  put(out, flags);
  out.resize(16 + 64);
  return out + code;
}

std::string program(const std::string& section) {
  ElfMaker elf(62, 0);
  elf.add(".text", 1, std::string(32, '\x90'));
  elf.add(".nv_fatbin", 1, section);
  return elf.file();
}

std::string message_of(const std::string& file) {
  try {
    (void)code_of(file);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Code, CountsTheInstructionsOfAKernel) {
  const auto found = code_of(cubin());
  ASSERT_EQ(found.size(), 1u);
  const KernelCode& k = found[0];
  EXPECT_EQ(k.name, "tiny(float*)");
  EXPECT_EQ(k.architecture, 90);
  EXPECT_EQ(k.registers, 40);
  EXPECT_EQ(k.stack_bytes, 24);
  EXPECT_EQ(k.shared_bytes, 512);
  EXPECT_EQ(k.global_load.of128, 1);
  EXPECT_EQ(k.global_load.of32, 1);
  EXPECT_EQ(k.shared_load.of32, 1);
  EXPECT_EQ(k.shared_load.of64, 1);
  EXPECT_EQ(k.shared_store.of32, 1);
  EXPECT_EQ(k.global_store.all(), 1);
  EXPECT_EQ(k.spill_load_bytes, 8);
  EXPECT_EQ(k.spill_store_bytes, 4);
  EXPECT_EQ(k.fma32, 2);
  EXPECT_EQ(k.add32, 1);
  EXPECT_EQ(k.mul32, 1);
  EXPECT_EQ(k.barriers, 1);
  EXPECT_EQ(k.instructions, 14);  // without the padding at the end
  EXPECT_DOUBLE_EQ(*k.instructions_per_fma(), 7);
}

TEST(Code, FindsItInProgramsWithSeveralContainers) {
  const std::string both = fatbin(cubin(80)) + std::string(8, '\0') + fatbin(cubin(90));
  EXPECT_EQ(code_of(fatbin(cubin())).size(), 1u);
  const auto found = code_of(program(both));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].architecture, 80);
  EXPECT_EQ(found[1].architecture, 90);
}

TEST(Code, ReportsMissingCode) {
  EXPECT_EQ(message_of(program("")), "holds no GPU code");
  EXPECT_NE(message_of(program(fatbin("ptx", 1))).find("holds PTX only"), std::string::npos);
  EXPECT_NE(message_of(program(fatbin(cubin(), 2, 0x2011))).find("--compress-mode=none"), std::string::npos);
  EXPECT_NE(message_of(cubin(60)).find("6.0"), std::string::npos);
  EXPECT_NE(message_of("").find("neither"), std::string::npos);
  EXPECT_THROW((void)read_code("/nowhere"), Error);
}

TEST(Code, CompilersSpellAKernelAlike) {
  const std::string nvcc =
      "_ZN7tessera9unit_cuda6detail5entryINS_6matmul66_GLOBAL__N__79b400e1_27_gpu_05_shared_tiles_simt_cu_"
      "dec9abba_2219411SharedTilesIfXtlNS4_6ConfigELi32EEEEENS3_9unit_cuda7ProblemIfEEEEvT0_";
  const std::string gcc = "N7tessera6matmul12_GLOBAL__N_111SharedTilesIfXtlNS1_6ConfigELi32EEEEE";
  KernelCode code;
  code.name = readable(nvcc);
  code.architecture = 90;
  const std::vector<KernelCode> all{code};
  EXPECT_EQ(find_code(all, gcc, 90), &all[0]) << code.name << " / " << readable(gcc);
  EXPECT_EQ(find_code(all, "N7tessera6matmul12_GLOBAL__N_111SharedTilesIfXtlNS1_6ConfigELi16EEEEE", 90),
            nullptr);
  EXPECT_EQ(find_code(all, "N7tessera6matmul12_GLOBAL__N_111SharedTilesIdXtlNS1_6ConfigELi32EEEEE", 90),
            nullptr);
  EXPECT_EQ(find_code(all, gcc, 100), nullptr);
  EXPECT_EQ(find_code(all, gcc, 89), nullptr);
}

TEST(Code, CodeRunsOnLaterDevicesOfItsFamilyOnly) {
  const std::string type = "f";
  std::vector<KernelCode> all(2);
  all[0].name = all[1].name = "entry<" + readable(type) + ", P>";
  all[0].architecture = 80;
  all[1].architecture = 86;
  EXPECT_EQ(find_code(all, type, 89), &all[1]);
  EXPECT_EQ(find_code(all, type, 80), &all[0]);
  EXPECT_EQ(find_code(all, type, 90), nullptr);
}

// Any prefix, and any file with one byte changed, is either read or refused with a message.
TEST(Code, CorruptFilesAreErrors) {
  for (const std::string& whole : {cubin(), program(fatbin(cubin()))}) {
    int refused = 0;
    for (std::size_t size = 0; size < whole.size(); ++size)
      refused += message_of(whole.substr(0, size)).empty() ? 0 : 1;
    EXPECT_EQ(refused, static_cast<int>(whole.size()));
    for (std::size_t at = 0; at < whole.size(); ++at)
      for (const int value : {0x00, 0x01, 0x7f, 0xff}) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(value);
        (void)message_of(damaged);
      }
  }
}

}  // namespace

namespace {

TEST(Occupancy, TheScarcestLimits) {
  const Multiprocessor hopper = multiprocessor_of(90);
  EXPECT_EQ(occupancy(hopper, 256, 0).warps, 64);
  EXPECT_EQ(occupancy(hopper, 256, 0).limit, "warps");
  EXPECT_EQ(occupancy(hopper, 32, 0).limit, "blocks");
  EXPECT_EQ(occupancy(hopper, 32, 0).fraction, 0.5);
  EXPECT_EQ(occupancy(hopper, 768, 0).blocks, 2) << "24 warps leave 16 unused";
  const Occupancy shared = occupancy(hopper, 256, 48 * 1024);
  EXPECT_EQ(shared.blocks, 4) << "each takes a kilobyte more";
  EXPECT_EQ(shared.limit, "shared memory");
  const Occupancy registers = occupancy(hopper, 256, 0, 128);
  EXPECT_EQ(registers.blocks, 2);
  EXPECT_EQ(registers.limit, "registers");
  EXPECT_EQ(occupancy(hopper, 64, 0, 48).warps, 40)
      << "10 warps in each of the four parts, though all their registers together would do for 42";
  EXPECT_EQ(occupancy(hopper, 1024, 0, 255).blocks, 0) << "cannot run at all";
}

TEST(Occupancy, EachCapabilityHasItsOwnLimits) {
  const auto limits = [](int capability) {
    const Multiprocessor m = multiprocessor_of(capability);
    return std::array<std::int64_t, 3>{m.warps, m.blocks, m.shared_bytes / 1024};
  };
  using Limits = std::array<std::int64_t, 3>;
  EXPECT_EQ(limits(75), (Limits{32, 16, 64}));
  EXPECT_EQ(limits(86), (Limits{48, 16, 100}));
  EXPECT_EQ(limits(87), (Limits{48, 16, 164})) << "Orin: the shared memory of 8.0, the warps of 8.6";
  EXPECT_EQ(limits(89), (Limits{48, 24, 100}));
  EXPECT_EQ(limits(103), (Limits{64, 32, 228})) << "as the nearest below";
  EXPECT_EQ(limits(110), (Limits{48, 24, 228})) << "Thor";
  EXPECT_EQ(limits(121), (Limits{48, 24, 100}));
}

}  // namespace

}  // namespace tessera::bench
