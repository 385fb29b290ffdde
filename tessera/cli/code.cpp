// SPDX-License-Identifier: Apache-2.0
// `tessera code`: the compiler's output for kernels, read from the GPU code in a file.
#include "tessera/bench/code.hpp"
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include "tessera/bench/machine.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/cli/command.hpp"
#include "tessera/cli/files.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/option_parser.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/core/device/device.hpp"
#include "tessera/report/trace_table.hpp"

namespace tessera::cli {
namespace {

constexpr const char* about_code =
    "Analyses compiled GPU kernels: registers, spills, widths of memory accesses. It needs no "
    "GPU and\n"
    "no CUDA.\n\n"
    "OPERATION is one whose kernels this program holds; without it, the first. FILE is a .cubin, .fatbin, "
    "object,\n"
    "library or program; all its kernels are shown.\n\n"
    "Instructions in the code are counted once, however often they run. 32×32 + 8×128: 32\n"
    "instructions that move 32 bits a lane, and 8 that move 128. Spills go to memory because registers ran "
    "out, or\n"
    "because an array is indexed by a value that only the run knows. `per FMA`: instructions for each "
    "multiply-add.";

struct CodeOptions {
  std::vector<std::string> positionals;
  std::string kernels, element, json;
  bool all = false;
};

// Names the rung of each kernel that a registered variant uses; a GPU's variant before the executor's.
void name_rungs(std::vector<bench::KernelCode>& kernels) {
  std::map<std::string, bench::KernelCode> known;
  for (const Where where : {Where::cuda, Where::simt})
    for (const Operation& operation : operations())
      for (const Variant* variant : ladder_of(operation.name)) {
        if (variant->where != where) continue;
        for (const Choice& choice : variant->choices)
          for (const auto& [element, type] : choice.kernels) {
            bench::KernelCode rung;
            rung.operation = operation.name;
            rung.variant = variant->ladder + "/" + variant->name;
            rung.tuning = to_string(choice.tuning);
            rung.element = name_of(element);
            known.emplace(bench::readable(type), rung);
          }
      }
  for (bench::KernelCode& kernel : kernels)
    if (const auto rung = known.find(bench::made_from(kernel.name)); rung != known.end()) {
      kernel.operation = rung->second.operation;
      kernel.variant = rung->second.variant;
      kernel.tuning = rung->second.tuning;
      kernel.element = rung->second.element;
    }
}

// Returns "Tiles" of "void f::Tiles<…>(…)".
std::string plain_name(const bench::KernelCode& kernel) {
  if (!kernel.variant.empty()) return kernel.variant.substr(kernel.variant.find('/') + 1);
  const std::string name = report::short_name(kernel.name);
  const std::string whole = name.substr(0, name.find_first_of("<(,>"));
  return whole.substr(whole.find_last_of(": ") + 1);  // npos + 1 is 0
}

// Returns the kernels whose names contain one of `names`. Throws Error if there are none.
std::vector<bench::KernelCode> named(const std::vector<bench::KernelCode>& kernels,
                                     const std::vector<std::string>& names) {
  std::vector<bench::KernelCode> out;
  std::set<std::string> known;
  for (const bench::KernelCode& kernel : kernels) {
    known.insert(plain_name(kernel));
    if (std::ranges::any_of(names, [&](const std::string& name) {
          return kernel.variant.find(name) != std::string::npos ||
                 kernel.name.find(name) != std::string::npos || kernel.symbol.find(name) != std::string::npos;
        }))
      out.push_back(kernel);
  }
  if (out.empty()) unknown("the kernel", names.front(), {known.begin(), known.end()});
  return out;
}

// Reduces a program's many kernels to those of one operation and one element.
std::vector<bench::KernelCode> narrowed(const std::vector<bench::KernelCode>& kernels, std::string operation,
                                        std::string element) {
  const auto first_of = [&](std::string bench::KernelCode::*field) {
    const auto first = std::ranges::find_if(kernels, [&](const bench::KernelCode& kernel) {
      return !kernel.variant.empty() && (operation.empty() || kernel.operation == operation);
    });
    return first == kernels.end() ? std::string() : (*first).*field;
  };
  if (operation.empty()) operation = first_of(&bench::KernelCode::operation);
  if (element.empty() && !operation.empty()) {
    const bool usual = std::ranges::any_of(kernels, [&](const bench::KernelCode& kernel) {
      return kernel.operation == operation &&
             kernel.element == name_of(element_named(operation_named(operation), ""));
    });
    element = usual ? std::string(name_of(element_named(operation_named(operation), "")))
                    : first_of(&bench::KernelCode::element);
  }
  std::vector<bench::KernelCode> out;
  std::ranges::copy_if(kernels, std::back_inserter(out), [&](const bench::KernelCode& kernel) {
    return kernel.operation == operation && kernel.element == element;
  });
  if (out.empty())
    throw Error("there is no kernel of " + operation + (element.empty() ? "" : " for " + element) +
                "; --all shows what there is");
  return out;
}

// A file can carry the same code several times, as a library that was linked into it and into another does.
void drop_copies(std::vector<bench::KernelCode>& kernels) {
  std::set<std::string> seen;
  std::erase_if(kernels, [&](const bench::KernelCode& kernel) {
    return !seen.insert(bench::to_json(kernel).dump()).second;
  });
}

std::vector<bench::KernelCode> kernels_of(const CodeOptions& options) {
  std::vector<std::string> files;
  std::string operation;
  for (const std::string& word : options.positionals) {
    if (find_operation(word) != nullptr) operation = word;
    else files.push_back(word);
  }
  require_files_of_their_own({{"--json", options.json}}, files, {});
  if (files.empty() && find_backend(Where::cuda) == nullptr)
    throw Error(
        "this program was built without CUDA and holds no GPU code: name a .cubin, object, library or "
        "program that has some");
  const bool own = files.empty();
  if (own) files.push_back(bench::library_file());
  std::vector<bench::KernelCode> out;
  for (const std::string& file : files) std::ranges::move(bench::read_code(file), std::back_inserter(out));
  name_rungs(out);
  const auto order = [](const bench::KernelCode& kernel) {
    using Text = std::string_view;  // a shorter tuning before a longer one: tile=8 before tile=16
    return std::tuple(Text(kernel.operation), Text(kernel.variant), Text(kernel.element),
                      kernel.tuning.size(), Text(kernel.tuning), Text(kernel.name));
  };
  std::ranges::stable_sort(out, {}, order);
  drop_copies(out);
  if (!options.kernels.empty()) out = named(out, split(options.kernels, ','));
  const bool wanted = !operation.empty() || !options.element.empty();
  return wanted || (own && options.kernels.empty() && !options.all)
             ? narrowed(out, operation, options.element)
             : out;
}

}  // namespace

int code(const Command& command) {
  CodeOptions options;
  OptionParser parser("code", "tessera code [OPERATION | FILE…] [FLAGS]", about_code);
  parser.positionals("FILE", options.positionals, "");
  parser.value("--kernel", options.kernels, "only kernels whose name contains one of these; a list",
               "TEXT,…");
  parser.value("--element", options.element, "of an operation's kernels, those for this element [its first]",
               "TYPE");
  parser.flag("--all", options.all, "every kernel in this program");
  parser.value("--json", options.json, "the results; - is standard output", "FILE");
  if (!parser.read(command.words)) return exit_code::passed;
  const std::vector<bench::KernelCode> found = kernels_of(options);
  fmt::print(table_stream(options.json), "{}", report::code_table(found));
  nlohmann::ordered_json out = json_head(command, "code");
  out["rows"] = nlohmann::ordered_json::array();
  for (const bench::KernelCode& kernel : found) out["rows"].push_back(bench::to_json(kernel));
  write_json(options.json, out);
  return exit_code::passed;
}

}  // namespace tessera::cli
