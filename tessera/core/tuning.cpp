// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/tuning.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/expression.hpp"

namespace tessera {

std::optional<int> Tuning::find(std::string_view name) const {
  for (const auto& [key, value] : values_)
    if (key == name) return value;
  return std::nullopt;
}

int Tuning::operator[](std::string_view name) const {
  if (const auto value = find(name)) return *value;
  throw Error(Error::Kind::internal, "no tuning parameter is called '" + std::string(name) + "'");
}

void Tuning::set(const std::string& name, int value) {
  for (auto& [key, old] : values_)
    if (key == name) {
      old = value;
      return;
    }
  values_.emplace_back(name, value);
}

std::string to_string(const Tuning& tuning) {
  std::string out;
  for (const auto& [name, value] : tuning)
    out += (out.empty() ? "" : ",") + name + "=" + std::to_string(value);
  return out;
}

Tuning parse_tuning(std::string_view text) {
  Tuning out;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || !is_name(item.substr(0, equals)))
      throw Error("'" + std::string(item) + "' is not a tuning: write name=number");
    const std::int64_t value = evaluate(item.substr(equals + 1));
    if (value < -1'000'000'000 || value > 1'000'000'000)
      throw Error("'" + std::string(item) + "' is out of range");
    out.set(std::string(item.substr(0, equals)), static_cast<int>(value));
  }
  return out;
}

}  // namespace tessera
