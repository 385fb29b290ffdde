// SPDX-License-Identifier: Apache-2.0
// `tessera bench … --resident`: arrays that lie in the memories of several devices, against one device that
// holds them all.
#pragma once
#include "tessera/cli/bench_options.hpp"
#include "tessera/cli/command.hpp"

namespace tessera::cli {

struct ResidentOptions {
  std::string along, shares;  // as typed; `along` empty: not asked for
};

void declare(OptionParser& words, ResidentOptions& options);
int bench_resident(const Operation& operation, const BenchOptions& bench, const ResidentOptions& options,
                   const Command& command);

}  // namespace tessera::cli
