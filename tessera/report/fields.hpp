// SPDX-License-Identifier: Apache-2.0
// Typed reading of JSON that someone else may have written: what is absent or null is missing, what
// has the wrong type is an Error with the file and the place.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include "tessera/core/expression.hpp"
#include "tessera/core/variant.hpp"

namespace tessera::report {

using Json = nlohmann::ordered_json;

class Fields {
 public:
  // `where` is a place such as "rows[3]"; throws unless `json` is an object.
  Fields(const std::string& file, std::string where, const Json& json);

  std::string text(const char* name) const;  // "" where missing
  std::string needed_text(const char* name) const;
  std::optional<double> number(const char* name) const;
  int whole(const char* name) const;  // 0 where missing
  bool flag(const char* name) const;
  Dims dims(const char* name) const;
  Tuning tuning(const char* name) const;
  const Json& array(const char* name) const;  // an empty one where missing
  const Json* object(const char* name) const;
  const Json& json() const { return *json_; }
  std::string place(const std::string& name) const { return where_.empty() ? name : where_ + "." + name; }

  [[noreturn]] void fail(const std::string& name, const std::string& what) const;

 private:
  const Json* find(const char* name) const;  // null counts as missing

  std::string file_, where_;
  const Json* json_;
};

[[noreturn]] void fail_file(const std::string& file, const std::string& reason);

}  // namespace tessera::report
