// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/heuristics.hpp"
#include <map>
#include <utility>
#include "tessera/core/operation/promise.hpp"

namespace tessera {
namespace {

std::multimap<std::pair<std::string, std::string>, Heuristic>& all_heuristics() {
  static std::multimap<std::pair<std::string, std::string>, Heuristic> all;
  return all;
}

}  // namespace

void register_heuristic(const std::string& operation, const std::vector<std::string>& variants,
                        const Heuristic& heuristic) {
  for (const std::string& variant : variants)
    all_heuristics().emplace(std::pair{operation, variant}, heuristic);
}

Reason held_back(const Variant& variant, const Arguments& arguments, const Device& device) {
  if (!requested_promise(variant.operation, arguments).empty()) return std::nullopt;
  const auto [first, last] = all_heuristics().equal_range({variant.operation, variant.name});
  for (auto one = first; one != last; ++one)
    if (Reason reason = one->second(arguments, device)) return reason;
  return std::nullopt;
}

}  // namespace tessera
