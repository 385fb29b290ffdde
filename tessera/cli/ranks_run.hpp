// SPDX-License-Identifier: Apache-2.0
// `mpirun -n P tessera OPERATION …`: the end of an operation's run where several ranks share it.
#pragma once
#include "tessera/cli/command.hpp"
#include "tessera/cli/device_flags.hpp"
#include "tessera/run/mpi/distributed.hpp"

namespace tessera::cli {

struct DistributedWords {
  Request request;
  std::vector<std::string> outputs;
  std::string json, study;
  bool check = false;
  std::optional<MultiDeviceOptions> devices = {};
  std::string timeline = {};  // a file
};

// Throws where what is asked for cannot be done by ranks.
void demand_of_ranks(const DistributedWords& words, const DeviceFlags& flags);
// All ranks call it; rank 0 prints.
int operate_on_ranks(const Operation& operation, const Arguments& arguments, const DistributedWords& words,
                     const Command& command);

}  // namespace tessera::cli
