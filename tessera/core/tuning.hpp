// SPDX-License-Identifier: Apache-2.0
// What may be turned at a variant: named whole numbers. A Choice fixes some when it is compiled
// and leaves others, within ranges, to the run.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

class Tuning {
 public:
  Tuning() = default;
  Tuning(std::initializer_list<std::pair<std::string, int>> values) : values_(values) {}

  std::optional<int> find(std::string_view name) const;
  int operator[](std::string_view name) const;  // throws Error where there is none
  void set(const std::string& name, int value);
  bool empty() const { return values_.empty(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  bool operator==(const Tuning&) const = default;

 private:
  std::vector<std::pair<std::string, int>> values_;
};

std::string to_string(const Tuning& tuning);  // "tile=16,unroll=1"; "" when empty
Tuning parse_tuning(std::string_view text);   // the inverse; throws Error

// A parameter that a run may set, such as a block's width.
struct Range {
  std::string name;
  int first = 1, last = 1, value = 1;  // inclusive; `value` is the default
};

}  // namespace tessera
