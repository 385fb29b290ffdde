// SPDX-License-Identifier: Apache-2.0
// A thread that has a run of 16 bytes of a row: what rung 2 of both operations is.
#pragma once
#include "bytes.hpp"
#include "gather.hpp"
#include "tessera/kernel.hpp"

namespace tessera::lightfield {
inline namespace TESSERA_UNIT {

// Five words from any address on, the last of them as far as the run reaches.
struct Window {
  std::uint32_t word[5];
};

// The words that hold bytes 0 to 15 + `more` of an address. No other word is touched.
SIMT Window load_words(const std::uint8_t* from, int more) {
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  const int before = static_cast<int>(address & 3), last = before + run_bytes - 1 + more;
  const auto* const words = reinterpret_cast<const std::uint32_t*>(address & ~std::uintptr_t{3});
  std::uint32_t raw[6];
  SIMT_UNROLL
  for (int j = 0; j < 6; ++j) raw[j] = 4 * j <= last ? words[j] : 0;
  Window out;
  SIMT_UNROLL
  for (int j = 0; j < 5; ++j) out.word[j] = word_at(raw[j], raw[j + 1], 8 * before);
  return out;
}

// The same of an address from which words must not be read, or of places around a line: byte after byte.
template <class P>
SIMT Window gather_bytes(const P& p, const std::uint8_t* line, int first, int offset, int more) {
  Window out = {};
  SIMT_UNROLL
  for (int i = 0; i < run_bytes + 3; ++i) {
    if (i >= run_bytes + more) continue;
    const int at = first + i + offset, channels = p.channels();
    const int pixel = at >= 0 ? at / channels : -((channels - 1 - at) / channels);
    const int col = border_index(pixel, p.width(), p.plan.border);
    const std::uint32_t byte = col == from_constant ? 0 : line[col * channels + at - pixel * channels];
    out.word[i / 4] |= byte << (8 * (i % 4));
  }
  return out;
}

template <class T>
Reason refuses_runs(const Gather<T>& p) {
  if (!std::is_same_v<T, std::uint8_t>) return "is for bytes";
  if (!p.packed()) return "is for pixels side by side";
  if (p.channels() > 3) return "is for 1 to 3 channels";
  if (p.plan.between == Between::cubic) return "is for nearest and linear interpolation";
  return std::nullopt;
}

// ⌊value / whole⌋, which a byte holds: nearly so by floats, and exactly by trying. A division of 64 bits is a
// long subroutine.
SIMT std::uint32_t divided(std::uint64_t value, std::uint64_t whole) {
  const auto near = static_cast<std::uint32_t>(static_cast<float>(value) / static_cast<float>(whole));
  if (near * whole > value) return near - 1;
  return (near + 1) * whole <= value ? near + 1 : near;
}

// Run `run` of a row, of one plane. `beside`: bytes of a line that must not be asked for at both its ends.
SIMT void refocus_run(Thread thread, const Gather<std::uint8_t>& p, int plane, int y, int run, int beside) {
  const int first = run * run_bytes, channels = p.channels();
  std::uint64_t sum[run_bytes] = {};
  for (int begin = 0; begin < p.plan.count;) {
    const int end = p.row_end(begin);
    const Taps up = p.row_taps(p.plan.view[begin].row, plane);
    for (int i = 0; i < up.count; ++i) {
      const int row = border_index(y + up.first + i, p.height(), p.plan.border);
      if (row == from_constant) continue;
      SIMT_NO_UNROLL
      for (int v = begin; v < end; ++v) {
        const Taps right = p.col_taps(p.plan.view[v].col, plane);
        const std::uint8_t* const line = &p.views(p.plan.view[v].row, p.plan.view[v].col, row, 0, 0);
        const int offset = right.first * channels, more = right.count == 2 ? channels : 0;
        const bool inside =
            first + offset >= beside && first + offset + run_bytes + more + beside <= p.row_samples();
        const Window window =
            inside ? load_words(line + first + offset, more) : gather_bytes(p, line, first, offset, more);
        const std::uint32_t weights =
            static_cast<std::uint32_t>(right.weight[0]) |
            (right.count == 2 ? static_cast<std::uint32_t>(right.weight[1]) << (8 * channels) : 0);
        const std::uint64_t weight = static_cast<std::uint64_t>(i == 0 ? up.weight[0] : up.weight[1]) *
                                     static_cast<std::uint64_t>(p.plan.view[v].weight);
        SIMT_UNROLL
        for (int e = 0; e < run_bytes; ++e) {
          const std::uint32_t four = e % 4 == 0
                                         ? window.word[e / 4]
                                         : word_at(window.word[e / 4], window.word[e / 4 + 1], 8 * (e % 4));
          sum[e] += weight * add_four(four, weights, 0);
        }
      }
    }
    begin = end;
  }
  const std::uint64_t whole = static_cast<std::uint64_t>(p.plan.all_weights) << (2 * p.bits);
  Bytes16 out = {};
  SIMT_UNROLL
  for (int e = 0; e < run_bytes; ++e) out.word[e / 4] |= divided(sum[e] + whole / 2, whole) << (8 * (e % 4));
  store_run(thread, &p.result(plane, y, 0, 0) + first, out, p.row_samples() - first);
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::lightfield
