// SPDX-License-Identifier: Apache-2.0
// Going on with an earlier session: what its file holds need not be measured again.
#pragma once
#include <nlohmann/json.hpp>
#include <map>
#include <optional>
#include <string>
#include "tessera/bench/result.hpp"

namespace tessera::bench {

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
