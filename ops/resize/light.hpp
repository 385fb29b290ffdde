// SPDX-License-Identifier: Apache-2.0
// Linear light: what codes of sRGB mean, and which code a sum becomes, by two tables.
#pragma once
#include <cstdint>
#include <vector>

namespace tessera::resize {

double light_of(double code);  // of 0 … 1, as IEC 61966-2-1 has it

// decode: the light of each code 0 … most. encode: for each code 1 … most, the least light that becomes it.
void put_light(int most, std::int32_t& decode, std::int32_t& encode, std::vector<std::int32_t>& table);

}  // namespace tessera::resize
