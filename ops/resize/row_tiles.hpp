// SPDX-License-Identifier: Apache-2.0
// Sixteen samples of a row of the result as rows of a matrix of weights: times the bytes of a picture's row
// as they lie, whatever the channels. And which bytes the strip of such tiles that a block makes is made of.
#pragma once
#include "packed_sums.hpp"
#include "tessera/byte_matrices.hpp"

namespace tessera::resize {
inline namespace TESSERA_UNIT {

// A strip of `samples` samples: bytes of a row of the picture, multiples of 16; no fewer than the `window`
// that a tile reads, of which those that have no weight must be there too.
template <int samples, int window>
struct TileStrip {
  template <class P>
  SIMT static int begin(const P& p, int sample) {
    const int first = p.start(p.plan.along, sample / p.channels()) * p.channels() & ~15,
              latest = p.from_cols() * p.channels() - window;
    return first < latest ? first : latest;
  }
  template <class P>
  SIMT static int bytes(const P& p, int sample) {
    const int all = p.cols() * p.channels(), last = (sample + samples < all ? sample + samples : all) - 1,
              x = last / p.channels();
    const int end = (p.start(p.plan.along, x) + p.count(p.plan.along, x)) * p.channels(),
              count = ((end + 15) & ~15) - begin(p, sample);
    return count > window ? count : window;
  }

  // Whether copies of 16 bytes serve, and lines of `room` bytes.
  template <class P>
  static Reason refuses(const P& p, int room) {
    if (!p.packed()) return "is for pixels side by side";
    const auto whole = [](std::int64_t bytes) { return bytes % 16 == 0; };
    if (!whole(std::int64_t{p.from_cols()} * p.channels()) || !whole(p.image.stride[0]) ||
        !whole(p.image.stride[1]) || !whole(reinterpret_cast<std::intptr_t>(p.image.data)))
      return "is for rows that begin and end at multiples of 16 bytes";
    if (p.from_cols() * p.channels() < window)
      return "is for rows of at least " + std::to_string(window) + " bytes";
    for (int sample = 0; sample < p.cols() * p.channels() && p.images() > 0; sample += samples)
      if (bytes(p, sample) > room) return "has no room for as long lines";
    return std::nullopt;
  }
};

// What a lane has of a tile's weights, by digits: those of samples 2·g and 2·g + 1, rows g and g + 8 of the
// product.
template <int digits, int pieces>
struct TileWeights {
  static constexpr int window = 16 * pieces;

  std::uint32_t weight[digits][pieces][2];
  int at;     // where the tile's bytes begin in the strip's
  int first;  // its first sample

  // Of the tile from sample `from` on, in a strip of so many bytes from byte `begin` on.
  template <class P>
  SIMT void set(Thread thread, const P& p, int from, int begin, int bytes) {
    first = from;
    const AxisAt& along = p.plan.along;
    const int channels = p.channels(), samples = p.cols() * channels,
              sample = first + 2 * (thread.lane() / 4);
    const int inverse = 65536 / channels + 1;  // exact for bytes of a window
    const int least = p.start(along, (first < samples ? first : samples - 1) / channels) * channels,
              wanted = (least & ~3) - begin, most = bytes - window;
    at = wanted < most ? wanted : most;
    SIMT_UNROLL
    for (int h = 0; h < 2; ++h) {
      const int mine = sample + h < samples ? sample + h : samples - 1, x = mine / channels;
      const int count = sample + h < samples ? p.count(along, x) : 0;
      const int to_first = begin + at + thread.lane() % 4 * 4 - (p.start(along, x) - x) * channels - mine;
      const std::int32_t* const weights = p.weights(along, x);
      SIMT_UNROLL
      for (int i = 0; i < pieces; ++i) {
        SIMT_UNROLL
        for (int d = 0; d < digits; ++d) weight[d][i][h] = 0;
        SIMT_UNROLL
        for (int b = 0; b < 4; ++b) {
          const int byte = to_first + 16 * i + b, k = byte < 0 ? 0 : byte * inverse >> 16;
          const std::int32_t one = byte >= 0 && k < count && k * channels == byte ? weights[k] : 0;
          SIMT_UNROLL
          for (int d = 0; d < digits; ++d) weight[d][i][h] |= digit_of<digits>(one, d) << 8 * b;
        }
      }
    }
  }
};

// Bytes of a line of the ring as columns of a product have them.
template <int pieces>
SIMT void load_pieces(Thread thread, const unsigned char* line, std::uint32_t (&to)[pieces]) {
  SIMT_UNROLL
  for (int i = 0; i < pieces; ++i)
    to[i] = *reinterpret_cast<const std::uint32_t*>(line + 16 * i + thread.lane() % 4 * 4);
}

// Four samples beside each other, as far as they belong to the row, which has `count` from here on.
SIMT void store_four(std::uint8_t* to, std::uint32_t four, int count) {
  if (count >= 4 && (reinterpret_cast<std::uintptr_t>(to) & 3) == 0) {
    *reinterpret_cast<std::uint32_t*>(to) = four;
    return;
  }
  SIMT_NO_UNROLL
  for (int v = 0; v < 4 && v < count; ++v, four >>= 8) to[v] = static_cast<std::uint8_t>(four & 255u);
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::resize
