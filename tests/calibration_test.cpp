// SPDX-License-Identifier: Apache-2.0
// The tracer's counts of kernels that one can count by hand.
#include "calibration.hpp"
#include <gtest/gtest.h>
#include "tracing.hpp"

namespace tessera::calibration {
namespace {

using simt::AccessCounts;
using simt::Act;
using simt::Space;
using tracing::Zoned;

constexpr Launch line{.grid = {64}, .block = {256}};  // 512 warps

struct Counted {
  AccessCounts load, store, shared_load, shared_store;
  std::size_t findings;
};

template <class Kernel>
Counted counts_of(const Launch& grid, int n = 256) {
  Zoned<float> a("a", 64 * 256 * 33, true), b("b", 256 * 256, true), c("c", 4 * 256 * 256, false);
  simt::Tracer tracer;
  tracer.arrays = {a.array, b.array, c.array};
  tracing::launch<Kernel>(tracer, grid, Arrays{a.data(), b.data(), c.data(), n});
  return {tracer.total(Space::global, Act::read), tracer.total(Space::global, Act::write),
          tracer.total(Space::shared, Act::read), tracer.total(Space::shared, Act::write),
          tracer.findings.size()};
}

void expect_global(const AccessCounts& counts, std::uint64_t requests, std::uint64_t sectors) {
  EXPECT_EQ(counts.requests, requests);
  EXPECT_EQ(counts.sectors, sectors);
}

void expect_shared(const AccessCounts& counts, std::uint64_t requests, std::uint64_t wavefronts,
                   std::uint64_t ideal) {
  EXPECT_EQ(counts.requests, requests);
  EXPECT_EQ(counts.wavefronts, wavefronts);
  EXPECT_EQ(counts.ideal_wavefronts, ideal);
}

double efficiency(const AccessCounts& counts) {
  return static_cast<double>(counts.distinct_bytes) / (32 * static_cast<double>(counts.sectors));
}

template <class Kernel>
void expect_copy(std::uint64_t load_sectors, double load_efficiency, std::uint64_t store_sectors = 2048) {
  const Counted counted = counts_of<Kernel>(line);
  expect_global(counted.load, 512, load_sectors);
  expect_global(counted.store, 512, store_sectors);
  EXPECT_DOUBLE_EQ(efficiency(counted.load), load_efficiency);
  EXPECT_DOUBLE_EQ(efficiency(counted.store), 1);
  EXPECT_EQ(counted.shared_load.requests + counted.shared_store.requests, 0u);
  EXPECT_EQ(counted.findings, 0u);
}

TEST(Calibration, CopiesOfFourBytesTakeFourSectors) { expect_copy<Copy<1, 0>>(2048, 1); }
TEST(Calibration, MisalignedCopiesTakeAFifthSector) { expect_copy<Copy<1, 1>>(2560, 0.8); }
TEST(Calibration, EverySecondElementWastesHalf) { expect_copy<Copy<2, 0>>(4096, 0.5); }
TEST(Calibration, AWholeSectorForEveryLane) { expect_copy<Copy<32, 0>>(16384, 0.125); }
TEST(Calibration, WiderElementsTakeMoreSectorsAndNoMoreRequests) {
  expect_copy<CopyTwo>(4096, 1, 4096);
  expect_copy<CopyFour>(8192, 1, 8192);
}

template <class Kernel>
void expect_wavefronts(std::uint64_t wavefronts, std::uint64_t ideal) {
  const Counted counted = counts_of<Kernel>(line);
  expect_shared(counted.shared_load, 512, wavefronts, ideal);
  expect_shared(counted.shared_store, 512, wavefronts, ideal);
  EXPECT_EQ(counted.findings, 0u);
}

TEST(Calibration, StridedLanesConflictInBanks) {
  expect_wavefronts<SharedStride<float, 1>>(512, 512);
  expect_wavefronts<SharedStride<float, 2>>(1024, 512);
  expect_wavefronts<SharedStride<float, 32>>(16384, 512);
  expect_wavefronts<SharedStride<float, 33>>(512, 512);
}

TEST(Calibration, OneWordForAllLanesIsOneWavefront) {
  const Counted counted = counts_of<SharedBroadcast>(line);
  expect_shared(counted.shared_load, 512, 512, 512);
  expect_shared(counted.shared_store, 64, 64, 64);
  EXPECT_EQ(counted.shared_store.divergent, 64u);
  EXPECT_EQ(counted.shared_load.divergent, 0u);
}

TEST(Calibration, WideAccessesTakeSeveralWavefrontsWithoutConflict) {
  expect_wavefronts<SharedStride<double, 1>>(1024, 1024);
  expect_wavefronts<SharedFour>(2048, 2048);
}

TEST(Calibration, PaddingFreesATransposeOfConflicts) {
  const Launch grid{.grid = {8, 8}, .block = {32, 8}};
  const Counted plain = counts_of<Transpose<32>>(grid), padded = counts_of<Transpose<33>>(grid);
  for (const Counted& counted : {plain, padded}) {
    expect_global(counted.load, 2048, 8192);
    expect_global(counted.store, 2048, 8192);
    expect_shared(counted.shared_store, 2048, 2048, 2048);
    EXPECT_EQ(counted.findings, 0u);
  }
  expect_shared(plain.shared_load, 2048, 65536, 2048);
  expect_shared(padded.shared_load, 2048, 2048, 2048);
}

TEST(Calibration, AWarpAlongAColumnOfTheProduct) {
  const Counted counted = counts_of<Product<true>>({.grid = {2, 2}, .block = {32, 32}}, 64);
  expect_global(counted.load, 16384, 270'336);
  expect_global(counted.store, 128, 4096);
}

TEST(Calibration, AWarpAlongARowOfTheProduct) {
  const Counted counted = counts_of<Product<false>>({.grid = {2, 2}, .block = {32, 32}}, 64);
  expect_global(counted.load, 16384, 40960);
  expect_global(counted.store, 128, 512);
}

TEST(Calibration, ProductsOfTiles) {
  const Counted of32 = counts_of<TiledProduct<32>>({.grid = {2, 2}, .block = {32, 32}}, 64);
  expect_global(of32.load, 512, 2048);
  expect_global(of32.store, 128, 512);
  expect_shared(of32.shared_load, 16384, 16384, 16384);
  expect_shared(of32.shared_store, 512, 512, 512);
  const Counted of16 = counts_of<TiledProduct<16>>({.grid = {4, 4}, .block = {16, 16}}, 64);
  expect_global(of16.load, 1024, 4096);
  expect_global(of16.store, 128, 512);
  expect_shared(of16.shared_load, 16384, 16384, 16384);
  expect_shared(of16.shared_store, 1024, 1024, 1024);
}

TEST(Calibration, DivergedLanesAreCountedTogetherAfterReconvergence) {
  const Counted counted = counts_of<Triangle>(line);
  expect_global(counted.load, 16384, 40960);
  expect_global(counted.store, 512, 2048);
  EXPECT_EQ(counted.load.divergent, 16384u - 512u);
  EXPECT_EQ(counted.store.divergent, 0u);
}

}  // namespace
}  // namespace tessera::calibration
