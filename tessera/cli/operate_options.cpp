// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/operate_options.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <set>
#include "tessera/cli/command.hpp"
#include "tessera/cli/file_names.hpp"
#include "tessera/cli/positionals.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/cli/study_tables.hpp"
#include "tessera/core/division.hpp"

namespace tessera::cli {
namespace {

using Kind = Parameter::Kind;

std::string type_of(const Parameter& p) {
  switch (p.kind) {
    case Kind::input:
      return "FILE";
    case Kind::real:
      return "NUMBER";
    case Kind::integer:
      return "WHOLE_NUMBER";
    default:
      break;
  }
  std::string out;
  for (const auto& option : p.options) out += (out.empty() ? "" : "|") + option;
  return out.empty() ? "TEXT" : out;
}

// Another name where a parameter has this one.
std::string protect_flag(const Operation& operation) {
  const bool taken = std::ranges::any_of(operation.signature.parameters, [](const Parameter& p) {
    return p.is_flag() && p.flag() == "protect";
  });
  return taken ? "--protect-run" : "--protect";
}

}  // namespace

bool takes_pictures(const Operation& operation) {
  return std::ranges::any_of(operation.signature.parameters,
                             [](const Parameter& p) { return p.picture != Picture::no; });
}

std::string about(const Operation& operation) {
  std::string out = operation.summary + "\n", arrays, others;
  std::size_t array_width = 6;
  for (const Parameter& p : operation.signature.parameters)
    if (!p.is_flag() && p.is_array() && !p.extents.empty())
      array_width = std::max(array_width, p.name.size() + 2);
  for (const Parameter& p : operation.signature.parameters) {
    if (p.is_flag()) continue;
    std::string& to = p.is_array() && !p.extents.empty() ? arrays : others;
    to += fmt::format("  {:<{}}{}{}\n", p.name, p.is_array() && !p.extents.empty() ? array_width : 12, p.help,
                      p.kind == Kind::output  ? " (output)"
                      : p.kind == Kind::value ? " (reported)"
                                              : "");
  }
  if (!others.empty()) out += "\n" + others;
  if (!arrays.empty()) out += "\nArrays (.npy files, pictures: PNG, JPEG, TIFF, PGM, PPM, PFM)\n" + arrays;
  out += "\nElements:";
  for (const Element element : operation.elements) out += " " + std::string(name_of(element));
  return out;
}

void declare(OptionParser& words, const Operation& operation, OperateOptions& options) {
  words.positionals("ARRAYS", options.positionals, "");
  if (!operation.signature.positional_texts().empty()) words.expressions();
  words.values("-o,--output", options.outputs, "where an output goes; once for each; - is standard output",
               "FILE");
  for (const Parameter& p : operation.signature.parameters)
    if (p.is_flag())
      declare_flag(words, p, options.flags[p.name], p.help + (p.value.empty() ? "" : " [" + p.value + "]"),
                   type_of(p));
  const bool divisible = find_division(operation.name) != nullptr || takes_pictures(operation);
  words.value("--device,--devices", options.device,
              std::string("auto, cpu, simt or cuda[:N]; cpu:threads=N") +
                  (divisible ? "; a list of these, or all" : "") + " [auto]",
              "WHERE");
  if (divisible)
    declare(words, options.sharing, find_division(operation.name) != nullptr, protect_flag(operation));
  words.value("--variant", options.variant, "the rung to use; tessera list shows them", "NAME");
  words.value("--tuning", options.tuning, "its parameters", "NAME=N,…");
  const bool files = !operation.signature.of(Kind::input).empty();
  const bool needed = std::ranges::any_of(operation.signature.of(Kind::input),
                                          [](const Parameter* p) { return !p->optional; });
  const std::string usual(name_of(operation.elements.front()));
  words.value("--element", options.element,
              needed  ? "the arrays' type [that of the first file]"
              : files ? "the type of the result, and of files [that of the first file, else " + usual + "]"
                      : "the type of the result [" + usual + "]",
              "TYPE");
  if (takes_pictures(operation)) {
    words.value("--alpha", options.files.alpha,
                "of pictures: aside (given back to pictures of the same size), channel or drop", "WHAT");
    if (std::ranges::any_of(operation.signature.parameters, is_grid))
      words.value("--tiles", options.files.tiles, "of one picture that holds all of them: 17x17, rows first",
                  "ROWSxCOLS");
    words.value("--most-pixels", options.files.most_pixels, "a larger picture is refused [2^29]", "N");
    words.value("--quality", options.files.quality, "of JPEG files, 1 to 100 [95]", "N");
  }
  words.flag("--check", options.check, "verify the result; a wrong one is not written");
  if (const std::string known = studies_text(operation); !known.empty())
    words.value("--study", options.study, "instead of one run, tables that explain: " + known, "NAME");
  if (contraction_of(operation.name) != nullptr)
    words.flag("--distributed", options.distributed,
               "share it with the ranks that mpirun started; as found when there are several");
  words.flag("--no-cache", options.no_cache, "leave aside what `tune` has found");
  words.value("--json", options.json, "what was done, as JSON; - is standard output", "FILE");
  words.closing(exit_codes);
}

std::vector<OperateOptions> options_for_each(const Operation& operation, const OperateOptions& options,
                                             const std::vector<std::string>& inputs,
                                             const std::vector<std::vector<std::string>>& outputs) {
  std::vector<OperateOptions> out(inputs.size(), options);
  std::vector<std::string> written;
  for (const auto& of_one : outputs) written.insert(written.end(), of_one.begin(), of_one.end());
  for (const Parameter* p : operation.signature.of(Kind::input)) {
    if (!p->is_flag() || options.flags.at(p->name).empty()) continue;
    const auto files = paired_files(p->flag(), options.flags.at(p->name), inputs);
    const std::string flag = "--" + p->flag();
    for (const std::string& file : std::set<std::string>(files.begin(), files.end()))
      demand_files_of_their_own({{flag.c_str(), file}}, {}, written);
    for (std::size_t i = 0; i < inputs.size(); ++i) out[i].flags[p->name] = files[i];
  }
  return out;
}

void demand_apart_from_reports(const OperateOptions& options, const std::vector<std::string>& inputs,
                               const std::vector<std::string>& outputs) {
  demand_files_of_their_own({{"--json", options.json}, {"--timeline", options.sharing.timeline}}, inputs,
                            outputs);
}

}  // namespace tessera::cli
