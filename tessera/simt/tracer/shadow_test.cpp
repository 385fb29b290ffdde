// SPDX-License-Identifier: Apache-2.0
// What is remembered of a word must suffice to find a race at it, whoever of its readers then writes.
#include "tessera/simt/tracer/shadow.hpp"
#include <gtest/gtest.h>

namespace tessera::simt {
namespace {

constexpr std::uint32_t here = 1;

// A word that somebody wrote, and these have read since the barrier behind.
class ReadBy {
 public:
  explicit ReadBy(const std::vector<int>& readers) {
    shadow_.begin(0);
    EXPECT_EQ(touch(Act::write, 63).kind, Conflict::Kind::none);
    shadow_.barrier();
    for (const int reader : readers) EXPECT_EQ(touch(Act::read, reader).kind, Conflict::Kind::none);
  }
  Conflict touch(Act act, int thread) { return shadow_.shared(16, 4, act, thread, here); }
  Shadow& shadow() { return shadow_; }

 private:
  Shadow shadow_{96, 64, {}};
};

void expect_race(ReadBy word, int writer, int reader) {
  const Conflict found = word.touch(Act::write, writer);
  EXPECT_EQ(found.kind, Conflict::Kind::race) << writer;
  EXPECT_EQ(int{found.other.thread}, reader) << writer;
  EXPECT_FALSE(found.other_wrote);
}

TEST(Shadow, AReaderThatWritesRacesWithTheOtherOne) {
  expect_race(ReadBy({3, 4}), 3, 4);
  expect_race(ReadBy({3, 4}), 4, 3);
  expect_race(ReadBy({3, 40}), 3, 40);
  expect_race(ReadBy({3, 40}), 40, 3);
  EXPECT_EQ(ReadBy({3, 3}).touch(Act::write, 3).kind, Conflict::Kind::none);
}

TEST(Shadow, AReaderOfAnotherWarpIsKept) {
  for (const std::vector<int>& readers : {std::vector{3, 4, 40}, {3, 40, 4}, {40, 3, 4}, {3, 4, 40, 70}}) {
    ReadBy word(readers);
    word.shadow().met(0, ~0u);  // the lanes of the first warp know of each other now
    const Conflict found = word.touch(Act::write, 3);
    EXPECT_EQ(found.kind, Conflict::Kind::race);
    EXPECT_GE(found.other.thread, 32);
  }
}

TEST(Shadow, ABarrierEndsIt) {
  ReadBy word({3, 4, 40});
  word.shadow().barrier();
  EXPECT_EQ(word.touch(Act::write, 3).kind, Conflict::Kind::none);
}

}  // namespace
}  // namespace tessera::simt
