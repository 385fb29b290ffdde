// SPDX-License-Identifier: Apache-2.0
// `tessera verify`: tests everything that an operation promises.
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <map>
#include "tessera/cli/command.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/cli/option_parser.hpp"
#include "tessera/bench/machine.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/report/table.hpp"
#include "tessera/run/conformance.hpp"
#include "tessera/run/inputs.hpp"

namespace tessera::cli {
namespace {

using Align = report::Table::Align;

struct VerifyFlags {
  std::vector<std::string> operations;
  std::string device = "all", variant, element, json;
  bool quick = false;
};

// The totals of one device's walk over one operation.
struct Walked {
  const Operation* operation;
  Device device;
  std::vector<WalkTotals> totals;
};

// Failures, the first ones in full; reasons of skipped items, each once.
class Findings {
 public:
  void take(const WalkItem& item, const std::string& device) {
    constexpr std::size_t most = 20;
    if (item.outcome == WalkItem::Outcome::skipped) ++skipped_[item.variant->name + ": " + item.text];
    if (item.outcome != WalkItem::Outcome::failed) return;
    if (++failures_ <= most)
      text_ += fmt::format("FAILED: {}/{} {} {} on {}, {}\n{}\n", item.variant->ladder, item.variant->name,
                           to_string(item.tuning), name_of(item.element), device, to_string(*item.tried),
                           item.text);
    if (failures_ == most) text_ += "…\n";
  }
  const std::string& text() const { return text_; }
  const std::map<std::string, std::int64_t>& skipped() const { return skipped_; }

 private:
  std::string text_;
  std::map<std::string, std::int64_t> skipped_;
  std::size_t failures_ = 0;
};

// `variant`: "" for all.
Walk walk_of(const VerifyFlags& options, const Operation& operation, const Device& device,
             const std::string& variant) {
  Walk out;
  out.device = device;
  for (const std::string& element : split(options.element, ','))
    out.elements.push_back(element_named(operation, element));
  if (!variant.empty()) out.variant = variants_named(operation, variant).front()->name;
  return out;
}

// Keeps only the small cases, for tools that slow every kernel down.
Operation quick(Operation operation) {
  constexpr double max_flops = 2e5;
  std::erase_if(operation.cases, [&operation](const Case& c) {
    const Inputs inputs(operation, c.elements.empty() ? operation.elements.front() : c.elements.front(), c,
                        1);
    return operation.flops && operation.flops(inputs.arguments()) > max_flops;
  });
  return operation;
}

Walked verify_on(const Operation& operation, const Device& device, const std::string& variant,
                 const VerifyFlags& options, Findings& findings) {
  Progress progress;
  std::int64_t done = 0;
  const auto report = [&](const WalkItem& item) {
    findings.take(item, bench::label_of(device));
    progress.say(fmt::format("[{}] {} {} {}", ++done, bench::label_of(device), item.variant->name,
                             to_string(*item.tried)));
  };
  const Walk chosen = walk_of(options, operation, device, variant);
  Walked out{&operation, device,
             options.quick ? walk(quick(operation), chosen, report) : walk(operation, chosen, report)};
  std::erase_if(out.totals, [](const WalkTotals& t) { return t.passed + t.skipped + t.failed == 0; });
  return out;
}

WalkTotals sum_of(const std::vector<Walked>& all) {
  WalkTotals out;
  for (const Walked& walked : all)
    for (const WalkTotals& t : walked.totals) {
      out.passed += t.passed;
      out.skipped += t.skipped;
      out.failed += t.failed;
      out.harmed += t.harmed;
    }
  return out;
}

std::string table_of(const std::vector<Walked>& all) {
  report::Table table({{"operation", Align::left},
                       {"device", Align::left},
                       {"variant", Align::left},
                       {"passed"},
                       {"skipped"},
                       {"failed"},
                       {"largest error/bound"}});
  for (const Walked& walked : all)
    for (const WalkTotals& t : walked.totals)
      table.add({walked.operation->name, bench::label_of(walked.device),
                 t.variant->ladder + "/" + t.variant->name, std::to_string(t.passed),
                 std::to_string(t.skipped), std::to_string(t.failed),
                 t.passed > 0 ? report::number(t.largest_ratio) : ""});
  return table.text();
}

nlohmann::ordered_json json_of(const Command& command, const std::vector<Walked>& all,
                               const Findings& findings) {
  nlohmann::ordered_json out = json_head(command, "verify");
  out["rows"] = nlohmann::ordered_json::array();
  for (const Walked& walked : all)
    for (const WalkTotals& t : walked.totals)
      out["rows"].push_back(
          {{"operation", walked.operation->name},
           {"device", bench::label_of(walked.device)},
           {"device_name", walked.device.name},
           {"ladder", t.variant->ladder},
           {"variant", t.variant->name},
           {"passed", t.passed},
           {"skipped", t.skipped},
           {"failed", t.failed},
           {"harmed", t.harmed},
           {"error_over_bound", t.passed > 0 ? nlohmann::ordered_json(t.largest_ratio) : nullptr}});
  out["skipped"] = findings.skipped();
  out["findings"] = findings.text();
  return out;
}

}  // namespace

int verify(const Command& command) {
  VerifyFlags options;
  OptionParser words(
      "verify", "tessera verify [OPERATION…] [FLAGS]",
      "Tries every variant, choice, case and element against the reference. Zones of known bytes lie round\n"
      "every array, and inputs are compared with what they were: a write there fails, with exit code 4.");
  words.positionals("OPERATION", options.operations, "");
  words.value("--device,--devices", options.device,
              "cpu, simt, cuda[:N], a list of these, or all that are usable", "WHERE");
  words.value("--variant", options.variant, "these only; a list [all]", "NAME,…");
  words.value("--element", options.element, "these only; a list", "TYPE,…");
  words.flag("--quick", options.quick, "small cases only");
  words.value("--json", options.json, "the same as JSON; - is standard output", "FILE");
  if (!words.read(command.words)) return exit_code::passed;
  end_on_interrupt();
  std::vector<const Operation*> chosen;
  for (const std::string& name : options.operations) chosen.push_back(&operation_named(name));
  if (chosen.empty())
    for (const Operation& operation : operations()) chosen.push_back(&operation);

  std::FILE* const to = table_stream(options.json);
  Findings findings;
  std::vector<Walked> all;
  std::vector<std::string> variants = split(options.variant, ',');
  if (variants.empty()) variants = {""};
  for (const Operation* operation : chosen)
    for (const Device& device : devices_named(options.device))
      for (const std::string& variant : variants)
        all.push_back(verify_on(*operation, device, variant, options, findings));
  const WalkTotals sum = sum_of(all);
  fmt::print(to, "{}{}", table_of(all), findings.text());
  for (const auto& [reason, times] : findings.skipped()) fmt::print(to, "skipped {} × {}\n", times, reason);
  fmt::print(to, "{} passed, {} skipped, {} failed\n", sum.passed, sum.skipped, sum.failed);
  if (sum.passed + sum.skipped + sum.failed == 0)
    fmt::print(stderr,
               "tessera: nothing was tried: no such variant runs on these devices; see tessera list\n");
  write_json(options.json, json_of(command, all, findings));
  if (sum.harmed != 0) return exit_code::memory;
  if (sum.failed != 0) return exit_code::wrong;
  return sum.passed == 0 ? exit_code::no_device : exit_code::passed;
}

}  // namespace tessera::cli
