// SPDX-License-Identifier: Apache-2.0
// GPU rung 5: bytes two at a time, floats by warp shuffles. The fastest rung for small kernels.
//
// At the speed of memory, a picture of bytes leaves some ten instructions per sample, fewer than unpacking,
// nine products and packing take. Here an instruction works on two samples as halves, which have twice the
// throughput; a byte is a half without any conversion (runs.hpp), and the neighbours of a pair of bytes are
// another pair, or halves of two pairs. A run has four floats: most of its loads would be samples beside the
// run, which other lanes have, so lanes exchange them by shuffles (runs.hpp). The window slides as in the
// previous rung. Memory limits it now and, for bytes, the number of lines in flight beside the registers of
// the sums.
#include "runs.hpp"

namespace tessera::filtering {
namespace {

struct Config {
  int threads = 128;
  Tuning tuning() const { return {{"threads", threads}}; }
};

template <int channels>
SIMT void pairs_of_raw(const RawRun<std::uint8_t, channels>& raw, std::uint32_t (&to)[3][pairs]) {
  std::uint32_t before = 0, behind = 0;
  SIMT_UNROLL
  for (int c = 0; c < channels; ++c) {
    before |= std::uint32_t{raw.left[c]} << (32 - 8 * channels + 8 * c);
    behind |= std::uint32_t{raw.right[c]} << (8 * c);
  }
  pairs_of<channels>(before, raw.bytes, behind, to);
}

SIMT void add_pairs(const std::uint32_t (&weight)[3], const std::uint32_t (&from)[3][pairs],
                    std::uint32_t (&sum)[pairs]) {
  SIMT_UNROLL
  for (int j = 0; j < 3; ++j) {
    if (weight[j] == 0) continue;
    SIMT_UNROLL
    for (int v = 0; v < pairs; ++v) sum[v] = pair_add(weight[j], from[j][v], sum[v]);
  }
}

template <int channels>
SIMT void slide_pairs(Thread thread, const Problem<std::uint8_t>& p, std::int64_t n, int first, int begin,
                      int end) {
  const Lines<std::uint8_t, channels> lines(p, n, first);
  const Weights3<std::int32_t> whole(p.taps);
  std::uint32_t weight[3][3];
  SIMT_UNROLL
  for (int i = 0; i < 9; ++i) weight[i / 3][i % 3] = pair_weight(whole.weight[i / 3][i % 3]);
  std::uint8_t* const to = p.filtered.data + n * p.filtered.stride[0] + first;
  std::uint32_t one[pairs] = {}, two[pairs] = {};
  RawRun<std::uint8_t, channels> next = lines.load(thread, begin - 1), after = lines.load(thread, begin);
  SIMT_NO_UNROLL
  for (int line = begin - 1; line <= end; ++line) {
    std::uint32_t current_line[3][pairs], done[pairs];
    pairs_of_raw<channels>(next, current_line);
    next = after;
    if (line + 2 <= end) after = lines.load(thread, line + 2);
    SIMT_UNROLL
    for (int v = 0; v < pairs; ++v) done[v] = two[v], two[v] = one[v], one[v] = 0;
    add_pairs(weight[2], current_line, done);
    add_pairs(weight[1], current_line, two);
    add_pairs(weight[0], current_line, one);
    if (line <= begin) continue;
    Bytes16 out;
    SIMT_UNROLL
    for (int k = 0; k < 4; ++k)
      out.word[k] = joined_bytes(pair_bytes(done[2 * k], p.conversion.absolute),
                                 pair_bytes(done[2 * k + 1], p.conversion.absolute));
    store_bytes(thread, to + (line - 1) * p.filtered.stride[1], out);
  }
}

template <class T, Config config>
struct Packed {
  static constexpr int threads = config.threads;
  // Registers must allow this many blocks: more blocks hide more memory latency.
  static constexpr int min_blocks_per_sm = 6;
  struct Shared {};

  static std::vector<Range> ranges() { return ranges_of_runs(); }

  static Launch launch(const Problem<T>& p, const Tuning& tuning) {
    return launch_of_runs(p, tuning["rows"], threads);
  }

  static Reason refuses(const Problem<T>& p, const Tuning&) {
    if (!std::is_same_v<T, std::uint8_t> && !std::is_same_v<T, float>) return "is for bytes and floats";
    if (const Reason reason = refuses_runs(p)) return reason;
    return std::is_same_v<T, std::uint8_t> ? refuses_pairs(p.taps, p.conversion) : std::nullopt;
  }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    const int run = thread.block().x * threads + thread.index().x, first = run * run_samples<T>;
    const int bands = thread.grid().y, rows = (p.rows() + bands - 1) / bands;
    const int begin = thread.block().y * rows, end = begin + rows < p.rows() ? begin + rows : p.rows();
    if (begin >= end) return;
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      if (first >= p.row_samples()) return;
      if (first + run_samples < T >> p.row_samples()) rest_of_row(p, thread.block().z, first, begin, end);
      else if (p.channels() == 1) slide_pairs<1>(thread, p, thread.block().z, first, begin, end);
      else slide_pairs<3>(thread, p, thread.block().z, first, begin, end);
    } else if constexpr (std::is_same_v<T, float>) {
      if ((run - thread.lane()) * run_samples<T> >= p.row_samples()) return;  // full warps
      if (p.channels() == 1)
        slide_warp<NumberSums<T, T, 1>, T, 1>(thread, p, thread.block().z, first, begin, end);
      else slide_warp<NumberSums<T, T, 3>, T, 3>(thread, p, thread.block().z, first, begin, end);
    }
  }
};

const KernelRung<Problem, Config, Packed, Config{}> rung{
    "bytes two an instruction, as halves; floats beside a run from the lanes beside; 16 bytes an access"};

}  // namespace
}  // namespace tessera::filtering
