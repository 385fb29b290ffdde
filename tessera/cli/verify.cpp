// SPDX-License-Identifier: Apache-2.0
// `tessera verify`: everything that an operation promises, tried.
#include <fmt/format.h>
#include "tessera/cli/command.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/cli/terminal.hpp"
#include "tessera/cli/words.hpp"
#include "tessera/lab/result.hpp"
#include "tessera/report/table.hpp"
#include "tessera/run/conformance.hpp"

namespace tessera::cli {
namespace {

using Align = report::Table::Align;

struct Options {
  std::vector<std::string> operations;
  std::string device = "all", variant, element;
};

struct Sums {
  std::int64_t passed = 0, skipped = 0, failed = 0;
};

// What failed in full, and why things were skipped in short.
class Findings {
 public:
  void take(const WalkItem& item, const std::string& device) {
    constexpr std::size_t most = 20;
    if (item.outcome != WalkItem::Outcome::failed) return;
    if (++failures_ <= most)
      text_ += fmt::format("FAILED: {}/{} {} {} on {}, {}\n{}\n", item.variant->ladder, item.variant->name, to_string(item.tuning),
                           name_of(item.element), device, to_string(*item.tried), item.text);
    if (failures_ == most) text_ += "…\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::size_t failures_ = 0;
};

Walk walk_of(const Options& options, const Operation& operation, const Device& device) {
  Walk out;
  out.device = device;
  if (!options.element.empty()) out.element = element_named(operation, options.element);
  if (!options.variant.empty()) out.variant = variants_named(operation, options.variant).front()->name;
  return out;
}

Sums verify_on(const Operation& operation, const Device& device, const Options& options, report::Table& table, Findings& findings) {
  Progress progress;
  std::int64_t done = 0;
  const auto totals = walk(operation, walk_of(options, operation, device), [&](const WalkItem& item) {
    findings.take(item, lab::label_of(device));
    progress.say(fmt::format("[{}] {} {} {}", ++done, lab::label_of(device), item.variant->name, to_string(*item.tried)));
  });
  Sums sums;
  for (const WalkTotals& t : totals) {
    if (t.passed + t.skipped + t.failed == 0) continue;
    table.add({operation.name, lab::label_of(device), t.variant->ladder + "/" + t.variant->name, std::to_string(t.passed),
               std::to_string(t.skipped), std::to_string(t.failed), t.passed > 0 ? report::number(t.largest_ratio) : ""});
    sums = {sums.passed + t.passed, sums.skipped + t.skipped, sums.failed + t.failed};
  }
  return sums;
}

}  // namespace

int verify(const Command& command) {
  Options options;
  Words words("verify", "tessera verify [OPERATION…] [FLAGS]", "Tries every variant, choice, case and element against the reference.");
  words.positionals("OPERATION", options.operations, "");
  words.value("--device", options.device, "cpu, simt, cuda[:N], a list of these, or all that are usable", "WHERE");
  words.value("--variant", options.variant, "this one only", "NAME");
  words.value("--element", options.element, "this one only", "TYPE");
  words.closing(exit_codes);
  if (!words.read(command.words)) return fmt::print("{}\n", words.help()), exit_code::passed;
  end_on_interrupt();
  std::vector<const Operation*> chosen;
  for (const std::string& name : options.operations) chosen.push_back(&operation_named(name));
  if (chosen.empty())
    for (const Operation& operation : operations()) chosen.push_back(&operation);

  report::Table table({{"operation", Align::left}, {"device", Align::left}, {"variant", Align::left}, {"passed"}, {"skipped"},
                       {"failed"}, {"largest error/bound"}});
  Findings findings;
  Sums sums;
  for (const Operation* operation : chosen)
    for (const Device& device : devices_named(options.device)) {
      const Sums more = verify_on(*operation, device, options, table, findings);
      sums = {sums.passed + more.passed, sums.skipped + more.skipped, sums.failed + more.failed};
    }
  fmt::print("{}{}{} passed, {} skipped, {} failed\n", table.text(), findings.text(), sums.passed, sums.skipped, sums.failed);
  if (sums.failed != 0) return exit_code::wrong;
  return sums.passed == 0 ? exit_code::no_device : exit_code::passed;
}

}  // namespace tessera::cli
