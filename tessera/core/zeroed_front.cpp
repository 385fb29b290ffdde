// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/zeroed_front.hpp"
#include <map>
#include <utility>

namespace tessera {
namespace {

std::map<std::pair<std::string, std::string>, std::size_t>& fronts() {
  static std::map<std::pair<std::string, std::string>, std::size_t> all;
  return all;
}

}  // namespace

void register_zeroed_front(const std::string& operation, const std::string& variant, std::size_t bytes) {
  fronts()[{operation, variant}] = bytes;
}

std::optional<std::size_t> zeroed_front_of(const Variant& variant) {
  const auto found = fronts().find({variant.operation, variant.name});
  if (variant.where != Where::cuda || found == fronts().end()) return std::nullopt;
  return found->second;
}

}  // namespace tessera
