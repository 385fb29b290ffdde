// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/told_size.hpp"

namespace tessera {
namespace {

std::map<std::string, ToldSize>& sizes() {
  static std::map<std::string, ToldSize> all;
  return all;
}

}  // namespace

void register_size(const std::string& name, ToldSize size) { sizes()[name] = std::move(size); }

const ToldSize* find_size(const std::string& name) {
  const auto found = sizes().find(name);
  return found == sizes().end() ? nullptr : &found->second;
}

}  // namespace tessera
