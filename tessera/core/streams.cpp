// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/streams.hpp"
#include <map>
#include <utility>

namespace tessera {
namespace {

std::map<Where, std::unique_ptr<StreamFactory>>& registered() {
  static std::map<Where, std::unique_ptr<StreamFactory>> all;
  return all;
}

}  // namespace

std::unique_ptr<StreamFactory> register_streams(Where where, std::unique_ptr<StreamFactory> factory) {
  return std::exchange(registered()[where], std::move(factory));
}

StreamFactory* find_streams(Where where) {
  const auto found = registered().find(where);
  return found == registered().end() ? nullptr : found->second.get();
}

}  // namespace tessera
