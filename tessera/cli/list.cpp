// SPDX-License-Identifier: Apache-2.0
// `tessera list`: the operations; one ladder, with the idea of each rung and where it runs; or the rung that
// is taken for a problem, and why.
#include <fmt/format.h>
#include <algorithm>
#include <optional>
#include <nlohmann/json.hpp>
#include "tessera/cli/bench_options.hpp"
#include "tessera/cli/command.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/cli/sizes.hpp"
#include "tessera/cli/option_parser.hpp"
#include "tessera/core/operation/epilogue_pass.hpp"
#include "tessera/bench/machine.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/report/table.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/place.hpp"

namespace tessera::cli {
namespace {

using Align = report::Table::Align;
using Json = nlohmann::ordered_json;

// A rung is a file; it may be registered for several places, or missing from this build.
struct Listed {
  std::string ladder, name, file, absent;
  int place = 0;
  std::vector<const Variant*> registered;
};

std::vector<Listed> rungs_of(const Operation& operation) {
  std::vector<Listed> out;
  for (const Variant* variant : ladder_of(operation.name)) {
    const auto same = std::ranges::find(out, variant->file, &Listed::file);
    if (same != out.end()) same->registered.push_back(variant);
    else out.push_back({variant->ladder, variant->name, variant->file, {}, variant->place, {variant}});
  }
  for (const CatalogueEntry& entry : catalogue())
    if (entry.operation == operation.name && std::ranges::find(out, entry.file, &Listed::file) == out.end())
      out.push_back({entry.ladder, entry.name, entry.file, entry.absent, entry.place, {}});
  std::ranges::sort(out, {}, [](const Listed& l) { return std::tie(l.ladder, l.place, l.file); });
  return out;
}

Reason reason_of(const Variant& variant) {
  if (Reason reason = unusable(variant.where)) return reason;
  return variant.unsupported_device
             ? variant.unsupported_device(find_backend(variant.where)->devices().front())
             : std::nullopt;
}

std::string where_it_runs(const Listed& rung, report::Notes& notes) {
  if (rung.registered.empty())
    return "no " + notes.refer(rung.absent.empty() ? "this build lacks it" : rung.absent);
  std::string here, reasons;
  for (const Variant* variant : rung.registered) {
    const std::string where(name_of(variant->where));
    if (const Reason reason = reason_of(*variant))
      reasons += (reasons.empty() ? "" : ", ") + ("no " + where + " " + notes.refer(where + ": " + *reason));
    else here += (here.empty() ? "" : ", ") + where;
  }
  if (here.empty()) return reasons;
  return reasons.empty() ? here : here + ", " + reasons;
}

bool computes(const Variant& variant, Element element) {
  return std::ranges::any_of(variant.choices,
                             [element](const Choice& choice) { return choice.prepare.contains(element); });
}

// Returns the elements that any of its choices computes.
std::vector<Element> elements_of(const Listed& rung) {
  std::vector<Element> out;
  for (const Element element : all_elements())
    if (std::ranges::any_of(rung.registered, [=](const Variant* v) { return computes(*v, element); }))
      out.push_back(element);
  return out;
}

std::vector<std::string> names_of(const std::vector<Element>& elements) {
  std::vector<std::string> out;
  for (const Element element : elements) out.emplace_back(name_of(element));
  return out;
}

std::string tunings_of(const Listed& rung) {
  if (rung.registered.empty()) return {};
  const auto& choices = rung.registered[0]->choices;
  const std::string first = to_string(choices.at(0).defaults());
  if (choices.size() == 1) return first.empty() ? "-" : first;
  return fmt::format("{} (+{})", first, choices.size() - 1);
}

// Returns the operands that a flag may transpose, each way; then the same with unaligned addresses.
std::vector<OperandLayout> operand_layouts(const Operation& operation) {
  std::vector<OperandLayout> out;
  for (const bool unaligned : {false, true})
    for (const Parameter& p : operation.signature.parameters)
      if (!p.transposed_by.empty())
        for (const bool transposed : {false, true}) out.push_back({p.name, transposed, unaligned});
  return out;
}

// Elements whose operands a rung reads in the same ways.
struct Handled {
  std::vector<Element> elements;
  std::vector<LayoutHandling> handlings;  // in the order of operand_layouts
};

std::vector<Handled> handled_by(const Operation& operation, const Variant& variant) {
  std::vector<Handled> out;
  const HandlesLayout* const handles = layouts_of(variant.file);
  const auto layouts = operand_layouts(operation);
  if (handles == nullptr || layouts.empty()) return out;
  for (const Element element : all_elements()) {
    if (!computes(variant, element)) continue;
    std::vector<LayoutHandling> handlings;
    for (const OperandLayout& layout : layouts) handlings.push_back((*handles)(element, layout));
    const auto same = std::ranges::find(out, handlings, &Handled::handlings);
    if (same == out.end()) out.push_back({{element}, handlings});
    else same->elements.push_back(element);
  }
  return out;
}

// Returns the handlings of the second half that differ from the first.
std::string unaligned_text(const Handled& handled) {
  const std::size_t half = handled.handlings.size() / 2;
  std::vector<std::string_view> differing;
  for (std::size_t i = half; i < handled.handlings.size(); ++i) {
    const std::string_view text = text_of(handled.handlings[i]);
    if (handled.handlings[i] != handled.handlings[i - half] &&
        std::ranges::find(differing, text) == differing.end())
      differing.push_back(text);
  }
  return differing.empty() ? "the same" : fmt::format("{}", fmt::join(differing, ", "));
}

// Returns a table of how rungs read operands; empty if none declares it.
std::string layout_table(const Operation& operation) {
  const auto layouts = operand_layouts(operation);
  const std::size_t aligned = layouts.size() / 2;
  std::vector<report::Table::Column> columns{{"variant", Align::left}, {"elements", Align::left}};
  for (std::size_t i = 0; i < aligned; ++i)
    columns.push_back({layouts[i].input + (layouts[i].transposed ? "ᵀ" : ""), Align::left});
  columns.push_back({"unaligned", Align::left});
  report::Table table(columns);
  std::string last;
  for (const Variant* variant : ladder_of(operation.name)) {
    if (variant->file == last) continue;
    last = variant->file;
    for (const Handled& handled : handled_by(operation, *variant)) {
      std::vector<std::string> row{full_name(*variant),
                                   fmt::format("{}", fmt::join(names_of(handled.elements), " "))};
      for (std::size_t i = 0; i < aligned; ++i) row.emplace_back(text_of(handled.handlings[i]));
      row.push_back(unaligned_text(handled));
      table.add(row);
    }
  }
  if (table.empty()) return {};
  return "\nOperand layouts (ᵀ: the file holds the transpose; unaligned: what differs where addresses or "
         "leading dimensions are no multiples of 16 bytes)\n" +
         table.text() +
         "The others read any layout directly, without a pass before; baselines as their library does.\n";
}

// Returns one line per rung. The idea comes last, where a table that is too wide is cut.
std::string ladder_table(const std::vector<Listed>& rungs, report::Notes& notes) {
  report::Table table({{"ladder", Align::left},
                       {"place"},
                       {"variant", Align::left},
                       {"runs here", Align::left},
                       {"idea", Align::left}});
  std::string ladder;
  for (const Listed& rung : rungs) {
    if (!ladder.empty() && ladder != rung.ladder) table.add_rule();
    ladder = rung.ladder;
    table.add({rung.ladder, fmt::format("{:02}", rung.place), rung.name, where_it_runs(rung, notes),
               rung.registered.empty() ? "-" : rung.registered[0]->idea});
  }
  return table.text();
}

// Returns the elements and tunings, ideas in full, operand layouts, and what rungs leave to an epilogue pass.
std::string details(const Operation& operation, const std::vector<Listed>& rungs) {
  report::Table table({{"variant", Align::left}, {"elements", Align::left}, {"tuning", Align::left}});
  std::size_t width = 0;
  for (const Listed& rung : rungs) width = std::max(width, rung.ladder.size() + rung.name.size() + 1);
  std::string ideas;
  for (const Listed& rung : rungs) {
    if (rung.registered.empty()) continue;
    const std::string name = rung.ladder + "/" + rung.name;
    table.add({name, fmt::format("{}", fmt::join(names_of(elements_of(rung)), " ")), tunings_of(rung)});
    ideas += fmt::format("  {:<{}}  {}\n", name, width, rung.registered[0]->idea);
  }
  const EpiloguePass* const pass = epilogue_pass_of(operation.name);
  return fmt::format("\n{}\nIdeas\n{}{}{}", table.text(), ideas, layout_table(operation),
                     pass == nullptr ? "" : "\nEpilogue pass\n" + pass->description);
}

void print_ladder(std::FILE* to, const Operation& operation, bool verbose) {
  fmt::print(to, "{}: {}\n", operation.name, operation.summary);
  if (verbose) fmt::print(to, "Usage: tessera {} {}\n", operation.name, operation.signature.usage());
  report::Notes notes("[]");  // reasons why rungs do not run here
  const auto rungs = rungs_of(operation);
  const std::string table = ladder_table(rungs, notes);
  fmt::print(to, "\n{}{}{}", table, notes.text(),
             verbose ? details(operation, rungs) : "-v shows elements, tunings and ideas in full.\n");
}

// Returns a rung, and whether it runs in each place where it is registered, with a "reason" if not.
Json json_of(const Listed& rung) {
  Json out{{"ladder", rung.ladder},
           {"place", rung.place},
           {"variant", rung.name},
           {"idea", rung.registered.empty() ? Json(nullptr) : Json(rung.registered[0]->idea)},
           {"elements", names_of(elements_of(rung))},
           {"tunings", Json::array()},
           {"runs", Json::array()}};
  if (rung.registered.empty()) {
    out["reason"] = rung.absent.empty() ? "this build lacks it" : rung.absent;
    return out;
  }
  for (const Choice& choice : rung.registered[0]->choices)
    out["tunings"].push_back(bench::to_json(choice.defaults()));
  for (const Variant* variant : rung.registered) {
    const Reason reason = reason_of(*variant);
    out["runs"].push_back({{"device", std::string(name_of(variant->where))},
                           {"here", !reason},
                           {"reason", reason ? Json(*reason) : Json(nullptr)}});
  }
  return out;
}

Json json_of(const Command& command, const std::vector<const Operation*>& shown, bool ladders) {
  Json out = json_head(command, "list");
  auto& all = out["operations"] = Json::array();
  for (const Operation* operation : shown) {
    const auto rungs = rungs_of(*operation);
    Json one{{"operation", operation->name}, {"summary", operation->summary}, {"variants", rungs.size()}};
    if (ladders) {
      one["usage"] = operation->name + " " + operation->signature.usage();
      for (const Listed& rung : rungs) one["ladder"].push_back(json_of(rung));
    }
    all.push_back(std::move(one));
  }
  return out;
}

// Prints the rung taken for a problem on a device, and why the others are not.
Json print_choice(std::FILE* to, const Operation& operation, const Point& point, const Device& device) {
  std::optional<Inputs> inputs;
  if (operation.signature.reads_contents(point.problem.words))
    inputs.emplace(operation, point.element, point.problem, 1);
  const Arguments arguments =
      inputs ? inputs->arguments() : arguments_without_memory(operation, point.element, point.problem);
  report::Table table({{"place"}, {"variant", Align::left}, {"", Align::left}});
  Json rungs = Json::array();
  bool is_any_held_back = false;
  for (const Considered& one : consider(device, operation, placed_arguments(arguments, device))) {
    const std::string what = one.taken && one.tuned    ? "taken: `tune` found it"
                             : one.taken && one.slower ? "taken: no other rung can; held back: " + *one.slower
                             : one.taken               ? "taken"
                             : one.cannot              ? "cannot: " + *one.cannot
                             : one.slower              ? "held back: " + *one.slower
                                                       : "can";
    table.add({fmt::format("{:02}", one.variant->place), one.variant->name, what});
    is_any_held_back = is_any_held_back || one.slower;
    rungs.push_back({{"variant", one.variant->name},
                     {"place", one.variant->place},
                     {"taken", one.taken},
                     {"tuned", one.tuned},
                     {"cannot", one.cannot ? Json(*one.cannot) : Json(nullptr)},
                     {"held_back", one.slower ? Json(*one.slower) : Json(nullptr)}});
  }
  fmt::print(to, "{}, {} on {}\n{}", title_of(operation, point.problem), name_of(point.element),
             bench::label_of(device), table.text());
  if (is_any_held_back)
    fmt::print(to, "held back: another rung is faster; it runs where a call names it by --variant.\n");
  return {{"operation", operation.name},
          {"element", std::string(name_of(point.element))},
          {"sizes", point.problem.dims},
          {"device", bench::label_of(device)},
          {"rungs", std::move(rungs)}};
}

int list_choices(const Command& command, const Operation& operation, const BenchOptions& options) {
  std::FILE* const to = table_stream(options.json);
  Json out = json_head(command, "list");
  for (const Point& point : points_of(operation, options))
    for (const Device& device : devices_named(options.device))
      out["choices"].push_back(print_choice(to, operation, point, device));
  write_json(options.json, out);
  return exit_code::passed;
}

// Returns the operation, if the words give sizes; null: they name operations.
const Operation* operation_with_sizes(const std::vector<std::string>& words) {
  const Operation* operation = nullptr;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (operation == nullptr) operation = find_operation(words[i]);
    else if (!words[i].starts_with('-') && !words[i - 1].starts_with("--") && !find_operation(words[i]) &&
             (words[i].find('=') != std::string::npos || !operation->signature.positional_texts().empty()))
      return operation;
  }
  return nullptr;
}

}  // namespace

int list(const Command& command) {
  BenchOptions options;
  std::vector<std::string>& names = options.positionals;
  std::string& json = options.json;
  bool verbose = false;
  OptionParser words("list", "tessera list [OPERATION [SIZES]] [-v] [--json FILE]",
                     "The operations; the ladder of one, and whether each rung runs here; or with sizes, as "
                     "m=1 n=4096 k=4096,\nwhich rung is taken, and why the others are not.");
  words.positionals("OPERATION SIZES", names, "");
  words.value("--device,--devices", options.device, "with sizes: where [a GPU, else cpu]", "WHERE");
  words.value("--element", options.element, "with sizes: a list [the operation's first]", "TYPE,…");
  words.flag("-v,--verbose", verbose, "elements, tunings, ideas in full, operand layouts");
  words.value("--json", json, "the same as JSON; - is standard output", "FILE");
  const Operation* const sized = operation_with_sizes(command.words);
  declare_flags(words, options, sized);
  if (!words.read(command.words)) return exit_code::passed;
  if (sized != nullptr) return list_choices(command, *sized, options);
  if (!options.element.empty() || options.device != "auto")
    throw Error("--element and --device go with sizes: tessera list OPERATION NAME=SIZE …");
  std::FILE* const to = table_stream(json);
  std::vector<const Operation*> shown;
  for (const std::string& name : names) shown.push_back(&operation_named(name));
  for (const Operation* operation : shown) print_ladder(to, *operation, verbose);
  report::Table table({{"operation", Align::left}, {"variants"}, {"", Align::left}});
  if (names.empty())
    for (const Operation& operation : operations()) {
      shown.push_back(&operation);
      table.add({operation.name, std::to_string(rungs_of(operation).size()), operation.summary});
    }
  if (names.empty()) fmt::print(to, "{}", table.text());
  write_json(json, json_of(command, shown, !names.empty()));
  return shown.empty() ? exit_code::no_device : exit_code::passed;
}

}  // namespace tessera::cli
