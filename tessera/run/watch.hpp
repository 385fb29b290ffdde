// SPDX-License-Identifier: Apache-2.0
// Looks at each part that a device has computed, before it leaves that device: by the operation's checksums,
// where it has some. What does not fit is computed again there.
#pragma once
#include <memory>
#include "tessera/core/checksums.hpp"
#include "tessera/run/finding.hpp"
#include "tessera/run/computed_part.hpp"

namespace tessera {

class Watch {
 public:
  // `whole`: the call's arguments in host memory. They and `division` must stay.
  Watch(const Operation& operation, const Arguments& whole, const Division& division, const Device& device);

  // Throws what computing again throws.
  Finding look(const Tile& tile, ComputedPart& part);

 private:
  ChecksumVerdict checksums(const Tile& tile, ComputedPart& part, Finding& finding);
  bool mend_element(const Tile& tile, const ChecksumVerdict& verdict, const Plan& plan) const;

  const Division* division_;
  std::unique_ptr<Checksums> checksums_;  // null: none
};

}  // namespace tessera
