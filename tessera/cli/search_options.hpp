// SPDX-License-Identifier: Apache-2.0
// What `sweep` and `tune` were asked: bench's words, and those that span a space of configurations.
#pragma once
#include <string>
#include <vector>
#include "tessera/cli/bench_options.hpp"
#include "tessera/tune/space.hpp"

namespace tessera::cli {

struct SearchOptions : BenchOptions {
  std::vector<std::string> over, where;
};

// The flags that both have. `operation`: adds its own; null: not known yet.
void declare_search(OptionParser& words, SearchOptions& options, const Operation* operation);

// The variants to look at on one device.
struct Subject {
  Device device;
  std::vector<const Variant*> variants;
};

// Those named, or the whole ladders of the devices without baselines. Throws Error for one that no device
// named has.
std::vector<Subject> subjects_of(const Operation& operation, const SearchOptions& options);

// What is asked of one problem. `open_ranges`: see tune::Asked.
tune::Asked asked_of(const SearchOptions& options, const Case& problem, bool open_ranges);

// The operation that is the first of a verb's words; null where that is a flag.
const Operation* operation_first(const std::vector<std::string>& words);

}  // namespace tessera::cli
