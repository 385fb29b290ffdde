// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/lanes.hpp"
#include <map>
#include <utility>

namespace tessera {
namespace {

std::map<Where, std::unique_ptr<LaneMaker>>& enlisted() {
  static std::map<Where, std::unique_ptr<LaneMaker>> all;
  return all;
}

}  // namespace

std::unique_ptr<LaneMaker> enlist_lanes(Where where, std::unique_ptr<LaneMaker> maker) {
  return std::exchange(enlisted()[where], std::move(maker));
}

LaneMaker* find_lanes(Where where) {
  const auto found = enlisted().find(where);
  return found == enlisted().end() ? nullptr : found->second.get();
}

}  // namespace tessera
