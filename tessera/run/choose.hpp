// SPDX-License-Identifier: Apache-2.0
// Chooses a device and a variant: as requested, otherwise by the sizes.
#pragma once
#include <optional>
#include <string>
#include <vector>
#include "tessera/core/operation/operation.hpp"

namespace tessera {

// The caller's request; anything left open is chosen.
struct Request {
  std::string device = "auto";              // auto, cpu, simt, cuda, cuda:1; cpu:threads=1
  std::optional<std::string> variant = {};  // its name
  std::optional<Tuning> tuning = {};        // fixes some or all of a Choice's values
  bool cached = true;  // uses findings of `tune` if neither is set; TESSERA_NO_CACHE=1 turns this off, too

  bool operator==(const Request&) const = default;
};

// A Choice with all its tuning values, and the device that it runs on.
struct Plan {
  const Variant* variant = nullptr;
  const Choice* choice = nullptr;
  Tuning tuning;
  Device device;
  bool tuned = false;  // found by `tune`

  PreparedRun prepared(const Arguments& device_arguments) const {
    return choice->prepared(device_arguments, tuning, device);
  }
  // Returns a copy without the device's name, which allocates nothing but a non-empty tuning.
  Plan without_names() const;
};

// Returns the reason why the plan cannot run these arguments, which may still be in host memory.
[[nodiscard]] Reason refuses(const Plan& plan, const Arguments& host);
// Like refuses(), for arguments that are already in the memory of the plan's device.
[[nodiscard]] Reason refuses_in_place(const Plan& plan, const Arguments& device_arguments);

// Returns the device named "cpu:threads=1" or "cuda:1". Throws Error: of kind no_device, with the reason, if
// this machine or this build has none; of kind user for a word that names no device.
[[nodiscard]] Device find_device(const std::string& word);

// Returns the reason why a variant has no choice with the requested tuning, and its alternatives: "has no
// choice with tile=7; it has tile=4, 8, 16, 32". With an element, only choices that compute it count: "has no
// choice with tile=5 for bf16; it has tile=1, 2". For an unknown name, the nearest one is suggested.
[[nodiscard]] std::string no_choice_with(const Variant& variant, const Tuning& wanted,
                                         std::optional<Element> element = {});

// Like find_device, but "auto" weighs the GPU's speed against the cost of the transfers.
[[nodiscard]] Device choose_device(const Operation& operation, const Arguments& arguments,
                                   const Request& request);

// Returns the requested variant, otherwise the finding of `tune` for such arguments (tessera/run/tuned.hpp),
// otherwise the highest rung of the device's ladder that accepts the arguments, is not held back by a
// heuristic (run/heuristics.hpp) and is not a baseline. Throws Error with the nearest name, or with the
// variant's reason.
[[nodiscard]] Plan choose(const Operation& operation, const Arguments& arguments,
                          const Request& request = {});
[[nodiscard]] Plan choose_on(const Device& device, const Operation& operation, const Arguments& arguments,
                             const Request& request);
// For arguments that are not copied: their own strides and alignment count.
[[nodiscard]] Plan choose_in_place(const Device& device, const Operation& operation,
                                   const Arguments& device_arguments, const Request& request = {});

// Says for each rung of the device's ladder why it was taken or not, highest place first; for a baseline only
// if it is taken.
struct Considered {
  const Variant* variant = nullptr;
  Reason cannot;                      // why it cannot compute the arguments
  Reason slower;                      // why a heuristic holds it back
  bool taken = false, tuned = false;  // tuned: because `tune` found it
};
[[nodiscard]] std::vector<Considered> consider(const Device& device, const Operation& operation,
                                               const Arguments& device_arguments);

// The plan to fall back on if the amount of work is unknown in advance (Operation::flops gives 0), and when
// to do so.
struct Fallback {
  Plan plan;           // on a GPU, which starts over
  double work_budget;  // Run::work_budget of the CPU, which runs first
};

// Returns the GPU plan to fall back on after an automatic choice of the CPU. Nothing: the device or the
// variant was named, there is no GPU, or none of its variants accepts the arguments.
[[nodiscard]] std::optional<Fallback> choose_fallback(const Plan& chosen, const Operation& operation,
                                                      const Arguments& arguments, const Request& request);

}  // namespace tessera
