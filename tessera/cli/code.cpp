// SPDX-License-Identifier: Apache-2.0
// `tessera code`: what the compiler made of kernels, read from the GPU code in a file.
#include "tessera/bench/code.hpp"
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <set>
#include "tessera/bench/machine.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/cli/command.hpp"
#include "tessera/cli/file_names.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/option_parser.hpp"
#include "tessera/core/device.hpp"
#include "tessera/report/trace_table.hpp"

namespace tessera::cli {
namespace {

constexpr const char* about_code =
    "Reads the GPU code in a .cubin, .fatbin, object, library or program; without FILE, in this program.\n"
    "It needs no GPU and no CUDA.\n\n"
    "Counts are of instructions that stand in the code, each once, however often it runs: a loop that the\n"
    "compiler unrolled stands there several times. 32×32 + 8×128: 32 instructions that move 32 bits a lane,\n"
    "and 8 that move 128. Spill loads and stores go to memory because registers ran out, or because an\n"
    "array is indexed by what only the run knows; `per FMA` is instructions for each multiply-add.";

// "void integration::ForEach<…>(…)" → "ForEach"; of a kernel that is a class, which a function has as its
// argument, the class: "void unit_cuda::entry<matmul::WarpTiles<…>, …>(…)" → "WarpTiles".
std::string short_name(std::string name) {
  constexpr std::string_view unnamed = "(anonymous namespace)::", entry = "::entry<";
  for (std::size_t at; (at = name.find(unnamed)) != std::string::npos;) name.erase(at, unnamed.size());
  if (const std::size_t at = name.find(entry); at < name.find('(')) name.erase(0, at + entry.size());
  const std::string whole = name.substr(0, name.find_first_of("<(,>"));
  return whole.substr(whole.find_last_of(": ") + 1);  // npos + 1 is 0
}

// Those with one of the words in their names; without words, all. Throws Error where there are none.
std::vector<bench::KernelCode> kernels_of(const std::vector<std::string>& files,
                                          const std::vector<std::string>& wanted) {
  std::vector<bench::KernelCode> out;
  std::set<std::string> names;
  for (const std::string& file : files)
    for (bench::KernelCode& kernel : bench::read_code(file)) {
      names.insert(short_name(kernel.name));
      if (wanted.empty() || std::ranges::any_of(wanted, [&](const std::string& w) {
            return kernel.name.find(w) != std::string::npos || kernel.symbol.find(w) != std::string::npos;
          }))
        out.push_back(std::move(kernel));
    }
  if (!out.empty()) return out;
  if (wanted.empty()) throw Error("there is no kernel in it");
  unknown("the kernel", wanted.front(), {names.begin(), names.end()});
}

}  // namespace

int code(const Command& command) {
  std::vector<std::string> files;
  std::string kernels, json;
  OptionParser words("code", "tessera code [FILE…] [FLAGS]", about_code);
  words.positionals("FILE", files, "");
  words.value("--kernel", kernels, "only kernels whose name contains one of these; a list", "TEXT,…");
  words.value("--json", json, "the results; - is standard output", "FILE");
  words.closing(exit_codes);
  if (!words.read(command.words)) return fmt::print("{}\n", words.help()), exit_code::passed;
  if (files.empty() && find_backend(Where::cuda) == nullptr)
    throw Error(
        "this program was built without CUDA and holds no GPU code: name a .cubin, object, library or "
        "program "
        "that has some");
  if (files.empty()) files.push_back("/proc/self/exe");
  demand_files_of_their_own({{"--json", json}}, files, {});
  std::vector<bench::KernelCode> found = kernels_of(files, split(kernels, ','));
  std::ranges::stable_sort(found, {}, &bench::KernelCode::name);
  // A file can carry the same code several times, as a library that was linked into it and into another does.
  for (std::size_t i = 0; i < found.size(); ++i)
    for (std::size_t k = found.size() - 1; k > i; --k)
      if (found[k].name == found[i].name && bench::to_json(found[k]) == bench::to_json(found[i]))
        found.erase(found.begin() + static_cast<std::ptrdiff_t>(k));
  fmt::print(table_stream(json), "{}", report::code_table(found));
  nlohmann::ordered_json out{{"schema", 1}, {"kind", "code"}};
  out.update(bench::provenance(command.argv, bench::now_utc()));
  out["rows"] = nlohmann::ordered_json::array();
  for (const bench::KernelCode& kernel : found) out["rows"].push_back(bench::to_json(kernel));
  write_json(json, out);
  return exit_code::passed;
}

}  // namespace tessera::cli
