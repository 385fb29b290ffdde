// SPDX-License-Identifier: Apache-2.0
// Reports the result of a call as tables and as JSON: on one device, on several, on ranks, or the tables of a
// study.
#pragma once
#include <cstdio>
#include "tessera/cli/command.hpp"
#include "tessera/run/mpi/distributed.hpp"
#include "tessera/run/run.hpp"

namespace tessera::cli {

// The times of files, besides the computation; 0: there were none.
struct FileTimes {
  double read = 0, write = 0;
};

// The call to report, and the destinations.
struct Reporting {
  const Command& command;
  const Operation& operation;
  std::FILE* to;                    // tables
  std::string json, timeline = {};  // files; "": none
};

// `lines`: printed below the table.
void report_outcome(const Reporting& where, const Arguments& arguments, const Outcome& outcome,
                    const FileTimes& files, const std::string& lines);
// `arguments` null: devices shared many files, not one result.
void report_outcome(const Reporting& where, const Arguments* arguments, const MultiDeviceOutcome& outcome);
// Rank 0 calls it. `output`: the file that was written, or "". `several`: each rank has several devices.
void report_outcome(const Reporting& where, const Arguments& arguments, const DistributedOutcome& outcome,
                    const std::string& output, bool several);
// Runs the study of that name. Throws Error if there is none.
void report_study(const Reporting& where, const std::string& name, const Arguments& arguments,
                  const Request& request);

}  // namespace tessera::cli
