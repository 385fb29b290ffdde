// SPDX-License-Identifier: Apache-2.0
// GPU rung 6 for bytes and kernels that are a column times a row: sums as matrix products.
//
// Sixteen sums along a row are a matrix of weights, the same everywhere, times the bytes as stored, and eight
// rows of the picture are eight columns of the product. Its 16-bit sums are in a lane's registers so that
// their two bytes are the first operands of the products down columns: nothing moves between the passes.
// Other instructions only pack and transpose results, so that a lane stores 16 bytes.
#include "streamed.hpp"
#include "ops/imaging/samples.hpp"
#include "tessera/byte_matrices.hpp"

namespace tessera::filtering {
namespace {

struct Config {
  int pieces = 2;  // 16-byte pieces that 16 sums along a row depend on
  int octets = 2;  // groups of eight rows of the picture that eight rows of the result depend on
  constexpr int groups() const { return (octets + 1) / 2; }  // groups of 16 rows
  Tuning tuning() const { return {{"pieces", pieces}, {"octets", octets}}; }
};

template <class T, Config config>
struct Matrices {
  static constexpr int warps = 8, threads = 32 * warps, tiles = 4, tile = 16, rows = 8;
  static constexpr int min_blocks_per_sm = config.octets == 2 ? 3 : 2, stages = 6;
  static constexpr int pieces = config.pieces, octets = config.octets;
  static constexpr int strip = warps * tiles * tile, beside = 16 * (pieces - 1);
  // An odd number of 16 bytes: eight rows begin in different banks.
  static constexpr int row_bytes = ((strip + beside) / 16 + 1 | 1) * 16;
  static constexpr std::int64_t enough_blocks = 792;
  using Strip = ByteRows<row_bytes>;

  struct Shared {
    alignas(16) typename Strip::Rows rows[stages];
    RingState<stages> ring;
  };

  // This lane's weights: for two sums along a row; for a row of the result.
  struct Weights {
    std::uint32_t row[pieces][2], column[config.groups()];
  };
  // The row sums of two samples, 16 bits each, for the picture rows that a row of the result needs.
  using Kept = std::uint32_t[octets][2];

  // "rows": the largest number of rows of the result per block.
  static std::vector<Range> ranges() { return {{"rows", 1, 4096, 128}}; }

  static Launch launch(const Problem<T>& p, const Tuning& tuning) {
    const std::int64_t strips = (p.row_samples() + strip - 1) / strip, most = tuning["rows"],
                       each = std::clamp(strips * p.rows() * p.images() / enough_blocks,
                                         std::min<std::int64_t>(rows, most), most);
    return {.grid = {strips, (p.rows() + each - 1) / each, p.images()}, .block = {threads}};
  }

  static Reason refuses(const Problem<T>& p, const Tuning&) {
    if (!std::is_same_v<T, std::uint8_t> || p.to != Element::u8) return "is for bytes from bytes";
    if (!p.taps.separable || !p.taps.bytes) return "is for kernels that are a column times a row of bytes";
    if (tile + (p.taps.cols - 1) * p.channels() + 3 > tile * pieces || p.taps.rows > rows * (octets - 1) + 1)
      return "is for smaller kernels";
    if (!p.packed()) return "is for pixels side by side";
    if (!streams(p)) return "is for rows that begin and end at multiples of 16 bytes";
    return std::nullopt;
  }

  // Samples 2·g and 2·g + 1 of a tile are rows g and g + 8 of the product. Two rows of an octet are bytes 0
  // and 1 of a word, those of the next octet bytes 2 and 3.
  SIMT static Weights weights_of(Thread thread, const Problem<T>& p, int shift) {
    const Taps& taps = p.taps;
    const int g = thread.lane() / 4, t = thread.lane() % 4, channels = p.channels();
    constexpr int groups = config.groups();
    Weights out = {};
    SIMT_UNROLL
    for (int v = 0; v < 8 * pieces; ++v) {
      const int i = v / 8, h = v / 4 % 2, b = v % 4, away = 16 * i + 4 * t + b - 2 * g - h - shift % 4,
                j = away / channels;
      if (away >= 0 && j * channels == away && j < taps.cols)
        out.row[i][h] |= static_cast<std::uint32_t>(taps.row[j]) << 8 * b;
    }
    SIMT_UNROLL
    for (int v = 0; v < 4 * groups; ++v) {
      const int b = v % 4, i = rows * (2 * (v / 4) + b / 2) + 2 * t + b % 2 - g;
      if (i >= 0 && i < taps.rows) out.column[v / 4] |= static_cast<std::uint32_t>(taps.column[i]) << 8 * b;
    }
    return out;
  }

  // Appends the row sums of eight rows of the picture to `kept`.
  SIMT static void along(Thread thread, const unsigned char* from, const Weights& weights, Kept& kept) {
    const unsigned char* const at = from + thread.lane() / 4 * row_bytes + thread.lane() % 4 * 4;
    std::uint32_t bytes[pieces], d[4] = {};
    SIMT_UNROLL
    for (int i = 0; i < pieces; ++i) bytes[i] = *reinterpret_cast<const std::uint32_t*>(at + 16 * i);
    SIMT_UNROLL
    for (int i = 0; i < pieces; i += 2)
      multiply_bytes<false, false, pieces>(thread, d, weights.row, bytes, i);
    SIMT_UNROLL
    for (int h = 0; h < 2; ++h) {
      SIMT_UNROLL
      for (int o = 0; o + 1 < octets; ++o) kept[o][h] = kept[o + 1][h];
      kept[octets - 1][h] = lower_halves(d[2 * h], d[2 * h + 1]);
    }
  }

  // Adds to `d` the column sums of the higher or the lower bytes of the kept row sums.
  SIMT static void down(Thread thread, const Kept& kept, const Weights& weights, bool higher,
                        std::uint32_t (&d)[4]) {
    constexpr int groups = config.groups();
    std::uint32_t bytes[groups][2];
    SIMT_UNROLL
    for (int v = 0; v < 2 * groups; ++v) {
      const int o = v / 2 * 2, h = v % 2;
      bytes[v / 2][h] = bytes_of_halves(kept[o][h], o + 1 < octets ? kept[o + 1][h] : 0, higher);
    }
    SIMT_UNROLL
    for (int i = 0; i < groups; i += 2)
      multiply_bytes<false, false, groups>(thread, d, bytes, weights.column, i);
  }

  // Returns four adjacent results of row lane / 4, from sample lane % 4 · 4 on.
  SIMT static std::uint32_t converted(Thread thread, const OutputConversion& f, bool quick,
                                      std::uint32_t (&d)[4]) {
    if (!quick) {
      SIMT_UNROLL
      for (int v = 0; v < 4; ++v) d[v] = std::uint32_t{finished<T>(f, static_cast<std::int32_t>(d[v]))} << 16;
    }
    return movmatrix_trans(thread, third_bytes({d[0], d[2], d[1], d[3]}));
  }

  // Transposes among four lanes: lane c has word c of 16 bytes of each of four tiles and gets all of tile c.
  SIMT static Bytes16 gathered(Thread thread, std::uint32_t (&word)[tiles]) {
    SIMT_UNROLL
    for (int by = 1; by < 4; by *= 2) {
      const bool upper = (thread.lane() & by) != 0;
      SIMT_UNROLL
      for (int v = 0; v < 2; ++v) {
        const int low = by == 1 ? 2 * v : v, high = low + by;
        const std::uint32_t got = thread.shuffle_xor(upper ? word[low] : word[high], by);
        (upper ? word[low] : word[high]) = got;
      }
    }
    return {{word[0], word[1], word[2], word[3]}};
  }

  SIMT static void walk(Thread thread, Shared& shared, const Problem<T>& p) {
    const Strip part(thread, p, strip, beside, octets);
    const Ring<stages> ring(thread, shared.ring);
    SIMT_NO_UNROLL
    for (int step = 0; step < ring.ahead; ++step) part.issue(thread, ring, step, shared.rows[step]);
    const Weights weights = weights_of(thread, p, part.shift);
    const OutputConversion& f = p.conversion;
    const bool quick = f.whole && f.shift == 16 && f.whole_offset == 0;  // weights add up to 2^16: a Gaussian
    const std::uint32_t start = quick ? static_cast<std::uint32_t>(f.half) : 0;
    Kept kept[tiles] = {};
    const int first = thread.warp() * tiles * tile, mine = first + thread.lane() % 4 * tile;
    T* const to = p.filtered.data + thread.block().z * p.filtered.stride[0] + part.start + mine;
    SIMT_NO_UNROLL
    for (int step = 0; step < part.steps; ++step) {
      ring.await(step);
      thread.sync();
      part.issue(thread, ring, step + ring.ahead, shared.rows[(step + ring.ahead) % stages]);
      typename Strip::Rows& lines = shared.rows[step % stages];
      if (part.has_border(step)) {
        part.set_border(thread, step, lines);
        ring.let_engine_write();
        thread.sync();
      }
      if (first >= part.used) continue;
      SIMT_UNROLL
      for (int t = 0; t < tiles; ++t) {
        // A tile beyond the row repeats another tile and is not stored.
        const int at = first + t * tile < part.used ? first + t * tile : part.used - tile;
        along(thread, lines[0] + part.shift / 4 * 4 + at, weights, kept[t]);
      }
      if (step < octets - 1) continue;
      std::uint32_t word[tiles];
      SIMT_UNROLL
      for (int t = 0; t < tiles; ++t) {
        std::uint32_t d[4] = {};
        down(thread, kept[t], weights, true, d);
        SIMT_UNROLL
        for (int v = 0; v < 4; ++v) d[v] = (d[v] << 8) + start;
        down(thread, kept[t], weights, false, d);
        word[t] = converted(thread, f, quick, d);
      }
      const Bytes16 run = gathered(thread, word);
      const int y = part.begin + rows * (step - octets + 1) + thread.lane() / 4;
      if (y < part.end && mine < part.used) thread.store16(to + y * p.filtered.stride[1], run);
    }
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    if constexpr (std::is_same_v<T, std::uint8_t>) walk(thread, shared, p);
  }
};

const KernelRung<Problem, Config, Matrices, Config{2, 2}, Config{3, 2}, Config{4, 5}> rung{
    "sums as products of matrices of bytes, by tensor cores; what is between the passes stays in registers"};

}  // namespace
}  // namespace tessera::filtering
