// SPDX-License-Identifier: Apache-2.0
// The definition of docs/seamcarve.md, word by word: what every rung is held against.
#pragma once
#include <span>
#include "tessera/core/operation.hpp"

namespace tessera::seamcarve {

// `rows` count over images and their rows. Every bound is 0.
void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data data, Expected& expected);
// Rows that differ from what the processors' fastest rung computes.
std::vector<std::int64_t> suspect_rows(const Arguments& arguments, Data data, std::uint64_t seed);

}  // namespace tessera::seamcarve
