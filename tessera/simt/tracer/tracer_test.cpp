// SPDX-License-Identifier: Apache-2.0
// The readers recorded for a word must suffice to find a race, whichever thread writes it next.
#include <gtest/gtest.h>
#include "tessera/simt/tracer/recorder.hpp"
#include "tessera/simt/tracer/shadow.hpp"

namespace tessera::simt {
namespace {

constexpr std::uint32_t here = 1;

// A word that one thread wrote and, after a barrier, these threads read.
class ReadBy {
 public:
  explicit ReadBy(const std::vector<int>& readers) {
    shadow_.begin(0);
    EXPECT_EQ(record_access(Act::write, 63).kind, Conflict::Kind::none);
    shadow_.barrier();
    for (const int reader : readers) EXPECT_EQ(record_access(Act::read, reader).kind, Conflict::Kind::none);
  }
  Conflict record_access(Act act, int thread) { return shadow_.shared(16, 4, act, thread, here); }
  Shadow& shadow() { return shadow_; }

 private:
  Shadow shadow_{96, 64, {}};
};

void expect_race(ReadBy word, int writer, int reader) {
  const Conflict found = word.record_access(Act::write, writer);
  EXPECT_EQ(found.kind, Conflict::Kind::race) << writer;
  EXPECT_EQ(int{found.other.thread}, reader) << writer;
  EXPECT_FALSE(found.other_wrote);
}

TEST(Shadow, AReaderThatWritesRacesWithTheOtherOne) {
  expect_race(ReadBy({3, 4}), 3, 4);
  expect_race(ReadBy({3, 4}), 4, 3);
  expect_race(ReadBy({3, 40}), 3, 40);
  expect_race(ReadBy({3, 40}), 40, 3);
  EXPECT_EQ(ReadBy({3, 3}).record_access(Act::write, 3).kind, Conflict::Kind::none);
}

TEST(Shadow, AReaderOfAnotherWarpIsKept) {
  for (const std::vector<int>& readers : {std::vector{3, 4, 40}, {3, 40, 4}, {40, 3, 4}, {3, 4, 40, 70}}) {
    ReadBy word(readers);
    word.shadow().warp_synced(0, ~0u);  // the lanes of the first warp know of each other now
    const Conflict found = word.record_access(Act::write, 3);
    EXPECT_EQ(found.kind, Conflict::Kind::race);
    EXPECT_GE(found.other.thread, 32);
  }
}

TEST(Shadow, LimitsTheRecordedWordsOfGlobalMemory) {
  Shadow shadow(64, 64, {1 << 20, 1 << 20}, Cells::chunk);
  shadow.begin(0);
  const auto races = [&shadow](std::size_t array, std::size_t offset) {
    shadow.global(array, offset, 4, Act::write, 3, here, WarpLog::unknown, 0);
    return shadow.global(array, offset, 4, Act::read, 40, here, WarpLog::unknown, 0).kind ==
           Conflict::Kind::race;
  };
  EXPECT_TRUE(races(0, 4 * (Cells::chunk - 1)));
  EXPECT_FALSE(shadow.limit_exceeded());
  EXPECT_FALSE(races(1, 0));
  EXPECT_TRUE(shadow.limit_exceeded());
  EXPECT_TRUE(races(0, 8)) << "what is remembered stays";
}

TEST(Shadow, WritesOfOneValue) {
  Shadow shadow(64, 64, {});
  shadow.begin(0);
  const auto write = [&](int thread, std::uint32_t value) {
    return shadow.shared(0, 4, Act::write, thread, here, value);
  };
  write(0, 7);
  EXPECT_TRUE(write(1, 7).same_value);
  EXPECT_FALSE(write(40, 8).same_value);
  EXPECT_FALSE(write(41, WarpLog::unknown).same_value);
  EXPECT_FALSE(write(42, WarpLog::unknown).same_value);
  shadow.barrier();
  write(3, 5);
  EXPECT_EQ(shadow.shared(0, 4, Act::read, 4, here).kind, Conflict::Kind::race);
  const Conflict found = write(5, 5);
  EXPECT_FALSE(found.same_value) << "somebody reads it";
  EXPECT_FALSE(found.other_wrote);
}

// Accesses of a thread before a fence and an atomic are ordered before those of a thread with a later atomic
// on the same address and, after the next barrier, before those of that thread's block.
TEST(Shadow, AtomicsOrder) {
  for (const bool fenced : {true, false}) {
    Shadow shadow(64, 64, {64});
    const auto record_access = [&](std::size_t offset, Act act, int thread) {
      return shadow.global(0, offset, 4, act, thread, here, WarpLog::unknown, offset).kind;
    };
    const Conflict::Kind without = fenced ? Conflict::Kind::none : Conflict::Kind::race;
    shadow.begin(0);
    EXPECT_EQ(record_access(0, Act::write, 3), Conflict::Kind::none);
    if (fenced) shadow.fence(3);
    EXPECT_EQ(record_access(8, Act::atomic, 3), Conflict::Kind::none);
    EXPECT_EQ(record_access(0, Act::read, 4), Conflict::Kind::race);
    EXPECT_EQ(record_access(8, Act::atomic, 5), Conflict::Kind::none);
    EXPECT_EQ(record_access(0, Act::read, 5), without);
    shadow.begin(1);
    EXPECT_EQ(record_access(8, Act::atomic, 3), Conflict::Kind::none);
    EXPECT_EQ(record_access(0, Act::read, 4), Conflict::Kind::race);
    shadow.barrier();
    EXPECT_EQ(record_access(0, Act::read, 4), without);
  }
}

TEST(Shadow, ABarrierOrdersAccesses) {
  ReadBy word({3, 4, 40});
  word.shadow().barrier();
  EXPECT_EQ(word.record_access(Act::write, 3).kind, Conflict::Kind::none);
}

}  // namespace

namespace {

template <class F>
LaneAddresses lanes(F f) {
  LaneAddresses out{};
  for (std::uint64_t lane = 0; lane < 32; ++lane) out[lane] = f(lane);
  return out;
}

TEST(Request, SectorsAreThoseThatAnyByteLiesIn) {
  const auto row = lanes([](std::uint64_t l) { return 4096 + 4 * l; });
  EXPECT_EQ(global_cost(row, ~0u, 4).sectors, 4u);
  EXPECT_EQ(global_cost(row, 0x1, 4).sectors, 1u);
  EXPECT_EQ(global_cost(row, 0x00010001, 4).sectors, 2u);
  EXPECT_EQ(global_cost(lanes([](std::uint64_t l) { return 4094 + 4 * l; }), ~0u, 4).sectors, 5u)
      << "across a boundary";
  EXPECT_EQ(global_cost(lanes([](std::uint64_t l) { return 4096 + 4 * (31 - l); }), ~0u, 4).sectors, 4u)
      << "backwards";
  EXPECT_EQ(global_cost(lanes([](std::uint64_t) { return 4096; }), ~0u, 4).distinct_bytes, 4u);
  EXPECT_EQ(global_cost(lanes([](std::uint64_t l) { return 4096 + 2 * l; }), ~0u, 4).distinct_bytes, 66u)
      << "overlapping";
}

TEST(Request, LinesAreThoseThatTheSectorsLieIn) {
  const auto lines_of = [](const LaneAddresses& address) { return global_cost(address, ~0u, 4).lines; };
  EXPECT_EQ(lines_of(lanes([](std::uint64_t l) { return 4096 + 4 * l; })), 1u);
  EXPECT_EQ(lines_of(lanes([](std::uint64_t l) { return 4160 + 4 * l; })), 2u) << "four sectors of two lines";
  EXPECT_EQ(lines_of(lanes([](std::uint64_t l) { return 4096 + 1024 * (31 - l); })), 32u);
  EXPECT_EQ(lines_of(lanes([](std::uint64_t l) { return 4096 + 32 * l; })), 8u);
}

TEST(Request, WavefrontsAreTheFullestBanksWords) {
  EXPECT_EQ(shared_cost(lanes([](std::uint64_t l) { return 128 * (l % 4); }), ~0u, 4).wavefronts, 4u);
  EXPECT_EQ(shared_cost(lanes([](std::uint64_t l) { return 128 * (l % 4); }), 0x5, 4).wavefronts, 2u);
  EXPECT_EQ(shared_cost(lanes([](std::uint64_t l) { return l; }), ~0u, 1).wavefronts, 1u)
      << "bytes of a word";
  const auto wide = shared_cost(lanes([](std::uint64_t l) { return 16 * (l / 8); }), 0xff, 16);
  EXPECT_EQ(wide.wavefronts, 1u);
  EXPECT_EQ(wide.ideal_wavefronts, 1u) << "three quarters have no lane";
}

}  // namespace

}  // namespace tessera::simt
