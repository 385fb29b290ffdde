// SPDX-License-Identifier: Apache-2.0
// The call by which programs ask for an operation on arrays where they lie, with its defaults. An operation
// that has one registers it; `bench --call` measures it.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include "tessera/run/choose.hpp"

namespace tessera {

struct PublicCall {
  // The arrays of the signature, in its order; null where none was given. On a GPU it may only enqueue.
  using Function = std::function<void(void* stream, std::span<void* const> arrays)>;

  Plan plan;          // what it chose
  Function plain;     // from the arguments to the launch
  Function prepared;  // planned once; null: the operation has no such call
};

// `there`: in the device's memory, without gaps. Throws Error where the call does not take such arguments.
using MakeCall = std::function<PublicCall(const Device& device, const Arguments& there)>;

void register_public_call(const std::string& operation, MakeCall make);
[[nodiscard]] const MakeCall* public_call_of(std::string_view operation);  // null: it has none

// A launch of a kernel that does nothing: what a call on a GPU costs the host at least. A build for GPUs
// registers it; else it is empty.
using EmptyLaunch = std::function<void(const Device& device, void* stream)>;
void register_empty_launch(EmptyLaunch launch);
const EmptyLaunch& empty_launch();

}  // namespace tessera
