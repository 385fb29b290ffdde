// SPDX-License-Identifier: Apache-2.0
// GPU rung 3: both passes in one launch.
//
// A block walks down a strip of the result's columns; a thread computes one sample of each row. Sixteen rows
// are loaded at a time, 16 bytes per access, and transposed so that a word holds four rows of a sample: one
// load and one weight serve four rows. The sums along the rows stay in shared memory, a private column per
// thread, until the rows of the result that need them are computed. The next rows are loaded meanwhile.
// Integer sums that floats hold exactly are computed as floats. Arithmetic limits it now: bytes are unpacked
// one by one.
#include "ops/imaging/samples.hpp"
#include "resize_kernel.hpp"

namespace tessera::resizing {
namespace {

struct Config {
  int kept = 32;  // rows of sums, a power of two
  Tuning tuning() const { return {{"kept", kept}}; }
};

constexpr int threads_of_strip = 192, fetched = 16, quads = fetched / 4, pieces = threads_of_strip / quads;

enum class Sums { exact, whole, real };  // floats that hold integers, integers, floats

// Loads 16 bytes; those outside [begin, end) are 0.
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

template <class T, Config config>
struct Fused {
  static constexpr int threads = threads_of_strip;

  struct Shared {
    alignas(16) std::uint32_t line[quads][pieces * 16];  // a word per sample: a byte from each of four rows
    std::int32_t kept[config.kept][threads];
  };

  // One thread's part of the strip.
  struct ThreadPart {
    std::int64_t n;
    int x, c, begin, end;        // a column and a channel of the result, and its rows
    const unsigned char* first;  // the strip's first piece of the picture's first row
    std::int64_t pitch;
    int used;      // pieces of a row
    int at, taps;  // its first sample in a line
    const std::int32_t* weight;
    bool aligned;
  };

  static int pixels(const Problem<T>& p) { return std::max(1, threads / std::max(1, p.channels())); }
  SIMT static int strip_pixels(const Problem<T>& p) { return threads / p.channels(); }

  // Chooses strips tall enough to share few rows, and short enough that there are many of them.
  static int strip_rows(const Problem<T>& p) {
    constexpr std::int64_t wanted = 2048, least = 16, most = 256;
    const std::int64_t columns = (p.cols() + pixels(p) - 1) / pixels(p);
    return static_cast<int>(std::clamp(p.images() * columns * p.rows() / wanted, least, most));
  }

  static Launch launch(const Problem<T>& p, const Tuning&) {
    const int rows = strip_rows(p);
    return {.grid = {(p.cols() + pixels(p) - 1) / pixels(p), (p.rows() + rows - 1) / rows, p.images()},
            .block = {threads}};
  }

  static Reason refuses(const Problem<T>& p, const Tuning&) {
    if (!std::is_same_v<T, std::uint8_t>) return "is for bytes";
    if (p.plan.recipe == Recipe::pick) return "is for sums";
    if (p.plan.premultiply) return "is for channels that do not touch each other";
    if (p.plan.linear_light) return "is for samples as they are coded";
    if (!p.packed() || p.channels() > threads) return "is for pixels side by side";
    if (p.plan.across.most + fetched > config.kept) return "rows of sums exceed shared memory";
    constexpr int line_bytes = pieces * 16 - 15;  // usable bytes of a line at any alignment
    for (int x = 0; x < p.cols() && p.images() > 0; x += pixels(p)) {
      const int last = std::min(x + pixels(p), p.cols()) - 1;
      const std::int64_t samples =
          p.start(p.plan.along, last) + p.count(p.plan.along, last) - p.start(p.plan.along, x);
      if (samples * p.channels() > line_bytes) return "row exceeds shared memory";
    }
    return std::nullopt;
  }

  SIMT static ThreadPart mine_of(Thread thread, const Problem<T>& p) {
    ThreadPart m;
    const int strip = strip_pixels(p), me = thread.rank(), bands = thread.grid().y;
    const int left = thread.block().x * strip;
    const int right = (left + strip < p.cols() ? left + strip : p.cols()) - 1;
    m.n = thread.block().z;
    m.c = me % p.channels();
    m.x = left + me / p.channels();
    if (m.x > right) m.x = right;  // idle threads repeat the last pixel and store nothing
    const int rows = (p.rows() + bands - 1) / bands;
    m.begin = thread.block().y * rows;
    m.end = m.begin + rows < p.rows() ? m.begin + rows : p.rows();
    const int first = p.start(p.plan.along, left),
              last = p.start(p.plan.along, right) + p.count(p.plan.along, right);
    m.pitch = p.image.stride[1];
    m.first =
        reinterpret_cast<const unsigned char*>(p.image.data) + m.n * p.image.stride[0] + first * p.channels();
    m.aligned = m.pitch % 16 == 0;
    const int shift = m.aligned ? static_cast<int>(reinterpret_cast<std::uintptr_t>(m.first) % 16) : 0;
    m.first -= shift;
    m.used = ((last - first) * p.channels() + shift + 15) / 16;
    m.at = shift + (p.start(p.plan.along, m.x) - first) * p.channels() + m.c;
    m.taps = p.count(p.plan.along, m.x);
    m.weight = p.weights(p.plan.along, m.x);
    return m;
  }

  // Loads this thread's piece of four rows from `row` on. Reads nothing outside the picture.
  SIMT static void fetch(Thread thread, const Problem<T>& p, const ThreadPart& m, int row,
                         Bytes16 (&held)[4]) {
    const auto* const begin = reinterpret_cast<const unsigned char*>(p.image.data);
    const unsigned char* const end = begin + (p.images() - 1) * p.image.stride[0] +
                                     (p.from_rows() - 1) * p.image.stride[1] + p.from_cols() * p.channels();
    const int piece = thread.rank() % pieces, quad = thread.rank() / pieces;
    if (piece >= m.used) return;
    SIMT_UNROLL
    for (int r = 0; r < 4; ++r) {
      const int wanted = row + quad * 4 + r, line = wanted < p.from_rows() ? wanted : p.from_rows() - 1;
      const unsigned char* const from = m.first + line * m.pitch + piece * 16;
      if (m.aligned && from >= begin && from + 16 <= end) held[r] = thread.load16(from);
      else held[r] = bytes_within(from, begin, end);
    }
  }

  SIMT static void put(Thread thread, Shared& shared, const ThreadPart& m, const Bytes16 (&held)[4]) {
    const int piece = thread.rank() % pieces, quad = thread.rank() / pieces;
    if (piece >= m.used) return;
    SIMT_UNROLL
    for (int w = 0; w < 4; ++w)
      thread.store16(&shared.line[quad][piece * 16 + w * 4],
                     transposed(held[0].word[w], held[1].word[w], held[2].word[w], held[3].word[w]));
  }

  SIMT static int slot_of(int row) { return row & (config.kept - 1); }

  // Starting from 0 changes no result: the sign of a zero is lost in the conversion to a byte.
  template <Sums sums>
  SIMT static void sum_lines(Thread thread, Shared& shared, const Problem<T>& p, const ThreadPart& m,
                             int row) {
    using A = std::conditional_t<sums == Sums::whole, std::int32_t, float>;
    A sum[fetched] = {};
    const bool even = p.plan.recipe == Recipe::mean;
    SIMT_NO_UNROLL
    for (int k = 0; k < m.taps; ++k) {
      const A weight = even                  ? A{1}
                       : sums == Sums::exact ? static_cast<A>(m.weight[k])
                                             : weight_as<A>(m.weight[k]);
      SIMT_UNROLL
      for (int q = 0; q < quads; ++q) {
        const std::uint32_t word = shared.line[q][m.at + k * p.channels()];
        SIMT_UNROLL
        for (int r = 0; r < 4; ++r) {
          const A value = static_cast<A>(word >> 8 * r & 255u);
          A& to = sum[4 * q + r];
          if constexpr (sums == Sums::exact) to = std::fma(weight, value, to);
          else to = to + weight * value;
        }
      }
    }
    SIMT_UNROLL
    for (int r = 0; r < fetched; ++r) {
      std::int32_t& to = shared.kept[slot_of(row + r)][thread.rank()];
      if constexpr (sums == Sums::real) to = __builtin_bit_cast(std::int32_t, sum[r]);
      else if constexpr (sums == Sums::exact) to = static_cast<std::int32_t>(sum[r]);
      else to = p.settled(sum[r]);
    }
  }

  template <Sums sums>
  SIMT static void make(Thread thread, Shared& shared, const Problem<T>& p, const ThreadPart& m, int y) {
    using A = std::conditional_t<sums == Sums::real, float, std::int32_t>;
    const A sum = p.template sum_across<A>(
        y, [&](int row) { return weight_as<A>(shared.kept[slot_of(row)][thread.rank()]); });
    const int mine = (m.x - thread.block().x * strip_pixels(p)) * p.channels() + m.c;
    if (mine == thread.rank()) p.resized(m.n, y, m.x, m.c) = p.sample(sum);
  }

  template <Sums sums>
  SIMT static void walk(Thread thread, Shared& shared, const Problem<T>& p) {
    const ThreadPart m = mine_of(thread, p);
    if (m.begin >= m.end) return;
    Bytes16 held[4] = {};
    int y = m.begin, row = p.start(p.plan.across, y);
    fetch(thread, p, m, row, held);
    while (y < m.end) {
      thread.sync();
      put(thread, shared, m, held);
      thread.sync();
      if (row + fetched < p.from_rows()) fetch(thread, p, m, row + fetched, held);
      sum_lines<sums>(thread, shared, p, m, row);
      row += fetched;
      while (y < m.end && p.start(p.plan.across, y) + p.count(p.plan.across, y) <= row)
        make<sums>(thread, shared, p, m, y++);
    }
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      if (p.plan.recipe == Recipe::real) walk<Sums::real>(thread, shared, p);
      else if (p.plan.along_shift != 0) walk<Sums::whole>(thread, shared, p);
      else walk<Sums::exact>(thread, shared, p);
    }
  }
};

const KernelRung<Problem, Config, Fused, Config{32}, Config{64}, Config{128}> rung{
    "both passes in one launch: sums along rows wait in shared memory"};

}  // namespace
}  // namespace tessera::resizing
