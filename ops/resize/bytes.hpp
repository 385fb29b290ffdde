// SPDX-License-Identifier: Apache-2.0
// Pieces of 16 bytes of four rows, turned so that each word holds one sample of the four.
#pragma once
#include <cstdint>
#include "tessera/core/thread.hpp"

namespace tessera::resize {
inline namespace TESSERA_UNIT {

// Bytes of two words by their places: 0 to 3 of the first, 4 to 7 of the second, the lowest digit first.
SIMT std::uint32_t picked(std::uint32_t a, std::uint32_t b, std::uint32_t places) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(a, b, places);
#else
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  std::uint32_t out = 0;
  for (int i = 0; i < 4; ++i)
    out |= static_cast<std::uint32_t>(both >> 8 * (places >> 4 * i & 7u) & 255u) << 8 * i;
  return out;
#endif
}

// Four samples of each of four rows: word i of the result has sample i of all of them.
SIMT Bytes16 turned(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  const std::uint32_t ab = picked(a, b, 0x5140), cd = picked(c, d, 0x5140);
  const std::uint32_t ab_high = picked(a, b, 0x7362), cd_high = picked(c, d, 0x7362);
  return {{picked(ab, cd, 0x5410), picked(ab, cd, 0x7632), picked(ab_high, cd_high, 0x5410),
           picked(ab_high, cd_high, 0x7632)}};
}

// 16 bytes, of which those outside [begin, end) are 0.
SIMT Bytes16 bytes_within(const unsigned char* from, const unsigned char* begin, const unsigned char* end) {
  Bytes16 out;
  SIMT_UNROLL
  for (int w = 0; w < 4; ++w) {
    std::uint32_t word = 0;
    SIMT_UNROLL
    for (int i = 0; i < 4; ++i) {
      const unsigned char* const at = from + 4 * w + i;
      if (at >= begin && at < end) word |= std::uint32_t{*at} << 8 * i;
    }
    out.word[w] = word;
  }
  return out;
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::resize
