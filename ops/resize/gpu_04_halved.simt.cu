// SPDX-License-Identifier: Apache-2.0
// GPU rung 4 for means of four: pictures of bytes to half their size. The fastest rung for these.
//
// A thread loads a run of two rows, two or three times 16 bytes of each, and sums neighbours two to a word:
// few instructions per sample, no table. Runs of three channels do not end at boundaries of wide stores, so a
// block gathers its results in shared memory first. Memory bandwidth limits it now.
#include "ops/imaging/samples.hpp"
#include "resize_kernel.hpp"

namespace tessera::resizing {
namespace {

struct Config {
  int threads = 128;
  Tuning tuning() const { return {{"threads", threads}}; }
};

// Adds bytes 0 and 2, or 1 and 3, of the words of two rows.
SIMT std::uint32_t even_sums(std::uint32_t a, std::uint32_t b) {
  return (a & 0x00ff00ffu) + (b & 0x00ff00ffu);
}
SIMT std::uint32_t odd_sums(std::uint32_t a, std::uint32_t b) { return even_sums(a >> 8, b >> 8); }

// Returns means in bytes 0 and 2, rounded to nearest, halves up.
SIMT std::uint32_t means_of(std::uint32_t sums, std::uint32_t others) {
  return (sums + others + 0x00020002u) >> 2;
}

// Averages the words of two rows to half as many. With one channel, neighbours are even and odd bytes of a
// word.
SIMT void halve_1(const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* to) {
  std::uint32_t mean[2];
  SIMT_UNROLL
  for (int w = 0; w < 2; ++w) mean[w] = means_of(even_sums(a[w], b[w]), odd_sums(a[w], b[w]));
  to[0] = permuted(mean[0], mean[1], 0x6420);
}

// With four channels, neighbours are two words.
SIMT void halve_4(const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* to) {
  const std::uint32_t even = means_of(even_sums(a[0], b[0]), even_sums(a[1], b[1])),
                      odd = means_of(odd_sums(a[0], b[0]), odd_sums(a[1], b[1]));
  to[0] = permuted(even, odd, 0x6240);
}

// With three channels, six words give three. Three words give six bytes: mean[0] has the first and third,
// mean[1] the second and fifth, mean[2] the fourth and sixth.
SIMT void halve_3(const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* to) {
  std::uint32_t mean[2][3];
  SIMT_UNROLL
  for (int half = 0; half < 2; ++half) {
    std::uint32_t even[3], odd[3];
    SIMT_UNROLL
    for (int w = 0; w < 3; ++w) {
      even[w] = even_sums(a[3 * half + w], b[3 * half + w]);
      odd[w] = odd_sums(a[3 * half + w], b[3 * half + w]);
    }
    mean[half][0] = means_of(even[0], permuted(odd[0], odd[1], 0x5432));
    mean[half][1] = means_of(permuted(odd[0], odd[1], 0x7610), permuted(even[1], even[2], 0x7610));
    mean[half][2] = means_of(permuted(even[1], even[2], 0x5432), odd[2]);
  }
  const std::uint32_t(&one)[3] = mean[0], (&two)[3] = mean[1];
  to[0] = permuted(permuted(one[0], one[1], 0x0240), one[2], 0x4210);
  to[1] = permuted(permuted(one[1], one[2], 0x0062), permuted(two[0], two[1], 0x0040), 0x5410);
  to[2] = permuted(permuted(two[0], two[2], 0x6042), two[1], 0x3610);
}

template <class T, Config config>
struct Halved {
  static constexpr int threads = config.threads;
  static constexpr int max_pieces = 3;  // 16-byte pieces that a thread loads of a row

  struct Shared {
    alignas(16) std::uint64_t out[threads * max_pieces];
  };

  SIMT static int pieces_of(const Problem<T>& p) { return p.channels() == 3 ? 3 : 2; }

  static Launch launch(const Problem<T>& p, const Tuning&) {
    const std::int64_t wide = std::int64_t{threads} * pieces_of(p) * 8;
    return {.grid = {(std::int64_t{p.cols()} * p.channels() + wide - 1) / wide, p.rows(), p.images()},
            .block = {threads}};
  }

  static Reason refuses(const Problem<T>& p, const Tuning&) {
    if (!std::is_same_v<T, std::uint8_t>) return "is for bytes";
    if (p.plan.recipe != Recipe::mean || !p.plan.halves_up) return "is for means of four";
    if (p.channels() != 1 && p.channels() != 3 && p.channels() != 4) return "is for 1, 3 and 4 channels";
    if (!p.packed()) return "is for pixels side by side";
    return std::nullopt;
  }

  template <int channels>
  SIMT static void halve(Thread thread, const std::uint8_t* upper, const std::uint8_t* lower,
                         std::uint64_t* to) {
    constexpr int pieces = channels == 3 ? 3 : 2;
    std::uint32_t a[4 * pieces], b[4 * pieces], out[2 * pieces];
    SIMT_UNROLL
    for (int i = 0; i < pieces; ++i) {
      const Bytes16 one = thread.load16(upper + 16 * i), two = thread.load16(lower + 16 * i);
      SIMT_UNROLL
      for (int w = 0; w < 4; ++w) a[4 * i + w] = one.word[w], b[4 * i + w] = two.word[w];
    }
    constexpr int made = channels == 3 ? 3 : 1;  // words at a time
    SIMT_UNROLL
    for (int w = 0; w < 2 * pieces; w += made) {
      if constexpr (channels == 1) halve_1(a + 2 * w, b + 2 * w, out + w);
      else if constexpr (channels == 3) halve_3(a + 2 * w, b + 2 * w, out + w);
      else halve_4(a + 2 * w, b + 2 * w, out + w);
    }
    SIMT_UNROLL
    for (int w = 0; w < pieces; ++w) to[w] = std::uint64_t{out[2 * w + 1]} << 32 | out[2 * w];
  }

  // Halves the end of a row, and unaligned rows.
  SIMT static void halve_bytes(const Problem<T>& p, const std::uint8_t* upper, const std::uint8_t* lower,
                               int count, std::uint64_t* to) {
    const int channels = p.channels();
    std::uint64_t word = 0;
    SIMT_NO_UNROLL
    for (int i = 0; i < count; ++i) {
      const int at = i / channels * 2 * channels + i % channels;
      const std::int32_t sum = upper[at] + upper[at + channels] + lower[at] + lower[at + channels];
      word |= static_cast<std::uint64_t>((sum + 2) >> 2) << 8 * (i & 7);
      if ((i & 7) == 7 || i + 1 == count) to[i / 8] = word, word = 0;
    }
  }

  SIMT static void run(Thread thread, Shared& shared, const Problem<T>& p) {
    const int pieces = pieces_of(p), wide = threads * pieces * 8, row_samples = p.cols() * p.channels();
    const int begin = thread.block().x * wide, first = begin + thread.rank() * pieces * 8;
    const std::int64_t pitch = p.image.stride[1], n = thread.block().z, y = thread.block().y;
    const std::uint8_t* const upper = p.image.data + n * p.image.stride[0] + 2 * y * pitch + 2 * first;
    const auto address = reinterpret_cast<std::uintptr_t>(upper) | static_cast<std::uintptr_t>(pitch);
    const int left = row_samples - first, count = left < pieces * 8 ? left : pieces * 8;
    std::uint64_t* const made = shared.out + thread.rank() * pieces;
    if (count < pieces * 8 || (address & 15) != 0) halve_bytes(p, upper, upper + pitch, count, made);
    else if (p.channels() == 1) halve<1>(thread, upper, upper + pitch, made);
    else if (p.channels() == 3) halve<3>(thread, upper, upper + pitch, made);
    else halve<4>(thread, upper, upper + pitch, made);
    thread.sync();
    std::uint8_t* const to = p.resized.data + n * p.resized.stride[0] + y * p.resized.stride[1] + begin;
    const int length = row_samples - begin < wide ? row_samples - begin : wide;
    const bool whole = (reinterpret_cast<std::uintptr_t>(to) & 15) == 0;
    SIMT_NO_UNROLL
    for (int at = thread.rank() * 16; at < length; at += threads * 16) {
      if (whole && at + 16 <= length) {
        thread.store16(to + at, thread.load16(shared.out + at / 8));
        continue;
      }
      SIMT_NO_UNROLL
      for (int i = at; i < at + 16 && i < length; ++i)
        to[i] = static_cast<std::uint8_t>(shared.out[i / 8] >> 8 * (i & 7));
    }
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    if constexpr (std::is_same_v<T, std::uint8_t>) run(thread, shared, p);
  }
};

const KernelRung<Problem, Config, Halved, Config{128}, Config{256}> rung{
    "means of four: neighbours summed two to a word, 16 bytes an access"};

}  // namespace
}  // namespace tessera::resizing
