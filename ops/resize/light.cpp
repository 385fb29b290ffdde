// SPDX-License-Identifier: Apache-2.0
#include "light.hpp"
#include <bit>
#include <cmath>

namespace tessera::resize {

double light_of(double code) {
  return code <= 0.04045 ? code / 12.92 : std::pow((code + 0.055) / 1.055, 2.4);
}

void put_light(int most, std::int32_t& decode, std::int32_t& encode, std::vector<std::int32_t>& table) {
  const auto put = [&](double code) {
    table.push_back(std::bit_cast<std::int32_t>(static_cast<float>(light_of(code / most))));
  };
  decode = static_cast<std::int32_t>(table.size());
  for (int code = 0; code <= most; ++code) put(code);
  encode = static_cast<std::int32_t>(table.size());
  for (int code = 1; code <= most; ++code) put(code - 0.5);
}

}  // namespace tessera::resize
