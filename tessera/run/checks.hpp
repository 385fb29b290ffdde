// SPDX-License-Identifier: Apache-2.0
// What the checks of protected parts came to, of all devices of a call, or of a rank's calls one after
// another.
#pragma once
#include <string>
#include <vector>
#include "tessera/run/spread.hpp"

namespace tessera {

struct Checks {
  std::size_t settled = 0, by_host = 0;  // parts, by checksums and by the processors
  double check_seconds = 0, product_seconds = 0, host_seconds = 0;
  struct Found {
    std::string device;
    std::size_t place = 0, panel = 0,
                tile = 0;  // of the device in its list; the panel of a rank's sum, else 0
    Finding finding;
  };
  std::vector<Found> found;

  bool any() const { return settled + by_host > 0; }
};

// `label`: of a share's device.
void add_checks(Checks& to, const Spread& spread, const Together& together, std::size_t panel,
                const std::function<std::string(const Device&)>& label);

// For the way from rank to rank.
std::string to_text(const Checks& checks);
Checks checks_in(const std::string& text);  // of an empty text none

}  // namespace tessera
