// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/lanes.hpp"
#include <map>

namespace tessera {
namespace {

std::map<Where, std::unique_ptr<LaneMaker>>& enlisted() {
  static std::map<Where, std::unique_ptr<LaneMaker>> all;
  return all;
}

}  // namespace

void enlist_lanes(Where where, std::unique_ptr<LaneMaker> maker) { enlisted()[where] = std::move(maker); }

LaneMaker* find_lanes(Where where) {
  const auto found = enlisted().find(where);
  return found == enlisted().end() ? nullptr : found->second.get();
}

}  // namespace tessera
