// SPDX-License-Identifier: Apache-2.0
// One call for each of several files: one after another, or dispatched to several devices.
#pragma once
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>
#include "tessera/cli/output.hpp"
#include "tessera/run/multi_device/dispatch.hpp"

namespace tessera::cli {

// The outputs of each input, by patterns. Throws Error where one would be written over another.
std::vector<std::vector<std::string>> outputs_for(const std::vector<std::string>& inputs,
                                                  const std::vector<std::string>& patterns);

// What fails is told and the others go on. Returns the first failure's exit code.
int run_files(const std::vector<std::string>& inputs,
              const std::function<int(std::size_t file, Progress&)>& run);

// `make` is called by several threads at once: the call of a file, on the device of the options. An Error of
// kind user is the file's; any other is the device's failure, and another one gets the file.
using MakeFile =
    std::function<int(std::size_t file, const MultiDeviceOptions& on, MultiDeviceOutcome& outcome)>;
std::pair<int, MultiDeviceOutcome> dispatch_files(std::FILE* to, const std::vector<std::string>& inputs,
                                                  const MultiDeviceOptions& options, const MakeFile& make);

}  // namespace tessera::cli
