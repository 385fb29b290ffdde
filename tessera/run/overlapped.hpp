// SPDX-License-Identifier: Apache-2.0
// A call on GPUs by a plan made beforehand: who computes what follows from a short trial on each, copies hide
// behind computing, and pieces that several need go from one to the other. Nothing is protected: whoever
// loses a device starts over. One of these can do the same call again and again, and others in its place.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include "tessera/run/engine.hpp"
#include "tessera/run/pinned.hpp"
#include "tessera/run/spread.hpp"

namespace tessera {

class Overlapped {
 public:
  using Open = std::function<std::unique_ptr<Lanes>(const Device&)>;

  // Why the call's tiles are dealt out from a queue instead.
  static std::optional<std::string> refuses(const Operation& operation, const Arguments& host,
                                            const Division& division, const Spread& spread);

  // The start-up: contexts, pinning if asked for, a trial, the plan, memory and code. Outputs have memory.
  // Throws LostDevice; Error where a device's memory is too small for any plan. `open`: how lanes are opened,
  // where not as their kind registered. All but `open` must stay.
  Overlapped(const Operation& operation, const Arguments& host, const Division& division,
             const Spread& spread, const Open& open = {});

  Together run();  // throws LostDevice
  // What `operation`, `host` and `division` name has become another call: the devices stay as the trial found
  // them. Not needed where arrays only lie elsewhere. Throws as the start-up does.
  void plan_again();

  const dist::Plan& plan() const { return plan_; }
  double flops_per_second() const;  // of all together, as the trial found them

 private:
  void open_lanes(const Open& open);
  void describe_devices();
  void try_out(std::size_t device);
  void try_out(std::size_t device, std::int64_t side);
  void describe_link(std::size_t device);
  void share_links();
  void make_engine();
  dist::Plan plan_within(const std::vector<dist::Device>& devices) const;
  std::vector<Lanes*> lanes() const;

  const Operation* operation_;
  const Arguments* host_;
  const Division* division_;
  const Spread* spread_;
  Pinned pinned_;
  std::vector<std::unique_ptr<Lanes>> lanes_;
  std::vector<dist::Device> devices_;
  std::map<std::size_t, std::map<std::int64_t, std::vector<double>>>
      rates_;  // of devices' copies in the trial, by their rows' bytes
  dist::Plan plan_;
  std::optional<Engine> engine_;  // gone before its lanes
  double start_seconds_ = 0;
};

}  // namespace tessera
