// SPDX-License-Identifier: Apache-2.0
// The rung that a rung changes, with which its results are compared. That is the nearest place before it on
// its ladder; where a ladder branches, the rung's file names another: `const Parent parent{"separable"};`. ""
// says that it begins something new.
#pragma once
#include <optional>
#include <string>
#include "tessera/core/source_location.hpp"

namespace tessera {

struct Variant;

struct Parent {
  explicit Parent(std::string name, SourceLocation location = SourceLocation::current());
};

std::optional<std::string> parent_of(const Variant& variant);  // as its file names it

}  // namespace tessera
