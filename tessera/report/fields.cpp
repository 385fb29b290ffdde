// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/fields.hpp"
#include <cmath>
#include <limits>
#include "tessera/core/error.hpp"

namespace tessera::report {

void fail_file(const std::string& file, const std::string& reason) {
  throw Error("'" + file + "' cannot be shown: " + reason);
}

Fields::Fields(const std::string& file, std::string where, const Json& json)
    : file_(file), where_(std::move(where)), json_(&json) {
  if (!json.is_object())
    fail_file(file_, (where_.empty() ? "it" : where_) + " is not an object but " + json.type_name());
}

void Fields::fail(const std::string& name, const std::string& what) const {
  fail_file(file_, place(name) + " " + what);
}

const Json* Fields::find(const char* name) const {
  const auto found = json_->find(name);
  return found == json_->end() || found->is_null() ? nullptr : &*found;
}

std::string Fields::text(const char* name) const {
  const Json* found = find(name);
  if (found == nullptr) return {};
  if (!found->is_string()) fail(name, "is not text");
  return found->get<std::string>();
}

std::string Fields::needed_text(const char* name) const {
  std::string out = text(name);
  if (out.empty()) fail(name, "is missing");
  return out;
}

std::optional<double> Fields::number(const char* name) const {
  const Json* found = find(name);
  if (found == nullptr) return std::nullopt;
  if (!found->is_number()) fail(name, "is not a number");
  const auto out = found->get<double>();
  if (!std::isfinite(out)) fail(name, "is not finite");
  return out;
}

int Fields::whole(const char* name) const {
  const Json* found = find(name);
  if (found == nullptr) return 0;
  const double value = found->is_number_integer() ? found->get<double>() : std::nan("");
  if (!(std::abs(value) <= std::numeric_limits<int>::max())) fail(name, "is not a whole number");
  return static_cast<int>(value);
}

bool Fields::flag(const char* name) const {
  const Json* found = find(name);
  if (found == nullptr) return false;
  if (!found->is_boolean()) fail(name, "is neither true nor false");
  return found->get<bool>();
}

Dims Fields::dims(const char* name) const {
  Dims out;
  const Json* found = object(name);
  if (found == nullptr) return out;
  for (const auto& [key, value] : found->items()) {
    if (!value.is_number_integer()) fail(name + ("." + key), "is not a whole number");
    out[key] = value.get<std::int64_t>();
  }
  return out;
}

Tuning Fields::tuning(const char* name) const {
  Tuning out;
  const Json* found = object(name);
  if (found == nullptr) return out;
  const Fields values(file_, place(name), *found);
  for (const auto& [key, value] : found->items()) out.set(key, values.whole(key.c_str()));
  return out;
}

const Json& Fields::array(const char* name) const {
  static const Json empty = Json::array();
  const Json* found = find(name);
  if (found == nullptr) return empty;
  if (!found->is_array()) fail(name, "is not a list");
  return *found;
}

const Json* Fields::object(const char* name) const {
  const Json* found = find(name);
  if (found != nullptr && !found->is_object()) fail(name, "is not an object");
  return found;
}

}  // namespace tessera::report
