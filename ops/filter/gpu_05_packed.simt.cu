// SPDX-License-Identifier: Apache-2.0
// GPU rung 5: bytes two at a time. The summit of small kernels of bytes.
//
// A picture of bytes at the speed of memory leaves eight integer instructions for a sample, fewer than
// unpacking, nine products and packing take. Here an instruction works on two samples as halves, of which a
// multiprocessor has twice as many a clock; a byte is a half without any conversion (pairs.hpp), and where
// the pixel beside is one sample away, the odd bytes are the right neighbours of the even ones. The window
// slides as one rung below. What limits it now is memory.
#include "lines.hpp"
#include "pairs.hpp"

namespace tessera::filter {
namespace {

struct Config {
  int threads = 128;
  Tuning tuning() const { return {{"threads", threads}}; }
};

constexpr int pairs = run_samples<std::uint8_t> / 2;

// Every pair of a line, as it stands to the left, in the middle and to the right.
template <int channels>
SIMT void pairs_of(const RawRun<std::uint8_t, channels>& raw, std::uint32_t (&to)[3][pairs]) {
  constexpr int shift = 8 * channels;
  std::uint32_t before = 0, behind = 0;
  SIMT_UNROLL
  for (int c = 0; c < channels; ++c) {
    before |= std::uint32_t{raw.left[c]} << (32 - shift + 8 * c);
    behind |= std::uint32_t{raw.right[c]} << (8 * c);
  }
  SIMT_UNROLL
  for (int k = 0; k < 4; ++k) {
    const std::uint32_t word = raw.bytes.word[k];
    const std::uint32_t left =
        word << shift | (k == 0 ? before : raw.bytes.word[k == 0 ? 0 : k - 1]) >> (32 - shift);
    const std::uint32_t right = word >> shift | (k == 3 ? behind : raw.bytes.word[k == 3 ? 3 : k + 1])
                                                    << (32 - shift);
    to[1][2 * k] = even_bytes(word);
    to[1][2 * k + 1] = odd_bytes(word);
    to[0][2 * k] = even_bytes(left);
    to[2][2 * k + 1] = odd_bytes(right);
    to[0][2 * k + 1] = channels == 1 ? to[1][2 * k] : odd_bytes(left);
    to[2][2 * k] = channels == 1 ? to[1][2 * k + 1] : even_bytes(right);
  }
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
    std::uint32_t here[3][pairs], done[pairs];
    pairs_of<channels>(next, here);
    next = after;
    if (line + 2 <= end) after = lines.load(thread, line + 2);
    SIMT_UNROLL
    for (int v = 0; v < pairs; ++v) done[v] = two[v], two[v] = one[v], one[v] = 0;
    add_pairs(weight[2], here, done);
    add_pairs(weight[1], here, two);
    add_pairs(weight[0], here, one);
    if (line <= begin) continue;
    Bytes16 out;
    SIMT_UNROLL
    for (int k = 0; k < 4; ++k)
      out.word[k] =
          pair_bytes(done[2 * k], p.finish.absolute) | pair_bytes(done[2 * k + 1], p.finish.absolute) << 8;
    store_bytes(thread, to + (line - 1) * p.filtered.stride[1], out);
  }
}

// Whatever part of the taps has been added, halves hold it.
inline bool sums_fit(const Taps& taps) {
  int above = 0, below = 0;
  for (int i = 0; i < taps.rows * taps.cols; ++i) (taps.weight[i] > 0 ? above : below) += taps.weight[i];
  return above * 255 <= most_pair_sum && -below * 255 <= most_pair_sum;
}

template <class T, Config config>
struct Packed {
  static constexpr int threads = config.threads;
  struct Shared {};

  static std::vector<Range> ranges() { return ranges_of_runs(); }

  static Launch launch(const Problem<T>& p, const Tuning& tuning) {
    return launch_of_runs(p, tuning["rows"], threads);
  }

  static Reason refuses(const Problem<T>& p, const Tuning&) {
    if (!std::is_same_v<T, std::uint8_t>) return "is for bytes";
    if (const Reason reason = refuses_runs(p)) return reason;
    const Finish& f = p.finish;
    if (!f.whole || f.shift != 0 || f.whole_offset != 0) return "is for sums without a factor or an offset";
    if (!sums_fit(p.taps)) return "is for weights whose positive and negative sums are at most 8";
    return std::nullopt;
  }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      const int first = (thread.block().x * threads + thread.index().x) * run_samples<T>;
      const int bands = thread.grid().y, rows = (p.rows() + bands - 1) / bands;
      const int begin = thread.block().y * rows, end = begin + rows < p.rows() ? begin + rows : p.rows();
      if (begin >= end || first >= p.row_samples()) return;
      if (first + run_samples < T >> p.row_samples()) rest_of_row(p, thread.block().z, first, begin, end);
      else if (p.channels() == 1) slide_pairs<1>(thread, p, thread.block().z, first, begin, end);
      else slide_pairs<3>(thread, p, thread.block().z, first, begin, end);
    }
  }
};

const KernelRung<Problem, Config, Packed, Config{}> rung{
    "two bytes an instruction, as halves; 16 bytes an access"};

}  // namespace
}  // namespace tessera::filter
