// SPDX-License-Identifier: Apache-2.0
// Which device and which variant: from what was asked for, else from the sizes.
#pragma once
#include <optional>
#include <string>
#include <vector>
#include "tessera/core/operation.hpp"

namespace tessera {

// What somebody asked for; what is left open is chosen.
struct Request {
  std::string device = "auto";              // auto, cpu, simt, cuda, cuda:1; cpu:threads=1
  std::optional<std::string> variant = {};  // its name
  std::optional<Tuning> tuning = {};        // fixes some or all of a Choice's values
  bool cached = true;  // with neither of them, what `tune` has found decides; TESSERA_NO_CACHE=1 says no, too

  bool operator==(const Request&) const = default;
};

// A Choice with all its values, and where it will run.
struct Plan {
  const Variant* variant = nullptr;
  const Choice* choice = nullptr;
  Tuning tuning;
  Device device;
  bool tuned = false;  // found by `tune`

  PreparedRun prepared(const Arguments& there) const { return choice->prepared(there, tuning, device); }
  // A copy that allocates nothing but a tuning that is not empty: the device has no name.
  Plan without_names() const;
};

// Why the plan cannot run these arguments, which may still lie in host memory; nothing: it can.
[[nodiscard]] Reason refuses(const Plan& plan, const Arguments& host);
// The same for arguments that lie where the plan runs.
[[nodiscard]] Reason refuses_in_place(const Plan& plan, const Arguments& there);

// "cpu:threads=1" or "cuda:1" → the device. Throws Error: of kind no_device where this machine or
// this build has none, with the reason; of kind user for words that mean nothing.
[[nodiscard]] Device find_device(const std::string& word);

// Why a variant has no choice with a tuning that was asked for, and what it has instead:
// "has no choice with tile=7; it has tile=4, 8, 16, 32". With an element, of the choices that compute it:
// "has no choice with tile=5 for bf16; it has tile=1, 2". A name that none has is told with the nearest.
[[nodiscard]] std::string no_choice_with(const Variant& variant, const Tuning& wanted,
                                         std::optional<Element> element = {});

// As find_device; "auto" weighs the GPU's speed against the way there and back.
[[nodiscard]] Device choose_device(const Operation& operation, const Arguments& arguments,
                                   const Request& request);

// The variant asked for, or what `tune` has found for such arguments (tessera/run/tuned.hpp), or the highest
// place of the device's ladder that accepts the arguments, that no heuristic holds back (core/heuristics.hpp)
// and that is nobody else's code. Throws Error with the nearest name, or with the variant's reason.
[[nodiscard]] Plan choose(const Operation& operation, const Arguments& arguments,
                          const Request& request = {});
[[nodiscard]] Plan choose_on(const Device& device, const Operation& operation, const Arguments& arguments,
                             const Request& request);
// For arguments that are not copied: strides and alignment are those they have.
[[nodiscard]] Plan choose_in_place(const Device& device, const Operation& operation, const Arguments& there,
                                   const Request& request = {});

// What the choice says of each rung of the device's ladder, the highest place first; of baselines, only of
// one that is taken.
struct Considered {
  const Variant* variant = nullptr;
  Reason cannot;                      // why it cannot compute the arguments
  Reason slower;                      // why a heuristic holds it back
  bool taken = false, tuned = false;  // tuned: because `tune` found it
};
[[nodiscard]] std::vector<Considered> consider(const Device& device, const Operation& operation,
                                               const Arguments& there);

// Who goes on where nobody knows before how long it takes (Operation::flops gives 0), and from when on.
struct Fallback {
  Plan plan;           // on a GPU, which begins anew
  double work_budget;  // Run::work_budget of the processors before it
};

// The GPU's part of an automatic choice that fell on the processors. Nothing: the device was named, or so was
// the variant, there is no GPU, or none of its variants accepts the arguments.
[[nodiscard]] std::optional<Fallback> choose_fallback(const Plan& chosen, const Operation& operation,
                                                      const Arguments& arguments, const Request& request);

}  // namespace tessera
