// SPDX-License-Identifier: Apache-2.0
// Who did what where, in words.
#pragma once
#include <cstdint>
#include <string>
#include "tessera/simt/trace.hpp"

namespace tessera::simt {

// "thread (1, 0, 0) of block (0, 0, 0)"
std::string who(const Launch& launch, std::int64_t block, std::size_t thread);
std::string deed(SiteKey site);  // " reads 4 bytes"
// ", and nothing orders it with thread … of block …, which writes 4 bytes"
std::string race_with(const Launch& launch, std::int64_t block, std::size_t thread, SiteKey site);

std::string place_in_shared(std::uint64_t address, std::uint64_t first);
// "C[3, 4]", or "element -1 of C, which has 100".
std::string place_in(const TracedArray& array, std::uint64_t address);

}  // namespace tessera::simt
