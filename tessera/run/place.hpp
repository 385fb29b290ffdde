// SPDX-License-Identifier: Apache-2.0
// Puts arguments on the device of a Plan, and brings the outputs back. Nothing is copied if the device shares
// the host's memory.
#pragma once
#include <map>
#include <string>
#include "tessera/run/choose.hpp"
#include "tessera/run/guard.hpp"

namespace tessera {

class PlacedCall {
 public:
  // Allocates the arrays, the stream and the workspace, and copies nothing yet. The host's outputs must have
  // memory. Throws Error with both sizes, before any allocation, if the device is too small. `guard_bytes`, a
  // multiple of 256, surround each allocation; see check_guards().
  PlacedCall(const Plan& plan, const Arguments& host, std::size_t guard_bytes = 0);
  ~PlacedCall();
  PlacedCall(const PlacedCall&) = delete;
  PlacedCall& operator=(const PlacedCall&) = delete;

  const Plan& plan() const { return plan_; }
  const Arguments& arguments() const { return device_arguments_; }
  Run& state() { return run_; }

  // The three parts of a round trip, each complete on return, except launch, which may only enqueue.
  void upload();
  void launch() { launch(device_arguments_); }
  void launch(const Arguments& device_arguments);  // the same problem in other arrays of the device
  void fetch();

  void poison();  // fills the outputs with bytes 0xFF: NaN, or -1
  // Returns the seconds on the device, copies excluded.
  double launch_and_measure() { return launch_and_measure(device_arguments_); }
  double launch_and_measure(const Arguments& device_arguments);

  // Reports writes since upload() outside a buffer that was allocated here, or to the device's copy of an
  // input. Waits for the device.
  Reason check_guards();

 private:
  void place_input(const std::string& name);
  void place_output(const std::string& name);
  void check_size(std::size_t workspace_bytes) const;
  Reason changed_input(const std::string& name, const ArrayView& device_array);

  Plan plan_;
  Backend* backend_;
  Arguments host_, device_arguments_;
  std::size_t guard_bytes_;
  std::map<std::string, Guarded> arrays_;
  PreparedRun planned_;
  Guarded workspace_;
  Run run_;
};

// Returns the arguments with the strides and the alignment that they will have on the device, and no data:
// these decide what a variant accepts.
Arguments placed_arguments(const Arguments& host, const Device& device);

// Returns a copy of `host` in which each output without memory has a row-major array, which `owned` keeps
// under the output's name. Other processes can map a `shared` one.
Arguments with_outputs(const Arguments& host, std::map<std::string, Array>& owned, bool shared = false);

// Copies row-major elements in host memory to a view of the same extents in host memory.
void unpack(const void* from, const ArrayView& to);

}  // namespace tessera
