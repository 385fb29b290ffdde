// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/split_words.hpp"
#include <fmt/format.h>
#include <algorithm>
#include "tessera/run/spread.hpp"

namespace tessera::cli {
namespace {

using Measured = std::pair<std::string, double>;

bool is_shares(const Measured& one) { return parse_split(one.first).how == Split::How::shares; }

}  // namespace

std::string fastest_split(const std::vector<Measured>& measured) {
  if (measured.size() < 2) return "";
  const Measured& best = *std::ranges::min_element(measured, {}, &Measured::second);
  const Measured* shares = nullptr;
  for (const Measured& one : measured)
    if (is_shares(one) && (shares == nullptr || one.second < shares->second)) shares = &one;
  std::string others;
  const auto add = [&](const std::string& name, double seconds) {
    others += fmt::format("; {} {}{:.3f} ×{}", name, others.empty() ? "took " : "", seconds / best.second,
                          others.empty() ? " that" : "");
  };
  if (shares != nullptr && shares != &best) add("the best shares, " + shares->first + ",", shares->second);
  for (const Measured& one : measured)
    if (!is_shares(one) && &one != &best) add(one.first, one.second);
  return "the fastest: " + best.first + others + "\n";
}

}  // namespace tessera::cli
