// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/streams.hpp"
#include <map>
#include <utility>

namespace tessera {
namespace {

std::map<Where, std::unique_ptr<StreamFactory>>& factories() {
  static std::map<Where, std::unique_ptr<StreamFactory>> all;
  return all;
}

}  // namespace

std::unique_ptr<StreamFactory> register_streams(Where where, std::unique_ptr<StreamFactory> factory) {
  return std::exchange(factories()[where], std::move(factory));
}

StreamFactory* find_streams(Where where) {
  const auto found = factories().find(where);
  return found == factories().end() ? nullptr : found->second.get();
}

namespace {

std::map<Where, std::unique_ptr<InOrder>>& all_in_order() {
  static std::map<Where, std::unique_ptr<InOrder>> all;
  return all;
}

}  // namespace

void register_in_order(Where where, std::unique_ptr<InOrder> devices) {
  all_in_order()[where] = std::move(devices);
}

InOrder* find_in_order(Where where) {
  const auto found = all_in_order().find(where);
  return found == all_in_order().end() ? nullptr : found->second.get();
}

}  // namespace tessera
