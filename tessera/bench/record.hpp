// SPDX-License-Identifier: Apache-2.0
// Results read back from their JSON, perhaps of another machine or of another version's ladder: so a
// record holds names where a Row holds the variant itself.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessera::bench {

struct Record {
  std::string problem;                         // "k=64 m=64 n=64 op-a=transpose"
  std::string element, variant, tuning, mode;  // "f32", "gpu/shared_tiles", "tile=16", "burst"
  std::string device, device_name;             // "cuda:0" and as its maker calls it
  int threads = 1;
  std::vector<double> seconds, clocks_mhz;  // as many clocks as seconds, or none
  std::string verified, reason;

  // What makes it the same measurement in two documents.
  std::string key() const;
};

struct Driver {
  std::string device_name, cuda, version;  // "": not known; `version` is the driver's own
};

struct Document {
  std::string operation, caches, launches, distribution, date, git, compiler, flags;
  std::string cuda_compiler, cuda_flags;  // with its architectures; "": not known, or a build without CUDA
  std::string processor;                  // of the machine that measured
  std::string seed;
  std::vector<Driver> drivers;  // of each device
  std::vector<Record> records;
};

// One row; `names`: the devices' names by their labels.
Record record_of(const nlohmann::ordered_json& row, const std::map<std::string, std::string>& names);

// `name` is what messages call it. Throws Error where it is no results of that kind.
Document read_document(const nlohmann::ordered_json& json, const std::string& name,
                       const std::string& kind = "bench");

}  // namespace tessera::bench
