// SPDX-License-Identifier: Apache-2.0
// GPU rung 6 for kernels that are a column times a row: strips whose rows arrive by asynchronous copies.
//
// In the previous rung, a block's loads are in flight only while it sums down columns, and the data passes
// through registers on its way to shared memory. Here bulk copies fill a ring there, a step or more ahead;
// the threads only sum, and floats stay as stored. The waits of a block's two passes for each other limit it
// now.
#include "separable.hpp"
#include "tessera/ring.hpp"

namespace tessera::filtering {
namespace {

struct Config {
  int stages = 2, blocks = 4;  // stages of the ring; blocks per multiprocessor
  Tuning tuning() const { return {{"stages", stages}, {"blocks", blocks}}; }
};

template <class T, Config config>
struct StreamedStrips {
  static constexpr int threads = 128, min_blocks_per_sm = config.blocks, stages = config.stages;
  using Passes = NumberPasses<float>;
  using Source = std::uint32_t[Passes::rows * Passes::slots * 4];

  struct Shared {
    alignas(16) Source source[stages];
    alignas(16) std::uint32_t ring[Passes::ring_slots * 4];
    alignas(16) std::uint32_t row[48], column[32];
    RingState<stages> arrived;
  };

  // The part of Shared that the passes see: one stage of the ring.
  struct Stage {
    static constexpr bool swizzled_source = false;
    std::uint32_t *source, *ring, *row, *column;
  };
  SIMT static Stage stage_of(Shared& shared, int step) {
    return {shared.source[step % stages], shared.ring, shared.row, shared.column};
  }

  // "rows": the approximate number of rows of the result per block; fewer if the picture has not enough for
  // every block.
  static std::vector<Range> ranges() { return {{"rows", 1, 4096, 504}}; }

  static Launch launch(const Problem<T>& p, const Tuning& tuning) {
    constexpr std::int64_t enough_blocks = 2112, least = 128;
    const std::int64_t most = tuning["rows"], samples = p.images() * p.rows() * p.row_samples(),
                       rows =
                           std::clamp(samples / (Passes::cols * enough_blocks), std::min(least, most), most);
    return launch_of_strips(p, Passes::cols, static_cast<int>(rows), threads);
  }

  static Reason refuses(const Problem<T>& p, const Tuning&) {
    if (!std::is_same_v<T, float>) return "is for floats: of bytes arithmetic takes longer than memory";
    if (!p.taps.separable) return "is for kernels that are a column times a row";
    if (p.image.stride[2] != 1 || p.image.stride[1] % run_samples<T> != 0)
      return "is for samples side by side, in rows that are a multiple of 16 bytes apart";
    return std::nullopt;
  }

  // Brings a step's rows into the ring: samples of the picture are copied, and columns outside it are then
  // set from the samples beside them; rows of a constant border are stored by the threads.
  struct Feed {
    static constexpr int run = run_samples<T>;
    const Strip<T>& strip;
    int runs, steps;
    int begin, end;  // samples of a line that are copied: whole runs inside the picture
    int all;         // samples of a line in the ring; sums need `strip.wide` of them

    SIMT explicit Feed(const Strip<T>& s) : strip(s), runs(Passes::runs(s.p.taps, s.shift)) {
      steps = (s.end - s.begin + 8 * lag_of(s.p.taps) + Passes::rows - 1) / Passes::rows;
      const int columns_left = s.p.width() - s.left;
      all = runs * run;
      begin = s.left < 0 ? (run - 1 - s.left) / run * run : 0;
      end = (columns_left < all ? columns_left : all) / run * run;
      if (end < begin) end = begin;
    }

    SIMT bool is_copied(int first) const {
      const int top = strip.top + first;
      return strip.p.border != Border::constant || (top >= 0 && top + Passes::rows <= strip.p.height());
    }
    SIMT const T* line(int row) const {
      // Any row serves in place of rows that no sum needs.
      const int y = strip.top + (row < strip.high ? row : strip.high - 1);
      return strip.plane + border_index(y, strip.p.height(), strip.p.border) * strip.p.image.stride[1];
    }

    SIMT void issue(Thread thread, const Ring<stages>& ring, int step, std::uint32_t* to) const {
      const int first = step * Passes::rows;
      if (step < steps && !is_copied(first)) {
        fill(thread, first, to);
        return ring.issue_nothing(step);
      }
      ring.issue(step, step < steps, Passes::rows, [&](int i, const auto& copy) {
        if (begin == end) return;
        copy(to + i * Passes::slots * 4 + begin, line(first + i) + strip.left + begin,
             (end - begin) * static_cast<int>(sizeof(T)));
      });
    }

    SIMT void fill(Thread thread, int first, std::uint32_t* to) const {
      SIMT_NO_UNROLL
      for (int at = thread.rank(); at < Passes::rows * runs; at += threads) {
        const int row = at / runs, j = at % runs;
        thread.store16(to + (row * Passes::slots + j) * 4, strip.fetch(thread, first + row, j * run));
      }
    }

    SIMT bool has_border(int step) const {
      return is_copied(step * Passes::rows) && (begin > 0 || end < all);
    }
    SIMT void set_border(Thread thread, int step, std::uint32_t* to) const {
      const int around = begin + all - end;
      SIMT_NO_UNROLL
      for (int at = thread.rank(); at < Passes::rows * around; at += threads) {
        const int row = at / around, j = at % around < begin ? at % around : at % around - begin + end;
        const bool needed = j < strip.wide;
        const int col =
                      needed ? border_index(strip.left + j, strip.p.width(), strip.p.border) : from_constant,
                  source_col = col - strip.left;
        T* const samples = reinterpret_cast<T*>(to + row * Passes::slots * 4);
        samples[j] = col == from_constant                      ? strip.p.outside
                     : source_col >= begin && source_col < end ? samples[source_col]
                                                               : line(step * Passes::rows + row)[col];
      }
    }
  };

  SIMT static void walk(Thread thread, Shared& shared, const Problem<T>& p) {
    const Strip<T> strip(thread, p, Passes::cols);
    if (strip.empty()) return;
    const Ring<stages> ring(thread, shared.arrived);
    Stage stage = stage_of(shared, 0);
    Passes::put_weights(thread, stage, p.taps, strip.shift);  // read after the first step's barrier
    const Feed feed(strip);
    SIMT_NO_UNROLL
    for (int step = 0; step < ring.ahead; ++step) feed.issue(thread, ring, step, shared.source[step]);
    SIMT_NO_UNROLL
    for (int step = 0; step < feed.steps; ++step) {
      ring.await(step);
      thread.sync();
      feed.issue(thread, ring, step + ring.ahead, shared.source[(step + ring.ahead) % stages]);
      stage = stage_of(shared, step);
      if (feed.has_border(step)) {
        feed.set_border(thread, step, stage.source);
        ring.let_engine_write();
        thread.sync();
      }
      Passes::along(thread, stage, strip, step);
      thread.sync();
      Passes::down(thread, stage, strip, step, lag_of(p.taps));
    }
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    if constexpr (std::is_same_v<T, float>) walk(thread, shared, p);
  }
};

const KernelRung<Problem, Config, StreamedStrips, Config{2, 4}, Config{3, 3}> rung{
    "as strips one rung below, whose rows arrive in a ring in shared memory ahead of their use"};

}  // namespace
}  // namespace tessera::filtering
