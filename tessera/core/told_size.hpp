// SPDX-License-Identifier: Apache-2.0
// Sizes that follow from what inputs hold, not from their dimensions alone. The default of a whole-number
// argument may be the name of one.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include "tessera/core/array.hpp"
#include "tessera/core/expression.hpp"

namespace tessera {

// Of the inputs in host memory, the dimensions known so far, and the words with their defaults filled in.
using ToldSize = std::function<std::int64_t(const std::map<std::string, ArrayView>&, const Dims&,
                                            const std::map<std::string, std::string>&)>;

void register_size(const std::string& name, ToldSize size);
const ToldSize* find_size(const std::string& name);  // null: none is called so

}  // namespace tessera
