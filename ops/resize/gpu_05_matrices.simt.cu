// SPDX-License-Identifier: Apache-2.0
// GPU rung 5: sums as products of matrices. The summit of Pillow's bytes with many taps.
//
// Sixteen samples of a row of the result are weights times the bytes of the picture's row, whatever the
// channels: a matrix with many zeros, but tensor cores multiply faster than others pick samples out. Eight
// rows of the picture make eight columns of the product; packed to bytes, four rows to a word, it lies in a
// lane's registers as the first factor of the next product, by which rows are summed. So what is between the
// two passes never leaves the registers, and nothing is sorted by channel. Rows of the picture arrive in a
// ring. A weight is three digits, of which each has its products, the highest first. What limits it now is
// how fast tensor cores multiply bytes.
#include "byte_matrices.hpp"
#include "launch.hpp"
#include "packed_sums.hpp"
#include "tessera/ring.hpp"

namespace tessera::resize {
namespace {

constexpr int groups = Tiling::groups;

struct Config {
  int pieces = 4;  // of 16 bytes, that 16 samples are made of
  int tiles = 2;   // of 16 samples, of a warp
  Tuning tuning() const { return {{"pieces", pieces}}; }
};

template <class T, Config config>
struct Matrices {
  static constexpr int warps = 8, threads = 32 * warps, blocks_per_processor = 2, stages = 4;
  static constexpr int tiles = config.tiles, pieces = config.pieces;
  static constexpr int strip = warps * tiles * Tiling::samples;  // samples of a block
  static constexpr int group_rows = Tiling::piece;
  static constexpr int pitch = 53 * 16;  // an odd number: eight rows begin in different banks

  struct Shared {
    alignas(16) unsigned char rows[stages][group_rows][pitch];
    RingState<stages> ring;
  };

  // Sixteen samples of a row of the result; a lane has two beside each other.
  struct Tile {
    std::uint32_t weight[3][pieces][2];  // by digits
    std::uint32_t sums[groups][2];       // of the last rows of the picture, bytes, four rows to a word
    int at;                              // where its bytes begin in a row of the ring
    int sample;                          // this lane's first
  };

  // What rows of eight are made of, by digits: this lane's words.
  struct Entry {
    std::uint32_t weight[3][groups];
    int last;
  };

  SIMT static int octets(const Problem<T>& p) { return (p.rows() + Tiling::rows - 1) / Tiling::rows; }

  static Launch launch(const Problem<T>& p, const Tuning&) {
    constexpr std::int64_t wanted = 2048, least = 4;
    const std::int64_t strips = (std::int64_t{p.cols()} * p.channels() + strip - 1) / strip,
                       each = std::max(least, p.images() * strips * octets(p) / wanted);
    return {.grid = {strips, (octets(p) + each - 1) / each, p.images()}, .block = {threads}};
  }

  // The bytes of a row of the picture that a strip is made of, multiples of 16.
  SIMT static int strip_begin(const Problem<T>& p, int sample) {
    return p.start(p.plan.along, sample / p.channels()) * p.channels() & ~15;
  }
  SIMT static int strip_bytes(const Problem<T>& p, int sample) {
    const int samples = p.cols() * p.channels(),
              last = (sample + strip < samples ? sample + strip : samples) - 1, x = last / p.channels();
    const int end = (p.start(p.plan.along, x) + p.count(p.plan.along, x)) * p.channels();
    return ((end + 15) & ~15) - strip_begin(p, sample);
  }

  static Reason refuses(const Problem<T>& p, const Tuning&) {
    if (!std::is_same_v<T, std::uint8_t>) return "is for bytes";
    if (p.plan.tiling.pieces == 0)
      return "is for Pillow's sums, of more than eight samples and not many more";
    if (p.plan.tiling.pieces != pieces) return "is for sums of other lengths";
    if (!p.packed()) return "is for pixels side by side";
    const auto whole = [](std::int64_t bytes) { return bytes % 16 == 0; };
    if (!whole(std::int64_t{p.from_cols()} * p.channels()) || !whole(p.image.stride[0]) ||
        !whole(p.image.stride[1]) || !whole(reinterpret_cast<std::intptr_t>(p.image.data)))
      return "is for rows that begin and end at multiples of 16 bytes";
    for (int sample = 0; sample < p.cols() * p.channels() && p.images() > 0; sample += strip)
      if (strip_bytes(p, sample) > pitch) return "has no room for as long lines";
    return std::nullopt;
  }

  // This lane's weights of a tile, from `sample` on, of a strip whose rows begin with byte `begin`.
  SIMT static void begin_tile(Thread thread, const Problem<T>& p, int sample, int begin, Tile& tile) {
    const AxisAt& along = p.plan.along;
    const int channels = p.channels(), samples = p.cols() * channels, row = thread.lane() / 4;
    const int inverse = 65536 / channels + 1;  // exact for bytes of a window
    const int first = p.start(along, (sample < samples ? sample : samples - 1) / channels) * channels,
              at = (first & ~3) - begin, most = pitch - pieces * Tiling::piece;
    tile.at = at < most ? at : most;
    tile.sample = sample + 2 * row;
    SIMT_UNROLL
    for (int h = 0; h < 2; ++h) {
      const int wanted = tile.sample + h, mine = wanted < samples ? wanted : samples - 1, x = mine / channels;
      const int count = wanted < samples ? p.count(along, x) : 0;
      const int to_first =
          begin + tile.at + thread.lane() % 4 * 4 - (p.start(along, x) - x) * channels - mine;
      const std::int32_t* const weight = p.weights(along, x);
      SIMT_UNROLL
      for (int i = 0; i < pieces; ++i) {
        SIMT_UNROLL
        for (int d = 0; d < 3; ++d) tile.weight[d][i][h] = 0;
        SIMT_UNROLL
        for (int b = 0; b < 4; ++b) {
          const int byte = to_first + Tiling::piece * i + b, k = byte < 0 ? 0 : byte * inverse >> 16;
          const std::int32_t one = byte >= 0 && k < count && k * channels == byte ? weight[k] : 0;
          SIMT_UNROLL
          for (int d = 0; d < 3; ++d) tile.weight[d][i][h] |= digit_of<3>(one, d) << 8 * b;
        }
      }
    }
    SIMT_UNROLL
    for (int g = 0; g < groups; ++g) tile.sums[g][0] = tile.sums[g][1] = 0;
  }

  SIMT static std::int32_t whole(std::uint32_t sum) { return static_cast<std::int32_t>(sum) >> rounded_bits; }

  // d: digit by digit a times b, before it is rounded.
  template <bool signed_first, int n, class A, class B>
  SIMT static void multiply(Thread thread, const A& a, const B& b, std::uint32_t (&d)[4]) {
    SIMT_UNROLL
    for (int i = 0; i < 4; ++i) d[i] = rounded_half;
    SIMT_UNROLL
    for (int digit = 0; digit < 3; ++digit) {
      if (digit > 0) {
        SIMT_UNROLL
        for (int i = 0; i < 4; ++i) d[i] <<= 8;
      }
      if constexpr (signed_first) multiply_bytes<true, n>(thread, d, a[digit], b);
      else multiply_bytes<false, n>(thread, d, a, b[digit]);
    }
  }

  // Sums along sixteen rows of the picture, eight a product.
  SIMT static void add_group(Thread thread, const unsigned char (&rows)[group_rows][pitch], Tile& tile) {
    const int row = thread.lane() / 4, column = thread.lane() % 4 * 4;
    std::uint32_t made[2] = {};
    SIMT_UNROLL
    for (int half = 1; half >= 0; --half) {
      std::uint32_t bytes[pieces], d[4];
      SIMT_UNROLL
      for (int i = 0; i < pieces; ++i)
        bytes[i] = *reinterpret_cast<const std::uint32_t*>(
            &rows[8 * half + row][tile.at + Tiling::piece * i + column]);
      multiply<true, pieces>(thread, tile.weight, bytes, d);
      made[0] = packed_bytes(whole(d[0]), whole(d[1]), made[0]);
      made[1] = packed_bytes(whole(d[2]), whole(d[3]), made[1]);
    }
    SIMT_UNROLL
    for (int h = 0; h < 2; ++h) {
      SIMT_UNROLL
      for (int g = 0; g + 1 < groups; ++g) tile.sums[g][h] = tile.sums[g + 1][h];
      tile.sums[groups - 1][h] = made[h];
    }
  }

  SIMT static Entry load_entry(Thread thread, const Problem<T>& p, int octet) {
    const Tiling& tiling = p.plan.tiling;
    const std::int32_t* const from =
        p.table + tiling.weights + std::int64_t{octet} * Tiling::entry + thread.lane();
    Entry out;
    SIMT_UNROLL
    for (int d = 0; d < 3; ++d) {
      SIMT_UNROLL
      for (int g = 0; g < groups; ++g)
        out.weight[d][g] = static_cast<std::uint32_t>(from[(d * groups + g) * Tiling::lanes]);
    }
    out.last = p.table[tiling.last + octet];
    return out;
  }

  // Two samples beside each other, as far as they belong to the row.
  SIMT static void store_pair(T* to, std::uint32_t pair, int count) {
    if (count >= 2 && (reinterpret_cast<std::uintptr_t>(to) & 1) == 0) {
      *reinterpret_cast<std::uint16_t*>(to) = static_cast<std::uint16_t>(pair);
      return;
    }
    if (count >= 1) to[0] = static_cast<T>(pair & 255u);
    if (count >= 2) to[1] = static_cast<T>(pair >> 8 & 255u);
  }

  // Eight rows of the result.
  SIMT static void make(Thread thread, const Problem<T>& p, const Entry& entry, int octet, const Tile& tile) {
    std::uint32_t d[4];
    multiply<false, groups>(thread, tile.sums, entry.weight, d);
    const std::uint32_t both =
        packed_bytes(whole(d[0]), whole(d[2]), packed_bytes(whole(d[1]), whole(d[3]), 0));
    const int y = octet * Tiling::rows + thread.lane() % 4 * 2, count = p.cols() * p.channels() - tile.sample;
    T* const to =
        p.resized.data + thread.block().z * p.resized.stride[0] + y * p.resized.stride[1] + tile.sample;
    if (y < p.rows()) store_pair(to, both, count);
    if (y + 1 < p.rows()) store_pair(to + p.resized.stride[1], both >> 16, count);
  }

  SIMT static void walk(Thread thread, Shared& shared, const Problem<T>& p, int begin, int end) {
    const int sample = thread.block().x * strip, from = strip_begin(p, sample),
              bytes = strip_bytes(p, sample);
    const int first = p.start(p.plan.across, begin * Tiling::rows) / group_rows;
    const int steps = p.table[p.plan.tiling.last + end - 1] - first + 1;
    const T* const image = p.image.data + thread.block().z * p.image.stride[0] + from;
    const Ring<stages> ring(thread, shared.ring);
    const auto ask = [&](int step) {
      ring.ask(step, step < steps, group_rows, [&](int i, const auto& copy) {
        const int wanted = (first + step) * group_rows + i,
                  y = wanted < p.from_rows() ? wanted : p.from_rows() - 1;
        copy(shared.rows[step % stages][i], image + y * p.image.stride[1], bytes);
      });
    };
    SIMT_NO_UNROLL
    for (int step = 0; step < ring.ahead; ++step) ask(step);
    Tile tile[tiles];
    SIMT_UNROLL
    for (int t = 0; t < tiles; ++t)
      begin_tile(thread, p, sample + (thread.warp() * tiles + t) * Tiling::samples, from, tile[t]);
    int octet = begin;
    Entry entry = load_entry(thread, p, octet);
    SIMT_NO_UNROLL
    for (int step = 0; step < steps; ++step) {
      ring.await(step);
      thread.sync();
      ask(step + ring.ahead);
      SIMT_UNROLL
      for (int t = 0; t < tiles; ++t) add_group(thread, shared.rows[step % stages], tile[t]);
      SIMT_NO_UNROLL
      while (octet < end && entry.last == first + step) {
        SIMT_UNROLL
        for (int t = 0; t < tiles; ++t) make(thread, p, entry, octet, tile[t]);
        if (++octet < end)
          entry = load_entry(thread, p, octet);  // which arrives while the next rows are summed
      }
    }
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      const int bands = thread.grid().y, each = (octets(p) + bands - 1) / bands;
      const int begin = thread.block().y * each, end = begin + each < octets(p) ? begin + each : octets(p);
      if (begin < end) walk(thread, shared, p, begin, end);
    }
  }
};

const KernelRung<Problem, Config, Matrices, Config{4}, Config{5}> rung{
    "sums as products of matrices of bytes, by tensor cores; what is between the passes stays in registers"};

}  // namespace
}  // namespace tessera::resize
