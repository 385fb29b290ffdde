// SPDX-License-Identifier: Apache-2.0
// The kernels that pack operands, unchanged, on the executor: every byte of every line, no store beyond, and
// no load from outside the operand except of bytes that share 16 with its first one.
#include "cuda.hpp"
#include "ops/matmul/kernels/pack/pack_kernels.cuh"
#include <gtest/gtest.h>
#include <cstring>
#include <random>
#include <vector>
#include "tessera/core/array/rounding.hpp"
#include "tessera/kernel.hpp"

namespace tessera::matmul {
namespace {

template <auto kernel, int threads_, class Args>
struct Emulated {
  struct Shared {};
  static constexpr int threads = threads_;
  static constexpr bool may_return_early = true;
  void operator()(Thread, Shared&, const Args& args) const { kernel(args); }
};
template <int bytes>
using Realign = Emulated<realign_copy<bytes>, RealignShape::threads, PackPair>;
template <int bytes>
using Transpose = Emulated<transpose_copy<bytes>, TransposeShape<bytes>::threads, PackPair>;
template <int bytes>
using Copies = Emulated<make_copies<bytes>, RealignShape::threads, CopyArgs>;

// An operand of `layers`, its first byte `ahead` elements after an aligned address, and memory for its packed
// copy.
template <int bytes>
struct Operand {
  std::vector<unsigned char> memory;
  const unsigned char* first;
  std::size_t length;
  std::vector<std::uint32_t> packed;
  PackArgs args;
  static constexpr std::size_t beyond = 64;  // guard words, which must not be written

  Operand(std::int64_t lines, std::int64_t k, std::int64_t row_stride, std::int64_t k_stride,
          std::int64_t layers, int ahead, std::int64_t padding, std::mt19937& random) {
    const std::int64_t layer =
        (lines - 1) * row_stride + (k - 1) * k_stride + 1 + static_cast<std::int64_t>(random() % 3);
    length = static_cast<std::size_t>(
        ((layers - 1) * layer + (lines - 1) * row_stride + (k - 1) * k_stride + 1) * bytes);
    memory.resize(length + 64 + static_cast<std::size_t>(ahead * bytes));
    for (unsigned char& x : memory) x = static_cast<unsigned char>(random() % 255 + 1);
    const auto at = reinterpret_cast<std::uintptr_t>(memory.data());
    first = memory.data() + (16 - at % 16) % 16 + ahead * bytes;
    const std::int64_t words = (k * bytes + padding - 1) / padding * padding / 4;
    packed.assign(static_cast<std::size_t>(layers * lines * words) + beyond, 0xabababab);
    args = {first, lines, k, row_stride, k_stride, packed.data(), words, layer, lines * words};
  }

  int wrong(std::int64_t layers) const {
    int out = 0;
    for (std::int64_t i = 0; i < layers * args.lines; ++i) {
      const unsigned char* const from =
          first + (i / args.lines * args.from_layer + i % args.lines * args.row_stride) * bytes;
      const auto* const to = reinterpret_cast<const unsigned char*>(packed.data() + i * args.to_step);
      const unsigned char zero[4] = {};
      for (std::int64_t x = 0; x < args.to_step * 4 / bytes; ++x)
        out += std::memcmp(to + x * bytes, x < args.k ? from + x * args.k_stride * bytes : zero, bytes) != 0;
    }
    for (std::size_t i = packed.size() - beyond; i < packed.size(); ++i) out += packed[i] != 0xabababab;
    return out;
  }
};

template <int bytes>
void expect_packed(bool transposed, std::mt19937& random) {
  const auto size = [&](std::int64_t most) {
    const std::int64_t near[] = {1, 2, 15, 16, 17, 31, 32, 33, 127, 128, 129, 255, 257};
    return std::min(most, random() % 2 == 0 ? near[random() % std::size(near)]
                                            : static_cast<std::int64_t>(random() % 300 + 1));
  };
  const std::int64_t lines = size(transposed ? 300 : 40),
                     k = size(transposed ? 300 : 5000) * (transposed ? 1 : 8 / bytes) + 1,
                     gap = random() % 2 == 0 ? 0 : static_cast<std::int64_t>(random() % 6),
                     layers = random() % 4 == 0 ? 2 : 1, apart = transposed && random() % 5 == 0 ? 2 : 1,
                     padding = random() % 2 == 0 ? 16 : 128;
  const int ahead = random() % 3 == 0 ? 0 : static_cast<int>(random() % 16);
  Operand<bytes> operand(lines, k, transposed ? apart : k + gap, transposed ? lines * apart + gap : 1, layers,
                         ahead, padding, random);
  SCOPED_TRACE(testing::Message() << bytes << " bytes, " << (transposed ? "transposed" : "misaligned")
                                  << ", lines " << lines << " k " << k << " gap " << gap << " layers "
                                  << layers << " ahead " << ahead);
  PackPair pair;
  pair.of[0] = operand.args;
  pair.count = 1;
  emulated::readable = {{operand.first - (operand.first - static_cast<const unsigned char*>(nullptr)) % 16,
                         operand.first + operand.length}};
  const auto parts = [](std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; };
  Device device;  // one thread, because shared memory is static
  Run run{.device = &device};
  if (transposed) {
    using Shape = TransposeShape<bytes>;
    launch_kernel<Transpose<bytes>>(
        {.grid = {parts(operand.args.to_step, Shape::line_words), parts(lines, Shape::lines), layers},
         .block = {Shape::threads}},
        pair, run);
  } else {
    launch_kernel<Realign<bytes>>({.grid = {parts(operand.args.to_step, 4 * RealignShape::pieces_of_warp),
                                            parts(lines, RealignShape::lines), layers},
                                   .block = {RealignShape::threads}},
                                  pair, run);
  }
  emulated::readable.clear();
  EXPECT_EQ(operand.wrong(layers), 0);
}

TEST(Packing, TransposesAndRealignsAnyLayout) {
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    for (const bool transposed : {false, true}) {
      expect_packed<1>(transposed, random);
      expect_packed<2>(transposed, random);
      expect_packed<4>(transposed, random);
    }
  }
}

// Each copy has its own leading zeros, as the alignment of a large operand's lines requires.
template <int bytes>
void expect_copies(std::int64_t lines, std::int64_t k, std::int64_t gap, const RowAlignment& alignment,
                   std::mt19937& random) {
  SCOPED_TRACE(testing::Message() << bytes << " bytes, lines " << lines << " k " << k << " gap " << gap
                                  << " zeros " << alignment.first_bytes << " + i·" << alignment.step_bytes);
  const std::int64_t row_stride = k + gap, pieces = ceil_div((k + 16 / bytes - 1) * bytes, 16),
                     length = ((lines - 1) * row_stride + k) * bytes;
  std::vector<unsigned char> memory(static_cast<std::size_t>(length));
  for (unsigned char& x : memory) x = static_cast<unsigned char>(random() % 255 + 1);
  constexpr std::size_t beyond = 64;
  const std::size_t all = static_cast<std::size_t>(alignment.classes() * lines * pieces) * 16;
  std::vector<uint4> copies((all + beyond) / 16, uint4{7, 7, 7, 7});
  const CopyArgs args{memory.data(),
                      k,
                      row_stride,
                      static_cast<std::int32_t>(lines),
                      static_cast<std::int32_t>(pieces),
                      copies.data(),
                      alignment};
  emulated::readable = {{memory.data(), memory.data() + length}};
  Device device;
  Run run{.device = &device};
  launch_kernel<Copies<bytes>>(
      {.grid = {ceil_div(lines * pieces, RealignShape::threads), alignment.classes()},
       .block = {RealignShape::threads}},
      args, run);
  emulated::readable.clear();
  std::vector<unsigned char> right;
  for (int copy = 0; copy < alignment.classes(); ++copy)
    for (std::int64_t line = 0; line < lines; ++line) {
      const unsigned char* const from = memory.data() + line * row_stride * bytes;
      right.resize(right.size() + static_cast<std::size_t>(alignment.misalignment_bytes(copy)), 0);
      right.insert(right.end(), from, from + k * bytes);
      right.resize(static_cast<std::size_t>((copy * lines + line + 1) * pieces) * 16, 0);
    }
  ASSERT_EQ(right.size(), all);
  EXPECT_EQ(std::memcmp(copies.data(), right.data(), all), 0);
  for (std::size_t i = all / 16; i < copies.size(); ++i) EXPECT_EQ(copies[i].x, 7u);
}

TEST(Packing, MakesACopyForEachMisalignment) {
  std::mt19937 random(7);
  for (int i = 0; i < 40; ++i) {
    const auto lines = static_cast<std::int64_t>(random() % 40 + 1),
               k = static_cast<std::int64_t>(random() % 300 + 1),
               gap = static_cast<std::int64_t>(random() % 3);
    const auto alignment = [&](int bytes, std::int64_t ahead, std::int64_t step) {
      return row_alignment({reinterpret_cast<const void*>(ahead * bytes), bytes, 16, k, step, 1});
    };
    expect_copies<2>(lines, k, gap, alignment(2, static_cast<std::int64_t>(random() % 8), k + gap), random);
    expect_copies<4>(lines, k, gap, alignment(4, static_cast<std::int64_t>(random() % 4), k + gap), random);
  }
}

TEST(Packing, EquallyMisalignedLinesKeepTheirStride) {
  const auto bits = [](std::int64_t lines, std::int64_t step, int bytes) {
    return row_alignment({nullptr, bytes, lines, 1, step, 1}).class_bits;
  };
  EXPECT_EQ(bits(9, 8, 2), 0);
  EXPECT_EQ(bits(9, 12, 2), 1);
  EXPECT_EQ(bits(9, 6, 2), 2);
  EXPECT_EQ(bits(9, 7, 2), 3);
  EXPECT_EQ(bits(9, 7, 4), 2);
  EXPECT_EQ(bits(1, 7, 2), 0);  // no next line
  const RowAlignment alignment =
      row_alignment({reinterpret_cast<const void*>(std::intptr_t{22}), 2, 9, 1, 7, 1});
  EXPECT_EQ(alignment.misalignment_bytes(0), 6);
  EXPECT_EQ(alignment.misalignment_bytes(1), 4);  // 22 + 14 = 36
}

}  // namespace
}  // namespace tessera::matmul
