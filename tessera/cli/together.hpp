// SPDX-License-Identifier: Apache-2.0
// The words of an operation's call on several devices, and what is told of it.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <cstdio>
#include <string>
#include <vector>
#include "tessera/cli/command.hpp"
#include "tessera/cli/option_parser.hpp"
#include "tessera/run/spread.hpp"

namespace tessera::cli {

struct TogetherOptions {
  std::string split, memory, timeline, faults, limit, checkpoint, repeat;
  bool protect = false;

  bool any() const {
    return !split.empty() || !memory.empty() || !timeline.empty() || !faults.empty() || !limit.empty() ||
           !checkpoint.empty() || !repeat.empty() || protect;
  }
};

// `in_parts`: devices can share one result; else only many files, a file each. `protect`: the flag's name.
void declare(OptionParser& words, TogetherOptions& options, bool in_parts,
             const std::string& protect = "--protect");

// The devices of a list, or "all": GPUs and the processors, without the executor, which is for looking at
// kernels.
std::vector<Device> computing_devices(const std::string& words);
// Whether --device may mean several.
bool names_several(const std::string& device);

Spread spread_of(const TogetherOptions& options, const std::vector<Device>& devices, const Request& request);
std::size_t count_named(const std::string& flag, const std::string& word);   // from 1
std::int64_t bytes_named(const std::string& flag, const std::string& word);  // "500M", "8G", "123456"

void print(std::FILE* to, const Operation& operation, const Arguments& arguments, const Together& together);
// Of several calls dealt out to devices: what each device did, and which were lost.
void print_shares(std::FILE* to, const Operation& operation, const Together& together);
nlohmann::ordered_json json_of(const Overlap& overlap);
nlohmann::ordered_json json_of(const Command& command, const Operation& operation, const Arguments& arguments,
                               const Together& together);
nlohmann::ordered_json json_of(const Command& command, const Operation& operation, const Together& together);
void write_timeline(const std::string& path, const Together& together);

}  // namespace tessera::cli
