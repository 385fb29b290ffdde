// SPDX-License-Identifier: Apache-2.0
// GPU rung 4: samples stay four to a word from memory to the sum. The fastest rung for bytes.
//
// A thread computes columns of the result, one in each half of a strip, and walks down the picture as in the
// previous rung. Rows are split by channel once, on their way to shared memory, and weights stay in
// registers. One instruction multiplies the four samples of a word by four weights, once per byte of the
// weights, since integer sums may be taken in any order. Byte sums are kept four rows to a word, so that the
// weights across rows, the same for the whole block, are also applied four at a time. Floats keep the order
// of the formula, but no byte is converted before its product. Arithmetic limits sums with many taps; those
// with few come close to memory bandwidth.
#include "resize_kernel.hpp"
#include "packed_sums.hpp"

namespace tessera::resizing {
namespace {

// A strip's rows in shared memory, ready to be summed: a word has four neighbouring columns of one channel,
// and the words of four rows are adjacent. Words begin at columns that are multiples of four.
struct Planes {
  static constexpr int threads = 192, quads = 2, step = 4 * quads;  // step: rows at a time
  static constexpr int lanes = threads / quads, vectors_per_line = 4 * (lanes + 2);
  using T = std::uint8_t;

  const Problem<T>& p;
  const T *corner, *begin, *end;  // the strip's first word of the first row; the pictures' memory
  int units;                      // words of a row
  bool aligned;

  // Returns the distance between channels, in vectors of 16 bytes. Neighbouring lanes read several channels,
  // whose words this places in different banks.
  SIMT static int stride(int channels) { return channels == 1 ? 3 * lanes : lanes + (channels == 3 ? 3 : 2); }
  SIMT static int max_units(int channels) { return channels == 1 ? 3 * lanes : lanes; }

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

  // Loads the words of four pixels of four rows.
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

  // Loads the same words byte by byte and reads nothing outside the pictures.
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

  // Loads this thread's share of the rows from `row` on; rows below the picture repeat its last row.
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

  // Every third of 12 bytes, from byte c on.
  SIMT static std::uint32_t every_third(const std::uint32_t (&from)[4], int c) {
    constexpr std::uint32_t two[] = {0x0630, 0x0741, 0x0052}, last[] = {0x5210, 0x6210, 0x7410};
    return permuted(permuted(from[0], from[1], two[c]), from[2], last[c]);
  }

  SIMT void put(Thread thread, Bytes16* line, const std::uint32_t (&held)[4][4]) const {
    const int unit = thread.rank() % lanes, channels = p.channels();
    Bytes16* const to = line + thread.rank() / lanes * vectors_per_line + unit;
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
      for (int r = 0; r < 4; ++r) row[r] = transposed(held[r][0], held[r][1], held[r][2], held[r][3]);
      SIMT_UNROLL
      for (int c = 0; c < 4; ++c)
        thread.store16(to + c * stride(4),
                       {{row[0].word[c], row[1].word[c], row[2].word[c], row[3].word[c]}});
    }
  }
};

struct Config {
  Packed sums = Packed::bytes;
  int words = 1;  // words of four weights
  bool turned = true;
  int columns = 2;  // columns per thread
  int blocks = 4;   // resident blocks per multiprocessor that registers allow
  Tuning tuning() const {
    return {{"sums", static_cast<int>(sums)}, {"words", words}, {"turned", turned ? 1 : 0}};
  }
};

template <Config config>
auto column_of() {
  if constexpr (config.sums == Packed::bytes) return ByteColumn<config.words, config.turned>{};
  else if constexpr (config.sums == Packed::whole) return WholeColumn<config.words>{};
  else if constexpr (config.sums == Packed::linear) return LinearColumn{};
  else return RealColumn<config.words>{};
}

template <class T, Config config>
struct PackedSums {
  using Column = decltype(column_of<config>());
  static constexpr int threads = Planes::threads, columns = config.columns, min_blocks_per_sm = config.blocks;

  static constexpr int max_rows = 128;  // rows per strip

  // The weights across rows are in shared memory: a load from global memory would wait behind those of the
  // next rows.
  struct Shared {
    Bytes16 line[Planes::quads * Planes::vectors_per_line];
    Bytes16 entry[max_rows * Column::entry_words];
  };

  SIMT static int strip_pixels(const Problem<T>& p) { return threads / p.channels() * columns; }

  static int strip_rows(const Problem<T>& p) {
    constexpr std::int64_t wanted = 2048, least = 16, most = max_rows;
    const std::int64_t strips = (p.cols() + strip_pixels(p) - 1) / strip_pixels(p);
    return static_cast<int>(std::clamp(p.images() * strips * p.rows() / wanted, least, most));
  }

  static Launch launch(const Problem<T>& p, const Tuning&) {
    const int wide = strip_pixels(p), rows = strip_rows(p);
    return {.grid = {(p.cols() + wide - 1) / wide, (p.rows() + rows - 1) / rows, p.images()},
            .block = {threads}};
  }

  SIMT static int units_of(const Problem<T>& p, int left, int right) {
    return (p.start(p.plan.along, right) >> 2) + Column::loads - (p.start(p.plan.along, left) >> 2);
  }

  static Reason refuses(const Problem<T>& p, const Tuning&) {
    if (!std::is_same_v<T, std::uint8_t>) return "is for bytes";
    if (p.plan.recipe == Recipe::pick) return "is for sums";
    if (p.plan.premultiply) return "is for channels that do not touch each other";
    if (p.plan.linear_light) return "is for samples as they are coded";
    if (p.channels() != 1 && p.channels() != 3 && p.channels() != 4) return "is for 1, 3 and 4 channels";
    if (!p.packed() || p.image.stride[1] < 0 || p.image.stride[0] < 0) return "is for pixels side by side";
    const Packing& packing = p.plan.packing;
    if (packing.kind == Packed::none) return "does not support this many taps, or weights this large";
    if (packing.kind != config.sums || packing.words != config.words || packing.turned != config.turned)
      return "is for other sums";
    for (int x = 0; x < p.cols() && p.images() > 0; x += strip_pixels(p))
      if (units_of(p, x, std::min(x + strip_pixels(p), p.cols()) - 1) > Planes::max_units(p.channels()))
        return "row exceeds shared memory";
    return std::nullopt;
  }

  // One thread's part of the strip. `at`: where each column's samples begin in shared memory.
  struct ThreadPart {
    Column column[columns];
    int at[columns];
    int sample, samples;  // its first sample in a row of the result; samples of such a row
  };

  SIMT static void begin_columns(Thread thread, const Problem<T>& p, int first_unit, int right,
                                 ThreadPart& m) {
    const AxisAt& along = p.plan.along;
    m.sample = thread.block().x * strip_pixels(p) * p.channels() + thread.rank();
    m.samples = p.cols() * p.channels();
    SIMT_UNROLL
    for (int k = 0; k < columns; ++k) {
      const int wanted = (m.sample + k * threads) / p.channels(), c = thread.rank() % p.channels();
      const int x = wanted < right ? wanted : right;  // idle threads repeat the last pixel and store nothing
      const int first = p.start(along, x);
      m.at[k] = c * Planes::stride(p.channels()) + (first >> 2) - first_unit;
      m.column[k].begin(p, first, p.count(along, x), p.weights(along, x));
    }
  }

  SIMT static void add_rows(Thread thread, const Problem<T>& p, const Bytes16* quad, ThreadPart& m) {
    SIMT_UNROLL
    for (int k = 0; k < columns; ++k) {
      Bytes16 four[Column::loads];
      SIMT_UNROLL
      for (int i = 0; i < Column::loads; ++i) four[i] = thread.load16(quad + m.at[k] + i);
      m.column[k].add(p, four);
    }
  }

  // Copies the weights of rows `begin` to `end` of the result to shared memory.
  SIMT static void put_entries(Thread thread, Shared& shared, const Problem<T>& p, int begin, int end) {
    const std::int32_t* const from =
        p.table + p.plan.packing.rows + std::int64_t{begin} * (4 * Column::entry_words);
    SIMT_NO_UNROLL
    for (int i = thread.rank(); i < (end - begin) * Column::entry_words; i += threads)
      thread.store16(shared.entry + i, thread.load16(from + 4 * i));
  }

  // Computes a row of the result whose last source row is row r of the last four. Returns the last source row
  // of the next row.
  SIMT static int make(Thread thread, const Bytes16* from, const Problem<T>& p, const ThreadPart& m, int r,
                       T* to) {
    Bytes16 entry[Column::entry_words];
    SIMT_UNROLL
    for (int i = 0; i < Column::entry_words; ++i) entry[i] = thread.load16(from + i);
    std::uint32_t made[columns];
    SIMT_UNROLL
    for (int k = 0; k < columns; ++k) made[k] = m.column[k].result(p, entry, r);
    SIMT_UNROLL
    for (int k = 0; k < columns; ++k)
      if (m.sample + k * threads < m.samples) to[k * threads] = static_cast<T>(made[k]);
    return static_cast<int>(entry[Column::entry_words - 1].word[3]);
  }

  SIMT static void walk(Thread thread, Shared& shared, const Problem<T>& p, int begin, int end) {
    const int strip = strip_pixels(p), left = thread.block().x * strip, n = thread.block().z;
    const int right = (left + strip < p.cols() ? left + strip : p.cols()) - 1;
    const AxisAt &along = p.plan.along, &across = p.plan.across;
    const int first_unit = p.start(along, left) >> 2;
    const Planes planes(p, n, first_unit, units_of(p, left, right));
    put_entries(thread, shared, p, begin, end);
    ThreadPart m;
    begin_columns(thread, p, first_unit, right, m);
    T* to = p.resized.data + n * p.resized.stride[0] + begin * p.resized.stride[1] + m.sample;
    const int top = p.start(across, begin) & ~3, bottom = p.start(across, end - 1) + p.count(across, end - 1);
    int y = begin, due = p.start(across, y) + p.count(across, y) - 1;
    std::uint32_t held[4][4] = {};
    SIMT_NO_UNROLL
    for (int row = top - Planes::step;; row += Planes::step) {
      if (row + Planes::step < bottom) planes.fetch(thread, row + Planes::step, held);
      SIMT_UNROLL
      for (int q = 0; q < Planes::quads; ++q) {
        if (row < top) break;
        add_rows(thread, p, shared.line + q * Planes::vectors_per_line, m);
        const int four = row + 4 * q;
        constexpr int ends = Column::ends_anywhere ? 1 : 4;
        SIMT_UNROLL
        for (int r = 0; r < ends; ++r)
          while (due < four + (ends == 1 ? 4 : r + 1)) {
            const int next = make(thread, shared.entry + (y - begin) * Column::entry_words, p, m,
                                  ends == 1 ? due - four : r, to);
            to += p.resized.stride[1];
            due = ++y < end ? next : 0x7fffffff;
          }
      }
      if (y >= end) return;
      thread.sync();
      planes.put(thread, shared.line, held);
      thread.sync();
    }
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      const int bands = thread.grid().y, rows = (p.rows() + bands - 1) / bands;
      const int begin = thread.block().y * rows, end = begin + rows < p.rows() ? begin + rows : p.rows();
      if (begin < end) walk(thread, shared, p, begin, end);
    }
  }
};

const KernelRung<Problem, Config, PackedSums, Config{Packed::bytes, 3, false, 2, 3},
                 Config{Packed::bytes, 1, true, 2, 4}, Config{Packed::bytes, 2, true, 2, 4},
                 Config{Packed::bytes, 3, true, 2, 3}, Config{Packed::bytes, 4, false, 1, 4},
                 Config{Packed::bytes, 6, false, 1, 3}, Config{Packed::whole, 1, true, 2, 4},
                 Config{Packed::whole, 2, true, 2, 3}, Config{Packed::linear, 1, true, 2, 5},
                 Config{Packed::real, 1, true, 2, 4}, Config{Packed::real, 2, true, 1, 4}>
    rung{"samples stay four to a word: four products an instruction, weights in registers"};

}  // namespace
}  // namespace tessera::resizing
