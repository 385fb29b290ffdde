// SPDX-License-Identifier: Apache-2.0
// The call by which programs run an operation on arrays in place, with its defaults. An operation that has
// one registers it; `bench --call` measures it.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include "tessera/run/choose.hpp"

namespace tessera {

struct PublicCall {
  // `arrays`: in the order of the signature; null: absent. On a GPU it may only enqueue.
  using Function = std::function<void(void* stream, std::span<void* const> arrays)>;

  Plan plan;          // the call's own choice
  Function plain;     // from the arguments to the launch
  Function prepared;  // planned once; null: the operation has no such call
};

// `device_arguments`: in the device's memory, without gaps. Throws Error if the call does not take such
// arguments.
using MakeCall = std::function<PublicCall(const Device& device, const Arguments& device_arguments)>;

void register_public_call(const std::string& operation, MakeCall make);
[[nodiscard]] const MakeCall* public_call_of(std::string_view operation);  // null: it has none

// Launches an empty kernel: the least that a call on a GPU costs the host. Registered by a build for GPUs;
// otherwise empty.
using EmptyLaunch = std::function<void(const Device& device, void* stream)>;
void register_empty_launch(EmptyLaunch launch);
const EmptyLaunch& empty_launch();

}  // namespace tessera
