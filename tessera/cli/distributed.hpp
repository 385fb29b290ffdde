// SPDX-License-Identifier: Apache-2.0
// `mpirun -n P tessera OPERATION …`: the end of an operation's run where several ranks share it.
#pragma once
#include <optional>
#include <string>
#include <vector>
#include "tessera/cli/command.hpp"
#include "tessera/cli/together.hpp"
#include "tessera/run/distributed.hpp"

namespace tessera::cli {

struct DistributedWords {
  Request request;
  std::vector<std::string> outputs;
  std::string json, study;
  bool check = false;
  std::optional<Spread> spread = {};  // several devices
  std::string timeline = {};          // a file
};

// Throws where what is asked for is no business of ranks.
void demand_of_ranks(const DistributedWords& words, const TogetherOptions& together);
// All ranks call it; rank 0 prints.
int operate_on_ranks(const Operation& operation, const Arguments& arguments, const DistributedWords& words,
                     const Command& command);

}  // namespace tessera::cli
