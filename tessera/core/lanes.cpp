// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/lanes.hpp"
#include <map>
#include <utility>

namespace tessera {
namespace {

std::map<Where, std::unique_ptr<LaneMaker>>& registered() {
  static std::map<Where, std::unique_ptr<LaneMaker>> all;
  return all;
}

}  // namespace

std::unique_ptr<LaneMaker> register_lanes(Where where, std::unique_ptr<LaneMaker> maker) {
  return std::exchange(registered()[where], std::move(maker));
}

LaneMaker* find_lanes(Where where) {
  const auto found = registered().find(where);
  return found == registered().end() ? nullptr : found->second.get();
}

}  // namespace tessera
