// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/checks.hpp"
#include <nlohmann/json.hpp>
#include "tessera/run/finding_json.hpp"

namespace tessera {

using Json = nlohmann::ordered_json;

void add_checks(Checks& to, const Spread& spread, const Together& together, std::size_t panel,
                const std::function<std::string(const Device&)>& label) {
  for (std::size_t d = 0; d < together.shares.size(); ++d) {
    const Share& share = together.shares[d];
    to.settled += share.settled;
    to.by_host += share.host_checks;
    to.check_seconds += share.check_seconds;
    to.product_seconds += share.product_seconds;
    to.host_seconds += share.host_check_seconds;
    for (const auto& [tile, finding] : share.findings)
      to.found.push_back({label(share.plan.device), spread.place_of(d), panel, tile, finding});
  }
}

std::string to_text(const Checks& checks) {
  Json found = Json::array();
  for (const Checks::Found& f : checks.found)
    found.push_back({f.device, f.place, f.panel, f.tile, to_json(f.finding)});
  return Json{checks.settled,         checks.by_host,      checks.check_seconds,
              checks.product_seconds, checks.host_seconds, found}
      .dump();
}

Checks checks_in(const std::string& text) {
  Checks out;
  if (text.empty()) return out;
  const Json all = Json::parse(text);
  out.settled = all.at(0);
  out.by_host = all.at(1);
  out.check_seconds = all.at(2);
  out.product_seconds = all.at(3);
  out.host_seconds = all.at(4);
  for (const Json& f : all.at(5))
    out.found.push_back({f.at(0), f.at(1), f.at(2), f.at(3), finding_of(f.at(4))});
  return out;
}

}  // namespace tessera
