// SPDX-License-Identifier: Apache-2.0
// A strip's rows in shared memory, ready to be summed: a word has four neighbouring columns of one channel,
// and such words of four rows lie side by side. Words begin at columns that are multiples of four.
#pragma once
#include "bytes.hpp"
#include "resize.hpp"

namespace tessera::resize {
inline namespace TESSERA_UNIT {

struct Planes {
  static constexpr int threads = 192, quads = 2, step = 4 * quads;  // rows at a time, by fours
  static constexpr int lanes = threads / quads, room = 4 * (lanes + 2);
  using T = std::uint8_t;

  const Problem<T>& p;
  const T *corner, *begin, *end;  // the strip's first word of the first row; the pictures' memory
  int units;                      // words of a row
  bool aligned;

  // A channel's words of four rows. Neighbouring lanes ask for several channels, whose words then lie in
  // different banks.
  SIMT static int stride(int channels) { return channels == 1 ? 3 * lanes : lanes + (channels == 3 ? 3 : 2); }
  SIMT static int most_units(int channels) { return channels == 1 ? 3 * lanes : lanes; }

  SIMT Planes(const Problem<T>& problem, std::int64_t n, int first_unit, int count)
      : p(problem), units(count) {
    const std::int64_t* const pitch = p.image.stride;
    begin = p.image.data;
    end = begin + (p.images() - 1) * pitch[0] + (p.from_rows() - 1) * pitch[1] +
          std::int64_t{p.from_cols()} * p.channels();
    corner = begin + n * pitch[0] + std::int64_t{first_unit} * 4 * p.channels();
    const std::uintptr_t mask = p.channels() == 4 ? 15 : 3;
    aligned =
        ((reinterpret_cast<std::uintptr_t>(corner) | static_cast<std::uintptr_t>(pitch[1])) & mask) == 0;
  }

  SIMT static std::uint32_t word_at(const T* from) { return *reinterpret_cast<const std::uint32_t*>(from); }

  // The words of four pixels of four rows.
  template <int channels>
  SIMT static void fetch_whole(Thread thread, const T* const (&from)[4], std::uint32_t (&to)[4][4],
                               int at = 0) {
    SIMT_UNROLL
    for (int r = 0; r < 4; ++r) {
      if constexpr (channels == 4) {
        const Bytes16 four = thread.load16(from[r]);
        SIMT_UNROLL
        for (int c = 0; c < 4; ++c) to[r][c] = four.word[c];
      } else {
        SIMT_UNROLL
        for (int c = 0; c < channels; ++c) to[r][at + c] = word_at(from[r] + 4 * c);
      }
    }
  }

  // The same byte by byte: only what belongs to the pictures is read.
  SIMT void fetch_bytes(const T* const (&from)[4], int bytes, std::uint32_t (&to)[4][4], int at = 0) const {
    SIMT_UNROLL
    for (int r = 0; r < 4; ++r) {
      std::uint32_t word = 0;
      SIMT_NO_UNROLL
      for (int i = 0; i < bytes; ++i) {
        word = word >> 8 | (from[r] + i < end ? std::uint32_t{from[r][i]} : 0u) << 24;
        if (i == 3) to[r][at] = word;
        else if (i == 7) to[r][1] = word;
        else if (i == 11) to[r][2] = word;
        else if (i == 15) to[r][3] = word;
      }
    }
  }

  template <int channels>
  SIMT void fetch_unit(Thread thread, const T* const (&line)[4], int unit, std::uint32_t (&to)[4][4],
                       int at = 0) const {
    if (unit >= units) return;
    const T* from[4];
    SIMT_UNROLL
    for (int r = 0; r < 4; ++r) from[r] = line[r] + 4 * channels * unit;
    if (aligned && from[3] + 4 * channels <= end) fetch_whole<channels>(thread, from, to, at);
    else fetch_bytes(from, 4 * channels, to, at);
  }

  // This thread's share of the rows from `row` on; rows below the picture are its last.
  SIMT void fetch(Thread thread, int row, std::uint32_t (&held)[4][4]) const {
    const int unit = thread.rank() % lanes, quad = thread.rank() / lanes;
    const T* line[4];
    SIMT_UNROLL
    for (int r = 0; r < 4; ++r) {
      const int wanted = row + 4 * quad + r;
      line[r] = corner + (wanted < p.from_rows() ? wanted : p.from_rows() - 1) * p.image.stride[1];
    }
    if (p.channels() == 3) fetch_unit<3>(thread, line, unit, held);
    else if (p.channels() == 4) fetch_unit<4>(thread, line, unit, held);
    else {
      SIMT_UNROLL
      for (int i = 0; i < 3; ++i) fetch_unit<1>(thread, line, unit + i * lanes, held, i);
    }
  }

  // Of 12 bytes every third, from byte c on.
  SIMT static std::uint32_t every_third(const std::uint32_t (&from)[4], int c) {
    constexpr std::uint32_t two[] = {0x0630, 0x0741, 0x0052}, last[] = {0x5210, 0x6210, 0x7410};
    return picked(picked(from[0], from[1], two[c]), from[2], last[c]);
  }

  SIMT void put(Thread thread, Bytes16* line, const std::uint32_t (&held)[4][4]) const {
    const int unit = thread.rank() % lanes, channels = p.channels();
    Bytes16* const to = line + thread.rank() / lanes * room + unit;
    if (channels == 1) {
      SIMT_UNROLL
      for (int i = 0; i < 3; ++i)
        if (unit + i * lanes < units)
          thread.store16(to + i * lanes, {{held[0][i], held[1][i], held[2][i], held[3][i]}});
    } else if (unit < units && channels == 3) {
      SIMT_UNROLL
      for (int c = 0; c < 3; ++c)
        thread.store16(to + c * stride(3), {{every_third(held[0], c), every_third(held[1], c),
                                             every_third(held[2], c), every_third(held[3], c)}});
    } else if (unit < units) {
      Bytes16 row[4];
      SIMT_UNROLL
      for (int r = 0; r < 4; ++r) row[r] = turned(held[r][0], held[r][1], held[r][2], held[r][3]);
      SIMT_UNROLL
      for (int c = 0; c < 4; ++c)
        thread.store16(to + c * stride(4),
                       {{row[0].word[c], row[1].word[c], row[2].word[c], row[3].word[c]}});
    }
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::resize
