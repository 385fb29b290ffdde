// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/in_order.hpp"
#include <map>

namespace tessera {
namespace {

std::map<Where, std::unique_ptr<InOrder>>& enlisted() {
  static std::map<Where, std::unique_ptr<InOrder>> all;
  return all;
}

}  // namespace

void enlist_in_order(Where where, std::unique_ptr<InOrder> devices) {
  enlisted()[where] = std::move(devices);
}

InOrder* find_in_order(Where where) {
  const auto found = enlisted().find(where);
  return found == enlisted().end() ? nullptr : found->second.get();
}

}  // namespace tessera
