// SPDX-License-Identifier: Apache-2.0
// The words of an operation's own command: its arguments, and what all operations know.
#pragma once
#include <map>
#include <string>
#include <vector>
#include "tessera/cli/files.hpp"
#include "tessera/cli/device_flags.hpp"
#include "tessera/cli/option_parser.hpp"

namespace tessera::cli {

struct OperateOptions {
  std::vector<std::string> positionals, outputs;
  std::string device = "auto", variant, tuning, element, json, study;
  bool check = false, no_cache = false, distributed = false;
  FileOptions files;
  DeviceFlags sharing;
  std::map<std::string, std::string> flags;  // by the parameter's name; empty: not given
};

// Whether picture files may stand for an array of it.
bool takes_pictures(const Operation& operation);

std::string about(const Operation& operation);  // for its help
void declare(OptionParser& words, const Operation& operation, OperateOptions& options);
// The options of one call for each input: where a flag names files, the one that goes with it. Throws Error
// where they do not go together, or an output would be written over one.
std::vector<OperateOptions> options_for_each(const Operation& operation, const OperateOptions& options,
                                             const std::vector<std::string>& inputs,
                                             const std::vector<std::vector<std::string>>& outputs);
// To be asked before anything is computed: throws Error where what tells of a call would be written over its
// files.
void demand_apart_from_reports(const OperateOptions& options, const std::vector<std::string>& inputs,
                               const std::vector<std::string>& outputs);

}  // namespace tessera::cli
