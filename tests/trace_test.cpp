// SPDX-License-Identifier: Apache-2.0
// What the tracer says of kernels that break a rule, and that it says nothing of those that do not.
#include <gtest/gtest.h>
#include "tessera/core/text/error.hpp"
#include "tracing.hpp"

namespace tessera {
namespace {

using simt::Finding;
using simt::Schedule;
using tracing::Zoned;
using Kind = Finding::Kind;

struct Cells {
  const int* in = nullptr;
  int* out = nullptr;
  int* count = nullptr;
  int mode = 0;
};

// Arrays, a launch, what was found.
template <class Kernel>
struct Traced {
  explicit Traced(const Launch& grid, int mode = 0, Schedule schedule = {}, int threads = 1) {
    tracer.arrays = {in.array, out.array, count.array};
    tracer.schedule = schedule;
    tracing::launch<Kernel>(tracer, grid, Cells{in.data(), out.data(), count.data(), mode}, threads);
  }

  std::vector<Kind> kinds() const {
    std::vector<Kind> found;
    for (const Finding& f : tracer.findings) found.push_back(f.kind);
    std::ranges::sort(found);
    return found;
  }
  int line(std::size_t i = 0) const {
    return symbols.line_of_kernel(tracer.findings.at(i).site.address()).line;
  }
  int other_line(std::size_t i = 0) const {
    return symbols.line_of_kernel(tracer.findings.at(i).other.address()).line;
  }
  void expect(const std::vector<std::string>& parts, std::size_t i = 0) const {
    for (const std::string& part : parts)
      EXPECT_NE(tracer.findings.at(i).text.find(part), std::string::npos)
          << part << " is not in: " << tracer.findings[i].text;
  }

  Zoned<int> in{"in", 4096, true, 7}, out{"out", 4096, false}, count{"count", 64, false};
  simt::Tracer tracer;
  simt::Symbols symbols;
};

SIMT int global_rank(Thread t) { return t.block().x * t.size().x + t.rank(); }

// Each thread hands a value to the next one: through shared memory, with or without a barrier.
constexpr int hand_write = __LINE__ + 7, hand_read = __LINE__ + 9;
struct HandOn {
  struct Shared {
    int cell[256];
  };
  SIMT void operator()(Thread t, Shared& shared, const Cells& p) const {
    const int n = t.size().x, me = t.rank();
    shared.cell[me] = p.in[me];
    if (p.mode != 0) t.sync();
    p.out[global_rank(t)] = shared.cell[(me + 1) % n];
  }
};

TEST(Trace, ABarrierOrdersABlock) {
  EXPECT_EQ(Traced<HandOn>({.grid = {4}, .block = {256}}, 1).kinds(), std::vector<Kind>{});
  EXPECT_EQ(Traced<HandOn>({.grid = {4}, .block = {20}}, 1).kinds(), std::vector<Kind>{});
}

TEST(Trace, WithoutItThreadsRaceUnderEverySchedule) {
  for (const Schedule schedule :
       {Schedule{}, Schedule{Schedule::Order::descending, 0}, Schedule{Schedule::Order::seeded, 5}}) {
    const Traced<HandOn> traced({.grid = {4}, .block = {64}}, 0, schedule);
    const auto kinds = traced.kinds();
    ASSERT_TRUE(std::ranges::find(kinds, Kind::race) != kinds.end()) << to_string(schedule);
    for (std::size_t i = 0; i < traced.tracer.findings.size(); ++i) {
      if (traced.tracer.findings[i].kind != Kind::race) continue;
      EXPECT_EQ(std::min(traced.line(i), traced.other_line(i)), hand_write);
      EXPECT_EQ(std::max(traced.line(i), traced.other_line(i)), hand_read);
      traced.expect({"of block (0, 0, 0)", "4 bytes", "of shared memory", "nothing orders it with thread ("},
                    i);
    }
  }
}

TEST(Trace, ASeedGivesTheSameFindingsAgain) {
  const Schedule schedule{Schedule::Order::seeded, 77};
  const Traced<HandOn> once({.grid = {4}, .block = {64}}, 0, schedule),
      again({.grid = {4}, .block = {64}}, 0, schedule);
  ASSERT_EQ(once.tracer.findings.size(), again.tracer.findings.size());
  for (std::size_t i = 0; i < once.tracer.findings.size(); ++i)
    EXPECT_EQ(once.tracer.findings[i].text, again.tracer.findings[i].text);
}

// Lanes of one warp hand on: nothing orders them but what names them.
struct WarpHandOn {
  struct Shared {
    int cell[64];
  };
  SIMT void operator()(Thread t, Shared& shared, const Cells& p) const {
    const int base = t.warp() * 32;
    shared.cell[t.rank()] = t.lane();
    if (p.mode == 1) t.sync_warp();
    if (p.mode == 2) (void)t.shuffle(1, 0);
    if (p.mode == 3) t.sync_warp(t.lane() < 16 ? 0x0000ffffu : 0xffff0000u);
    if (p.mode == 4) t.sync_warp(t.lane() < 17 ? 0x0001ffffu : 0xfffe0000u);
    const int of_half = t.lane() / 16 * 16 + (t.lane() + 1) % 16;
    p.out[t.rank()] = shared.cell[base + of_half];
  }
};

TEST(Trace, LanesOfAWarpAreNotInLockstep) {
  const Launch grid{.grid = {1}, .block = {64}};
  const auto found = [&](int mode) {
    const auto kinds = Traced<WarpHandOn>(grid, mode).kinds();
    return std::ranges::find(kinds, Kind::race) != kinds.end();
  };
  EXPECT_TRUE(found(0));
  EXPECT_FALSE(found(1)) << "sync_warp orders";
  EXPECT_FALSE(found(2)) << "a shuffle orders";
  EXPECT_FALSE(found(3)) << "those named meet";
  EXPECT_TRUE(found(4)) << "lane 16 met others than those that it reads from";
}

// A warp's table is full when its lanes meet: what it holds is read, and told, by one of them.
struct FullWhereLanesMeet {
  struct Shared {
    int cell[64];
  };
  SIMT void operator()(Thread t, Shared& shared, const Cells& p) const {
    shared.cell[t.rank()] = t.rank();
    int sum = shared.cell[63 - t.rank()];
    for (int i = 0; i < 2 * static_cast<int>(simt::WarpLog::rows); ++i) sum += t.shuffle(i, 0);
    p.out[global_rank(t)] = sum;
  }
};

TEST(Trace, CollectivesAreNotCountedAsAccesses) {
  const Traced<FullWhereLanesMeet> traced({.grid = {2}, .block = {64}});
  const auto kinds = traced.kinds();
  EXPECT_TRUE(std::ranges::find(kinds, Kind::race) != kinds.end());
  for (const simt::SiteCounts& counts : traced.tracer.sites) EXPECT_EQ(counts.site.width(), sizeof(int));
}

constexpr int unwritten_line = __LINE__ + 7;
struct ReadsUnwritten {
  struct Shared {
    int cell[64];
  };
  SIMT void operator()(Thread t, Shared& shared, const Cells& p) const {
    if (t.rank() != 5) shared.cell[t.rank()] = 1;
    p.out[global_rank(t)] = shared.cell[t.rank()];
  }
};

TEST(Trace, FindsReadsOfUnwrittenSharedMemory) {
  const Traced<ReadsUnwritten> traced({.grid = {2}, .block = {64}});
  ASSERT_EQ(traced.kinds(), std::vector<Kind>{Kind::uninitialised});
  EXPECT_EQ(traced.line(), unwritten_line);
  traced.expect({"thread (5, 0, 0) of block (0, 0, 0) reads 4 bytes at byte 20 of shared memory"});
  EXPECT_EQ(traced.tracer.findings[0].times, 2u);
}

SIMT int* odd(int* p) { return reinterpret_cast<int*>(reinterpret_cast<char*>(p) + 2); }

constexpr int astray_line = __LINE__ + 8;
struct Astray {
  struct Shared {
    int cell[64];
  };
  SIMT void operator()(Thread t, Shared& shared, const Cells& p) const {
    shared.cell[t.rank()] = 0;
    p.out[global_rank(t)] = p.in[global_rank(t)];
    if (t.rank() == 3 && p.mode == 1) p.out[4096] = 1;
    if (t.rank() == 3 && p.mode == 2) p.out[0] = p.in[p.count[0] - 1];
    if (t.rank() == 3 && p.mode == 3) shared.cell[t.size().x + p.count[0]] = 1;
    if (t.rank() == 3 && p.mode == 4) *odd(&p.out[global_rank(t)]) = 1;
    if (t.rank() == 3 && p.mode == 5) const_cast<int*>(p.in)[7] = 1;
  }
};

TEST(Trace, FindsOutOfBoundsAndMisalignedAccesses) {
  const Launch grid{.grid = {1}, .block = {64}};
  const auto only = [&](int mode, Kind kind, const std::vector<std::string>& parts) {
    const Traced<Astray> traced(grid, mode);
    const auto found = std::ranges::find(traced.tracer.findings, kind, &Finding::kind);
    ASSERT_TRUE(found != traced.tracer.findings.end()) << mode;
    const auto index = static_cast<std::size_t>(found - traced.tracer.findings.begin());
    EXPECT_EQ(traced.line(index), astray_line + mode - 1) << mode;
    traced.expect(parts, index);
  };
  EXPECT_EQ(Traced<Astray>(grid).kinds(), std::vector<Kind>{});
  only(1, Kind::out_of_bounds, {"thread (3, 0, 0)", "writes 4 bytes at element 4096 of out, which has 4096"});
  only(2, Kind::out_of_bounds, {"reads 4 bytes at element -1 of in"});
  only(3, Kind::out_of_bounds, {"writes 4 bytes at byte 256 of shared memory"});
  only(4, Kind::misaligned, {"writes 4 bytes at out[3]"});
  only(5, Kind::writes_input, {"writes 4 bytes at in[7]"});
}

// Half of the threads wait for those that have gone another way.
constexpr int parted_line = __LINE__ + 5;
struct PartedBarrier {
  using Shared = NoShared;
  SIMT void operator()(Thread t, Shared&, const Cells& p) const {
    p.out[global_rank(t)] = 1;
    if (t.rank() < 16) t.sync();
    else t.sync();
  }
};

TEST(Trace, FindsBarriersThatSomeThreadsMiss) {
  Zoned<int> out("out", 64, false);
  simt::Tracer tracer;
  tracer.arrays = {out.array};
  EXPECT_THROW(tracing::launch<PartedBarrier>(tracer, {.grid = {1}, .block = {64}},
                                              Cells{nullptr, out.data(), nullptr, 1}),
               Error);
  ASSERT_EQ(tracer.findings.size(), 1u);
  EXPECT_EQ(tracer.findings[0].kind, Kind::barrier);
  EXPECT_EQ(tracer.findings[0].location.line, parted_line);
  EXPECT_NE(tracer.findings[0].text.find("threads 0-15 wait at"), std::string::npos)
      << tracer.findings[0].text;
}

// The last thread of the grid writes beside the array.
struct WritesBeyond {
  using Shared = NoShared;
  SIMT void operator()(Thread t, Shared&, const Cells& p) const { p.out[global_rank(t) + 1] = 1; }
};

TEST(Trace, ALimitOnAccessesLeavesBlocksOutButNotTheLast) {
  for (const std::int64_t limit : {1000, 1'000'000}) {
    Zoned<int> out("out", 64 * 32, false);
    simt::Tracer tracer;
    tracer.arrays = {out.array};
    tracer.accesses = limit;
    tracing::launch<WritesBeyond>(tracer, {.grid = {64}, .block = {32}},
                                  Cells{nullptr, out.data(), nullptr, 0}, 1);
    EXPECT_EQ(tracer.cut_short, limit == 1000);
    EXPECT_EQ(tracer.blocks_run == 64, limit != 1000);
    EXPECT_GT(tracer.blocks_run, 4u);
    ASSERT_EQ(tracer.findings.size(), 1u);
    EXPECT_EQ(tracer.findings[0].kind, Kind::out_of_bounds);
    for (int i = 1; i < 64 * 32; ++i) ASSERT_EQ(out.data()[i], 1);
  }
}

constexpr int nothing_line = __LINE__ + 5;
struct TouchesNothing {
  using Shared = NoShared;
  SIMT void operator()(Thread t, Shared&, const Cells& p) const {
    p.out[t.rank()] = 1;
    if (t.rank() == 9) p.out[9] = p.in[t.size().x / 2 + 1];
  }
};

TEST(Trace, FindsAnAccessToUnmappedMemory) {
  Zoned<int> out("out", 64, false);
  simt::Tracer tracer;
  tracer.arrays = {out.array};
  for (int again = 0; again < 2; ++again)
    EXPECT_THROW(tracing::launch<TouchesNothing>(tracer, {.grid = {2}, .block = {32}},
                                                 Cells{nullptr, out.data(), nullptr, 1}),
                 Error);
  ASSERT_EQ(tracer.findings.size(), 1u);
  EXPECT_EQ(tracer.findings[0].text,
            "thread (9, 0, 0) of block (0, 0, 0) reads 4 bytes at address 68, where nothing is");
  EXPECT_EQ(simt::Symbols().line_of_kernel(tracer.findings[0].site.address()).line, nothing_line);
}

// Blocks meet in one word of global memory.
struct Meet {
  using Shared = NoShared;
  SIMT void operator()(Thread t, Shared&, const Cells& p) const {
    if (t.rank() != 0) return;
    if (p.mode == 0) p.out[0] = t.block().x;
    if (p.mode == 1) t.atomic_add(p.out, 1);
    if (p.mode == 2 && t.block().x == 0) p.out[0] = 1;
    if (p.mode == 2 && t.block().x == 1) p.out[1] = p.out[0];
    if (p.mode == 3) p.out[t.block().x] = 1;
  }
};

TEST(Trace, NothingOrdersBlocks) {
  for (const int threads : {1, 2}) {
    const Launch grid{.grid = {2}, .block = {32}};
    EXPECT_EQ(Traced<Meet>(grid, 0, {}, threads).kinds(), std::vector<Kind>{Kind::race}) << threads;
    EXPECT_EQ(Traced<Meet>(grid, 1, {}, threads).kinds(), std::vector<Kind>{}) << threads;
    EXPECT_EQ(Traced<Meet>(grid, 2, {}, threads).kinds(), std::vector<Kind>{Kind::race}) << threads;
    EXPECT_EQ(Traced<Meet>(grid, 3, {}, threads).kinds(), std::vector<Kind>{}) << threads;
    const Traced<Meet> traced(grid, 2, {}, threads);
    traced.expect({"out[0]", "block (0, 0, 0)", "block (1, 0, 0)"});
  }
}

// The block that finishes last adds up what all have left: fences and an atomic counter order it.
template <bool before, bool after>
struct LastAddsUp {
  struct Shared {
    int last;
  };
  SIMT void operator()(Thread t, Shared& shared, const Cells& p) const {
    const int blocks = t.grid().x;
    p.out[global_rank(t)] = t.rank();
    if (before) t.fence();
    t.sync();
    if (t.rank() == 0) shared.last = t.atomic_add(p.count, 1) == blocks - 1 ? 1 : 0;
    if (after) t.fence();
    t.sync();
    if (shared.last == 0) return;
    int sum = 0;
    for (int block = 0; block < blocks; ++block)
      sum += p.out[block * t.size().x + (t.rank() + 1) % t.size().x];
    p.out[2048 + t.rank()] = sum;
    if (t.rank() == 0) p.count[0] = 0;
  }
};

TEST(Trace, AtomicsWithFencesOrderBlocks) {
  const Launch grid{.grid = {8}, .block = {64}};
  EXPECT_EQ((Traced<LastAddsUp<true, true>>(grid).kinds()), std::vector<Kind>{});
  EXPECT_EQ((Traced<LastAddsUp<false, true>>(grid).kinds()), std::vector<Kind>{Kind::race});
  // CUDA's own examples have no fence after the atomic.
  EXPECT_EQ((Traced<LastAddsUp<true, false>>(grid).kinds()), std::vector<Kind>{});
  const Traced<LastAddsUp<true, true>> descending(grid, 0, {Schedule::Order::descending, 0});
  EXPECT_EQ(descending.kinds(), std::vector<Kind>{});
  EXPECT_TRUE(descending.tracer.blocks_communicate);
}

// A histogram by atomics, and the sum of a block by a tree of ever fewer threads.
struct Histogram {
  struct Shared {
    int bin[16];
    float part[256];
  };
  SIMT void operator()(Thread t, Shared& shared, const Cells& p) const {
    if (t.rank() < 16) shared.bin[t.rank()] = 0;
    shared.part[t.rank()] = 1;
    t.sync();
    t.atomic_add(&shared.bin[t.rank() * 7 % 16], 1);
    for (int half = t.size().x / 2; half > 0; half /= 2) {
      if (t.rank() < half) shared.part[t.rank()] += shared.part[t.rank() + half];
      if (p.mode == 0) t.sync();
    }
    t.sync();
    if (t.rank() < 16) t.atomic_add(&p.out[t.rank()], shared.bin[t.rank()]);
    if (t.rank() == 0) t.atomic_max(&p.count[0], static_cast<int>(shared.part[0]));
  }
};

TEST(Trace, ReductionsAndHistograms) {
  const Traced<Histogram> right({.grid = {4}, .block = {256}});
  EXPECT_EQ(right.kinds(), std::vector<Kind>{});
  const auto wrong = Traced<Histogram>({.grid = {4}, .block = {256}}, 1).kinds();
  EXPECT_TRUE(std::ranges::find(wrong, Kind::race) != wrong.end());
  const auto shared_atomics = right.tracer.total(simt::Space::shared, simt::Act::atomic);
  EXPECT_EQ(shared_atomics.requests, 4u * 8);
}

// Two threads write halves of a word: side by side is no race, the same half is.
struct Halves {
  struct Shared {
    short half[64];
  };
  SIMT void operator()(Thread t, Shared& shared, const Cells& p) const {
    shared.half[p.mode == 0 ? t.rank() : t.rank() / 2 * 2] = 1;
  }
};

TEST(Trace, DistinguishesBytes) {
  EXPECT_EQ(Traced<Halves>({.grid = {2}, .block = {64}}).kinds(), std::vector<Kind>{});
  EXPECT_EQ(Traced<Halves>({.grid = {2}, .block = {64}}, 1).kinds(), std::vector<Kind>{Kind::race});
}

// More accesses than a warp's table holds, by lanes that do not all have as many.
struct Long {
  using Shared = NoShared;
  SIMT void operator()(Thread t, Shared&, const Cells& p) const {
    int sum = 0;
    for (int i = 0; i < (t.lane() < 16 ? 3000 : 1700); ++i) sum += p.in[i];
    p.out[global_rank(t)] = sum;
  }
};

TEST(Trace, TablesThatFillUpAreEmptied) {
  const Traced<Long> traced({.grid = {2}, .block = {64}});
  const auto loads = traced.tracer.total(simt::Space::global, simt::Act::read);
  EXPECT_EQ(loads.accesses, 4u * 16 * (3000 + 1700));
  EXPECT_EQ(loads.requests, 4u * 3000);
  EXPECT_EQ(traced.kinds(), std::vector<Kind>{});
}

TEST(Trace, SkipsRequestedBarriers) {
  simt::Tracer tracer;
  Zoned<int> in("in", 4096, true), out("out", 4096, false), count("count", 1, false);
  tracer.arrays = {in.array, out.array, count.array};
  const Cells cells{in.data(), out.data(), count.data(), 1};
  tracing::launch<HandOn>(tracer, {.grid = {1}, .block = {64}}, cells);
  ASSERT_EQ(tracer.barriers.size(), 1u);
  EXPECT_EQ(tracer.barriers[0].location.line, hand_write + 1);
  EXPECT_EQ(tracer.barriers[0].times, 1u);
  EXPECT_TRUE(tracer.findings.empty());
  tracer.without = {tracer.barriers[0].location};
  tracing::launch<HandOn>(tracer, {.grid = {1}, .block = {64}}, cells);
  EXPECT_FALSE(tracer.findings.empty());
  EXPECT_EQ(tracer.barriers[0].times, 1u);
}

}  // namespace
}  // namespace tessera
