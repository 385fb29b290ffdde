// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/in_order.hpp"
#include <map>

namespace tessera {
namespace {

std::map<Where, std::unique_ptr<InOrder>>& registered() {
  static std::map<Where, std::unique_ptr<InOrder>> all;
  return all;
}

}  // namespace

void register_in_order(Where where, std::unique_ptr<InOrder> devices) {
  registered()[where] = std::move(devices);
}

InOrder* find_in_order(Where where) {
  const auto found = registered().find(where);
  return found == registered().end() ? nullptr : found->second.get();
}

}  // namespace tessera
