// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/search_options.hpp"
#include <algorithm>
#include "tessera/cli/command.hpp"
#include "tessera/cli/ranges.hpp"
#include "tessera/cli/select.hpp"

namespace tessera::cli {
namespace {

void add_once(std::vector<const Variant*>& variants, const Variant* variant) {
  if (variant != nullptr && std::ranges::find(variants, variant) == variants.end())
    variants.push_back(variant);
}

std::string places_of(const std::vector<const Variant*>& variants) {
  std::vector<std::string> places;
  for (const Variant* variant : variants) places.emplace_back(name_of(variant->where));
  std::ranges::sort(places);
  places.erase(std::ranges::unique(places).begin(), places.end());
  std::string out;
  for (const std::string& place : places) out += (out.empty() ? "" : " and ") + place;
  return out;
}

}  // namespace

void declare_search(OptionParser& words, SearchOptions& options, const Operation* operation) {
  words.positionals("OPERATION SIZES", options.positionals, "");
  words.value("--device,--devices", options.device,
              "cpu, simt, cuda[:N], a list of these, or all [a GPU, else cpu]", "WHERE");
  words.value("--variant", options.variants, "the variants to look at; a list", "NAME,…");
  words.values(
      "--over", options.over,
      "values of a parameter: x=1:32:x2, or of several that go together: '(x,y)=(32,8),(16,16)'; once for "
      "each",
      "NAME=RANGE");
  words.values("--where", options.where,
               "a condition on parameters and sizes, such as 'x*y<=1024'; once for each", "EXPR");
  words.value("--tuning", options.tuning, "fixes parameters", "NAME=N,…");
  words.value("--element", options.element, "a list [the operation's first]", "TYPE,…");
  words.value("--time", options.time, "the most that a configuration may take at one size [10]", "SECONDS");
  words.value("--reps", options.samples,
              "samples of each [9 to 200, for 0.3 s and until their spread is settled]", "N");
  words.value("--spread", options.spread, "of the samples, enough to stop at [0.5]", "PERCENT");
  words.value("--least-clock", options.least_clock,
              "samples below this share of the device's highest clock are dropped [60]", "PERCENT");
  words.flag("--cold", options.cold, "flush the caches before each sample");
  words.flag("--no-verify", options.no_verify, "leave the results unverified");
  words.value("--seed", options.seed, "of the random data [1]", "N");
  words.value("--json", options.json, "the results, rewritten as they come; - is standard output", "FILE");
  declare_flags(words, options, operation);
}

std::vector<Subject> subjects_of(const Operation& operation, const SearchOptions& options) {
  std::vector<Subject> out;
  for (Device& device : devices_named(options.device)) out.push_back({std::move(device), {}});
  const auto names = split(options.variants, ',');
  for (const std::string& name : names) {
    const auto named = variants_named(operation, name);
    bool any = false;
    for (Subject& subject : out) {
      const Variant* variant = variant_on(named, subject.device.where);
      any = any || variant != nullptr;
      add_once(subject.variants, variant);
    }
    if (!any)
      throw Error("the variant " + name + " runs on " + places_of(named) + ", not on " +
                  out[0].device.label() + ": say so with --device");
  }
  if (names.empty())
    for (Subject& subject : out)
      for (const Variant* variant : ladder_of(operation.name))
        if (variant->where == subject.device.where && !variant->baseline) subject.variants.push_back(variant);
  std::erase_if(out, [](const Subject& subject) { return subject.variants.empty(); });
  return out;
}

tune::Asked asked_of(const SearchOptions& options, const Case& problem, bool open_ranges) {
  tune::Asked out{.fixed = parse_tuning(options.tuning), .open_ranges = open_ranges, .where = options.where};
  if (!options.over.empty()) out.over = combinations(options.over, names_given(options.over));
  out.sizes = problem.dims;
  return out;
}

const Operation* operation_first(const std::vector<std::string>& words) {
  const bool named = !words.empty() && !words[0].starts_with('-');
  return named ? &operation_named(words[0]) : nullptr;
}

}  // namespace tessera::cli
