// SPDX-License-Identifier: Apache-2.0
// GPU rung 5: sums as matrix products on tensor cores. The fastest rung for Pillow's bytes with many taps.
//
// Sixteen samples of a row of the result are a matrix of weights times the bytes of the picture's row,
// whatever the channels: most weights are zero, but tensor cores multiply faster than other units pick
// samples out. Eight rows of the picture are eight columns of the product. Packed to bytes, four rows to a
// word, the product is already in the register layout of the first operand of the next product, which sums
// across rows. Intermediate sums never leave the registers, and nothing is split by channel. Rows of the
// picture arrive in a ring. A weight is three digits with products of their own, the highest first. The rate
// of tensor-core products of bytes limits it now.
#include "resize_kernel.hpp"
#include "packed_sums.hpp"
#include "tessera/ring.hpp"

namespace tessera::resizing {
namespace {

constexpr int groups = Tiling::groups;

struct Config {
  int pieces = 4;  // 16-byte pieces that 16 samples depend on
  int tiles = 2;   // tiles of 16 samples per warp
  Tuning tuning() const { return {{"pieces", pieces}}; }
};

template <class T, Config config>
struct Matrices {
  static constexpr int warps = 8, threads = 32 * warps, min_blocks_per_sm = 2, stages = 4;
  static constexpr int tiles = config.tiles, pieces = config.pieces;
  static constexpr int strip = warps * tiles * Tiling::samples;  // samples per block
  using Strip = TileStrip<strip, pieces * Tiling::piece>;
  static constexpr int group_rows = Tiling::piece;
  static constexpr int pitch = 53 * 16;  // an odd multiple of 16: eight rows begin in different banks

  struct Shared {
    alignas(16) unsigned char rows[stages][group_rows][pitch];
    RingState<stages> ring;
  };

  // Sixteen samples of a row of the result; a lane has two adjacent ones.
  struct Tile {
    TileWeights<3, pieces> along;
    std::uint32_t sums[groups][2];  // row sums of the last rows of the picture: bytes, four rows to a word
  };

  // This lane's weights of eight rows of the result, by digit.
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

  static Reason refuses(const Problem<T>& p, const Tuning&) {
    if (!std::is_same_v<T, std::uint8_t>) return "is for bytes";
    if (p.plan.tiling.pieces == 0)
      return "is for Pillow's sums, of more than eight samples and not many more";
    if (p.plan.tiling.pieces != pieces) return "is for sums of other lengths";
    return Strip::refuses(p, pitch);
  }

  SIMT static void begin_tile(Thread thread, const Problem<T>& p, int sample, int begin, int bytes,
                              Tile& tile) {
    tile.along.set(thread, p, sample, begin, bytes);
    SIMT_UNROLL
    for (int g = 0; g < groups; ++g) tile.sums[g][0] = tile.sums[g][1] = 0;
  }

  SIMT static std::int32_t whole(std::uint32_t sum) { return static_cast<std::int32_t>(sum) >> rounded_bits; }

  // Computes d = a · b, before rounding. Each digit has its own accumulators, so that products of different
  // digits are independent.
  template <bool signed_first, int n, class A, class B>
  SIMT static void multiply(Thread thread, const A& a, const B& b, std::uint32_t (&d)[4]) {
    std::uint32_t sum[3][4];
    SIMT_UNROLL
    for (int i = 0; i < 12; ++i) sum[i / 4][i % 4] = i < 4 ? rounded_half : 0;
    SIMT_UNROLL
    for (int piece = 0; piece < n; piece += 2) {
      SIMT_UNROLL
      for (int digit = 0; digit < 3; ++digit) {
        if constexpr (signed_first) multiply_bytes<true, false, n>(thread, sum[digit], a[digit], b, piece);
        else multiply_bytes<false, true, n>(thread, sum[digit], a, b[digit], piece);
      }
    }
    SIMT_UNROLL
    for (int i = 0; i < 4; ++i) d[i] = (sum[0][i] << 16) + (sum[1][i] << 8) + sum[2][i];
  }

  // Sums along sixteen rows of the picture, eight per product.
  SIMT static void add_group(Thread thread, const unsigned char (&rows)[group_rows][pitch], Tile& tile) {
    std::uint32_t made[2] = {};
    SIMT_UNROLL
    for (int half = 1; half >= 0; --half) {
      std::uint32_t bytes[pieces], d[4];
      load_pieces(thread, &rows[8 * half + thread.lane() / 4][tile.along.at], bytes);
      multiply<true, pieces>(thread, tile.along.weight, bytes, d);
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

  // Computes and stores eight rows of the result.
  SIMT static void make(Thread thread, const Problem<T>& p, const Entry& entry, int octet, const Tile& tile) {
    std::uint32_t d[4];
    multiply<false, groups>(thread, tile.sums, entry.weight, d);
    const std::uint32_t both =
        packed_bytes(whole(d[0]), whole(d[2]), packed_bytes(whole(d[1]), whole(d[3]), 0));
    // A lane has two samples of two rows; after the transpose, four samples of one row.
    const std::uint32_t four = movmatrix_trans(thread, both);
    const int y = octet * Tiling::rows + thread.lane() / 4, sample = tile.along.first + thread.lane() % 4 * 4;
    T* const row = p.resized.data + thread.block().z * p.resized.stride[0] + y * p.resized.stride[1];
    if (y < p.rows()) store_four(row + sample, four, p.cols() * p.channels() - sample);
  }

  SIMT static void walk(Thread thread, Shared& shared, const Problem<T>& p, int begin, int end) {
    const int sample = thread.block().x * strip, from = Strip::begin(p, sample),
              bytes = Strip::bytes(p, sample);
    const int first = p.start(p.plan.across, begin * Tiling::rows) / group_rows;
    const int steps = p.table[p.plan.tiling.last + end - 1] - first + 1;
    const T* const image = p.image.data + thread.block().z * p.image.stride[0] + from;
    const Ring<stages> ring(thread, shared.ring);
    const auto issue = [&](int step) {
      ring.issue(step, step < steps, group_rows, [&](int i, const auto& copy) {
        const int wanted = (first + step) * group_rows + i,
                  y = wanted < p.from_rows() ? wanted : p.from_rows() - 1;
        copy(shared.rows[step % stages][i], image + y * p.image.stride[1], bytes);
      });
    };
    SIMT_NO_UNROLL
    for (int step = 0; step < ring.ahead; ++step) issue(step);
    Tile tile[tiles];
    SIMT_UNROLL
    for (int t = 0; t < tiles; ++t)
      begin_tile(thread, p, sample + (thread.warp() * tiles + t) * Tiling::samples, from, bytes, tile[t]);
    int octet = begin;
    Entry entry = load_entry(thread, p, octet);
    SIMT_NO_UNROLL
    for (int step = 0; step < steps; ++step) {
      ring.await(step);
      thread.sync();
      issue(step + ring.ahead);
      SIMT_UNROLL
      for (int t = 0; t < tiles; ++t) add_group(thread, shared.rows[step % stages], tile[t]);
      SIMT_NO_UNROLL
      while (octet < end && entry.last == first + step) {
        SIMT_UNROLL
        for (int t = 0; t < tiles; ++t) make(thread, p, entry, octet, tile[t]);
        if (++octet < end) entry = load_entry(thread, p, octet);  // arrives while the next rows are summed
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
}  // namespace tessera::resizing
