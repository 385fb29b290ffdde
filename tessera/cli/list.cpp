// SPDX-License-Identifier: Apache-2.0
// `tessera list`: the operations; or one ladder, with what each rung adds and where it runs.
#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include "tessera/cli/command.hpp"
#include "tessera/cli/intakes.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/cli/words.hpp"
#include "tessera/core/epilogue_pass.hpp"
#include "tessera/bench/machine.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/report/table.hpp"

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
  return variant.needs ? variant.needs(find_backend(variant.where)->devices().front()) : std::nullopt;
}

// Reasons why something does not run here: each is told once, below the table, and has a number in it.
class Notes {
 public:
  std::string number_of(const std::string& reason) {
    auto found = std::ranges::find(reasons_, reason);
    if (found == reasons_.end()) found = reasons_.insert(reasons_.end(), reason);
    return fmt::format("[{}]", found - reasons_.begin() + 1);
  }
  std::string text() const {
    std::string out;
    for (std::size_t i = 0; i < reasons_.size(); ++i) out += fmt::format("[{}] {}\n", i + 1, reasons_[i]);
    return out;
  }

 private:
  std::vector<std::string> reasons_;
};

std::string where_it_runs(const Listed& rung, Notes& notes) {
  if (rung.registered.empty())
    return "no " + notes.number_of(rung.absent.empty() ? "this build lacks it" : rung.absent);
  std::string here, reasons;
  for (const Variant* variant : rung.registered) {
    const std::string where(name_of(variant->where));
    if (const Reason reason = reason_of(*variant))
      reasons +=
          (reasons.empty() ? "" : ", ") + ("no " + where + " " + notes.number_of(where + ": " + *reason));
    else here += (here.empty() ? "" : ", ") + where;
  }
  if (here.empty()) return reasons;
  return reasons.empty() ? here : here + ", " + reasons;
}

// What any of its choices computes.
std::vector<std::string> elements_of(const Listed& rung) {
  const auto computes = [&rung](Element element) {
    return std::ranges::any_of(rung.registered, [element](const Variant* v) {
      return std::ranges::any_of(v->choices, [element](const Choice& c) { return c.run.contains(element); });
    });
  };
  std::vector<std::string> out;
  for (const Element element : all_elements())
    if (computes(element)) out.emplace_back(name_of(element));
  return out;
}

std::string tunings_of(const Listed& rung) {
  if (rung.registered.empty()) return {};
  const auto& choices = rung.registered[0]->choices;
  const std::string first = to_string(choices.at(0).defaults());
  if (choices.size() == 1) return first.empty() ? "-" : first;
  return fmt::format("{} (+{})", first, choices.size() - 1);
}

// What rungs leave to a step after them.
std::string rest_of(const Operation& operation) {
  const EpiloguePass* const completion = epilogue_pass_of(operation.name);
  return completion == nullptr ? "" : "\nWhat follows the sums\n" + completion->told;
}

void print_ladder(std::FILE* to, const Operation& operation) {
  fmt::print(to, "{}: {}\nUsage: tessera {} {}\n\n", operation.name, operation.summary, operation.name,
             operation.signature.usage());
  report::Table table({{"ladder", Align::left},
                       {"place"},
                       {"variant", Align::left},
                       {"elements", Align::left},
                       {"tuning", Align::left},
                       {"runs here", Align::left}});
  std::string ladder, ideas;
  Notes notes;
  const auto rungs = rungs_of(operation);
  std::size_t width = 0;
  for (const Listed& rung : rungs) width = std::max(width, rung.ladder.size() + rung.name.size() + 1);
  for (const Listed& rung : rungs) {
    if (!ladder.empty() && ladder != rung.ladder) table.add_rule();
    ladder = rung.ladder;
    table.add({rung.ladder, fmt::format("{:02}", rung.place), rung.name,
               fmt::format("{}", fmt::join(elements_of(rung), " ")), tunings_of(rung),
               where_it_runs(rung, notes)});
    if (!rung.registered.empty())
      ideas += fmt::format("  {:<{}}  {}\n", rung.ladder + "/" + rung.name, width, rung.registered[0]->idea);
  }
  fmt::print(to, "{}{}\nIdeas\n{}{}{}", table.text(), notes.text(), ideas, intake_table(operation),
             rest_of(operation));
}

// A rung, and on each place where it is registered whether it runs; "reason" where it does not.
Json json_of(const Operation& operation, const Listed& rung) {
  Json out{{"ladder", rung.ladder},
           {"place", rung.place},
           {"variant", rung.name},
           {"idea", rung.registered.empty() ? Json(nullptr) : Json(rung.registered[0]->idea)},
           {"elements", elements_of(rung)},
           {"tunings", Json::array()},
           {"runs", Json::array()}};
  if (rung.registered.empty()) {
    out["reason"] = rung.absent.empty() ? "this build lacks it" : rung.absent;
    return out;
  }
  for (const Choice& choice : rung.registered[0]->choices)
    out["tunings"].push_back(bench::to_json(choice.defaults()));
  out["inputs"] = json_of_intakes(operation, *rung.registered[0]);
  for (const Variant* variant : rung.registered) {
    const Reason reason = reason_of(*variant);
    out["runs"].push_back({{"device", std::string(name_of(variant->where))},
                           {"here", !reason},
                           {"reason", reason ? Json(*reason) : Json(nullptr)}});
  }
  return out;
}

Json json_of(const Command& command, const std::vector<const Operation*>& shown, bool ladders) {
  Json out{{"schema", 1}, {"kind", "list"}};
  out.update(bench::provenance(command.argv, bench::now_utc()));
  auto& all = out["operations"] = Json::array();
  for (const Operation* operation : shown) {
    const auto rungs = rungs_of(*operation);
    Json one{{"operation", operation->name}, {"summary", operation->summary}, {"variants", rungs.size()}};
    if (ladders) {
      one["usage"] = operation->name + " " + operation->signature.usage();
      for (const Listed& rung : rungs) one["ladder"].push_back(json_of(*operation, rung));
    }
    all.push_back(std::move(one));
  }
  return out;
}

}  // namespace

int list(const Command& command) {
  std::vector<std::string> names;
  std::string json;
  Words words("list", "tessera list [OPERATION] [--json FILE]",
              "The operations; or the ladder of one, and whether each rung runs here.");
  words.positionals("OPERATION", names, "");
  words.value("--json", json, "the same as JSON; - is standard output", "FILE");
  words.closing(exit_codes);
  if (!words.read(command.words)) return fmt::print("{}\n", words.help()), exit_code::passed;
  std::FILE* const to = table_stream(json);
  std::vector<const Operation*> shown;
  for (const std::string& name : names) shown.push_back(&operation_named(name));
  for (const Operation* operation : shown) print_ladder(to, *operation);
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
