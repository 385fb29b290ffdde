// SPDX-License-Identifier: Apache-2.0
// Results read back from their JSON, perhaps of another machine or of another version's ladder: so a
// record holds names where a Row holds the variant itself.
#pragma once
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>
#include "tessera/bench/result.hpp"

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

// Going on with an earlier session: what its file holds need not be measured again.

// What a row's JSON says that the row of a problem and a choice, `blank`, does not say yet.
Row recalled(const nlohmann::ordered_json& json, Row blank);

class Earlier {
 public:
  // `json`: what an earlier session wrote, `name`: what messages call it, `kind`: "bench" or "sweep". Throws
  // Error where it was of another kind, operation, machine, build, seed or cache state than `now`: their rows
  // must not be mixed.
  Earlier(nlohmann::ordered_json json, const std::string& name, const Session& now,
          const std::string& kind = "bench");

  // The row of the same problem, choice, device and mode, if it was measured then and not found wrong.
  std::optional<Row> find(const Row& blank) const;

  // `now`, and behind its rows those of the earlier session that it lacks.
  nlohmann::ordered_json merged(nlohmann::ordered_json now) const;

 private:
  nlohmann::ordered_json json_;
  std::map<std::string, const nlohmann::ordered_json*> rows_;  // by key
};

}  // namespace tessera::bench
