// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/poison.hpp"
#include <map>

namespace tessera {
namespace {

std::map<Where, Poison>& poisons() {
  static std::map<Where, Poison> all;
  return all;
}

}  // namespace

void register_poison(Where where, Poison poison) { poisons()[where] = std::move(poison); }

const Poison* find_poison(Where where) {
  const auto found = poisons().find(where);
  return found == poisons().end() ? nullptr : &found->second;
}

}  // namespace tessera
