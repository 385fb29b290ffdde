// SPDX-License-Identifier: Apache-2.0
// The flags of an operation's call on several devices, and how its outcome is reported.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <cstdio>
#include <string>
#include <vector>
#include "tessera/cli/command.hpp"
#include "tessera/cli/option_parser.hpp"
#include "tessera/run/multi_device/multi_device.hpp"

namespace tessera::cli {

struct DeviceFlags {
  std::string split, memory, timeline, faults, limit, repeat;
  bool protect = false;

  bool any() const {
    return !split.empty() || !memory.empty() || !timeline.empty() || !faults.empty() || !limit.empty() ||
           !repeat.empty() || protect;
  }
};

// `in_parts`: devices can share one result; else only many files, a file each. `protect`: the flag's name.
void declare(OptionParser& words, DeviceFlags& flags, bool in_parts,
             const std::string& protect = "--protect");

// The devices of a list, or "all": GPUs and the processors, without the executor, which is for looking at
// kernels.
std::vector<Device> computing_devices(const std::string& words);
bool names_several(const std::string& device);  // whether --device may mean several

MultiDeviceOptions options_of(const DeviceFlags& flags, const std::vector<Device>& devices,
                              const Request& request, Split::How usual = Split::How::automatic);
std::int64_t bytes_named(const std::string& flag, const std::string& word);  // "500M", "8G", "123456"

void print(std::FILE* to, const Operation& operation, const Arguments& arguments,
           const MultiDeviceOutcome& outcome);
// What each device did, and which failed.
void print_devices(std::FILE* to, const Operation& operation, const MultiDeviceOutcome& outcome);
nlohmann::ordered_json json_of(const Command& command, const Operation& operation, const Arguments& arguments,
                               const MultiDeviceOutcome& outcome);
nlohmann::ordered_json json_of(const Command& command, const Operation& operation,
                               const MultiDeviceOutcome& outcome);
nlohmann::ordered_json to_json(const std::vector<TimelineSpan>& spans);
// For a browser's tracing page: a process for each device, a row for each activity.
std::string chrome_trace(const std::vector<TimelineSpan>& spans, const std::vector<std::string>& devices);
void write_timeline(const std::string& path, const MultiDeviceOutcome& outcome);

}  // namespace tessera::cli
