// SPDX-License-Identifier: Apache-2.0
// What computes the tiles of one device: this process, or another (worker.hpp).
#pragma once
#include <functional>
#include <vector>
#include "tessera/core/division.hpp"
#include "tessera/dist/timeline.hpp"
#include "tessera/run/choose.hpp"
#include "tessera/run/finding.hpp"
#include "tessera/run/place.hpp"

namespace tessera {

class Hand {
 public:
  virtual ~Hand() = default;
  // Into the result. Tells what was done when, in seconds since it was called; devices and tiles are the
  // caller's to fill in. What it throws is the device's failure.
  virtual std::vector<dist::Span> compute(const Tile& tile) = 0;
  // Of the part computed last; null: nobody looked at it.
  virtual const Finding* finding() const { return nullptr; }
};

// `plan` is for the whole; a part that it refuses is computed by what takes it.
class HandHere final : public Hand {
 public:
  HandHere(const Operation& operation, const Division& division, Plan plan, Request request)
      : operation_(&operation), division_(&division), plan_(std::move(plan)), request_(std::move(request)) {}
  std::vector<dist::Span> compute(const Tile& tile) override;

  // Called when a part has been computed, in so many seconds, and not yet left the device.
  using Look = std::function<void(const Tile&, Placed&, double seconds)>;
  void look_with(Look look) { look_ = std::move(look); }

 private:
  const Operation* operation_;
  const Division* division_;
  Plan plan_;
  Request request_;
  Look look_;
};

}  // namespace tessera
