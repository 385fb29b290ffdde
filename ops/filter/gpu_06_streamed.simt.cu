// SPDX-License-Identifier: Apache-2.0
// GPU rung 6: rows arrive by asynchronous copies. The fastest rung for small kernels on large pictures.
//
// A load into registers takes a register and an instruction, which leaves so few bytes in flight that memory,
// not arithmetic, is idle. Here a block walks down a strip whose next rows, some 60 KB of them, are always in
// flight into a ring in shared memory, requested by one thread; the others read their samples there,
// neighbours included, and sum as in the previous rung. Memory bandwidth limits it now.
#include "runs.hpp"
#include "streamed.hpp"

namespace tessera::filtering {
namespace {

struct Config {
  int threads = 256, stages = 4;
  Tuning tuning() const { return {{"threads", threads}, {"stages", stages}}; }
};

template <class T, Config config>
struct Streamed {
  static constexpr int threads = config.threads, row_bytes = threads * static_cast<int>(sizeof(Bytes16));
  static constexpr int min_blocks_per_sm = 512 / threads;
  static constexpr std::int64_t enough_blocks = 1056;
  template <int channels>
  using Strip = StreamedStrip<T, channels, row_bytes>;
  using Rows = unsigned char[streamed_rows][row_bytes + 2 * sizeof(Bytes16)];

  struct Shared {
    alignas(16) Rows rows[config.stages];
    RingState<config.stages> ring;
  };

  // "rows": the largest number of rows of the result per block.
  static std::vector<Range> ranges() { return {{"rows", 1, 4096, 32}}; }

  static Launch launch(const Problem<T>& p, const Tuning& tuning) {
    const std::int64_t runs = p.row_samples() / run_samples<T>,
                       wide = std::clamp<std::int64_t>((runs + 31) / 32 * 32, 32, threads),
                       strips = (runs + wide - 1) / wide;
    const std::int64_t rows = std::clamp<std::int64_t>(strips * p.rows() * p.images() / enough_blocks,
                                                       std::min(4, tuning["rows"]), tuning["rows"]);
    return {.grid = {strips, (p.rows() + rows - 1) / rows, p.images()}, .block = {static_cast<int>(wide)}};
  }

  static Reason refuses(const Problem<T>& p, const Tuning&) {
    if (!std::is_same_v<T, std::uint8_t> && !std::is_same_v<T, float>) return "is for bytes and floats";
    if (const Reason reason = refuses_runs(p)) return reason;
    if (!streams(p)) return "is for rows that begin and end at multiples of 16 bytes";
    return std::is_same_v<T, std::uint8_t> ? refuses_pairs(p.taps, p.conversion) : std::nullopt;
  }

  template <class Sums, int channels>
  SIMT static void walk(Thread thread, Shared& shared, const Problem<T>& p) {
    const Strip<channels> strip(thread, p);
    const Ring<config.stages> ring(thread, shared.ring);
    SIMT_NO_UNROLL
    for (int step = 0; step < ring.ahead; ++step) strip.issue(ring, step, shared.rows[step]);
    const Sums sums(p);
    typename Sums::Sum sum[3];
    SIMT_UNROLL
    for (int i = 0; i < 3; ++i) sums.clear(sum[i]);
    const int steps = strip.steps();
    T* to = strip.to;
    SIMT_NO_UNROLL
    for (int step = 0; step < steps; ++step) {
      ring.await(step);
      thread.sync();
      strip.issue(ring, step + ring.ahead, shared.rows[(step + ring.ahead) % config.stages]);
      if (!strip.has_run) continue;
      Rows& rows = shared.rows[step % config.stages];
      FILTER_TURNS
      for (int i = 0; i < streamed_rows; ++i) {
        const int line = strip.line(step, i);
        if (line > strip.end) break;
        typename Sums::Line current_line;
        sums.take(strip.load(thread, rows[i], line), current_line);
        // This line is the last one of the row above and the first one of the row below.
        auto &above = sum[(i + 1) % 3], &beside = sum[(i + 2) % 3], &below = sum[i];
        sums.add(2, current_line, above);
        sums.add(1, current_line, beside);
        sums.clear(below);
        sums.add(0, current_line, below);
        if (line <= strip.begin) continue;
        thread.store16(to, sums.converted(above));
        to += p.filtered.stride[1];
      }
    }
  }

  template <int channels>
  SIMT static void apply(Thread thread, Shared& shared, const Problem<T>& p) {
    if constexpr (std::is_same_v<T, float>) {
      walk<NumberSums<T, T, channels>, channels>(thread, shared, p);
    } else {
      if (is_cross(p.taps)) walk<PairSums<channels, true>, channels>(thread, shared, p);
      else walk<PairSums<channels, false>, channels>(thread, shared, p);
    }
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    if constexpr (std::is_same_v<T, std::uint8_t> || std::is_same_v<T, float>) {
      if (p.channels() == 1) apply<1>(thread, shared, p);
      else apply<3>(thread, shared, p);
    }
  }
};

const KernelRung<Problem, Config, Streamed, Config{}, Config{128, 8}> rung{
    "rows arrive in a ring in shared memory, asked for well ahead by one warp", "packed"};

}  // namespace
}  // namespace tessera::filtering
