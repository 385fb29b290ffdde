// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/public_call.hpp"
#include <map>

namespace tessera {
namespace {

// Returns the map, created on first use because operations register themselves before main.
std::map<std::string, MakeCall, std::less<>>& public_calls() {
  static std::map<std::string, MakeCall, std::less<>> all;
  return all;
}

EmptyLaunch& registered_launch() {
  static EmptyLaunch one;
  return one;
}

}  // namespace

void register_public_call(const std::string& operation, MakeCall make) {
  public_calls()[operation] = std::move(make);
}

const MakeCall* public_call_of(std::string_view operation) {
  const auto found = public_calls().find(operation);
  return found == public_calls().end() ? nullptr : &found->second;
}

void register_empty_launch(EmptyLaunch launch) { registered_launch() = std::move(launch); }
const EmptyLaunch& empty_launch() { return registered_launch(); }

}  // namespace tessera
