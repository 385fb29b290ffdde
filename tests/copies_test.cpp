// SPDX-License-Identifier: Apache-2.0
// Copies of many bytes, however they are spelled: the compiler makes no calls before their accesses, so
// whatever it makes of them could stay unseen.
#include <gtest/gtest.h>
#include <algorithm>
#include <cstring>
#include "tracing.hpp"

namespace tessera {
namespace {

using simt::Act;
using simt::Finding;
using simt::Space;
using tracing::Zoned;

struct alignas(16) Row {
  float value[16];
};

enum class Copy { builtin, plain, in_std, moved, builtin_moved, copy_n, assigned };
constexpr Copy copies[] = {Copy::builtin,       Copy::plain,  Copy::in_std,  Copy::moved,
                           Copy::builtin_moved, Copy::copy_n, Copy::assigned};

template <Copy copy>
SIMT void copied(Row& to, const Row& from) {
  if constexpr (copy == Copy::builtin) __builtin_memcpy(&to, &from, sizeof to);
  if constexpr (copy == Copy::plain) memcpy(&to, &from, sizeof to);
  if constexpr (copy == Copy::in_std) std::memcpy(&to, &from, sizeof to);
  if constexpr (copy == Copy::moved) memmove(&to, &from, sizeof to);
  if constexpr (copy == Copy::builtin_moved) __builtin_memmove(&to, &from, sizeof to);
  if constexpr (copy == Copy::copy_n) std::copy_n(from.value, 16, to.value);
  if constexpr (copy == Copy::assigned) to = from;
}

struct Rows {
  const Row* in = nullptr;
  Row* out = nullptr;
  bool ordered = true;
};

// Each thread hands a row to its neighbour.
template <Copy copy>
struct HandOn {
  struct Shared {
    Row row[64];
  };
  SIMT void operator()(Thread t, Shared& shared, const Rows& p) const {
    Row mine;
    copied<copy>(mine, p.in[t.rank()]);
    copied<copy>(shared.row[t.rank()], mine);
    if (p.ordered) t.sync();
    copied<copy>(p.out[t.rank()], shared.row[(t.rank() + 1) % t.size().x]);
  }
};

template <class Kernel>
struct Traced {
  explicit Traced(bool ordered) {
    for (std::size_t i = 0; i < 64; ++i) std::ranges::fill(in.data()[i].value, static_cast<float>(i));
    tracer.arrays = {in.array, out.array};
    tracing::launch<Kernel>(tracer, {.grid = {1}, .block = {64}}, Rows{in.data(), out.data(), ordered});
  }
  bool found(Finding::Kind kind) const {
    return std::ranges::find(tracer.findings, kind, &Finding::kind) != tracer.findings.end();
  }
  Zoned<Row> in{"in", 64, true}, out{"out", 64, false};
  simt::Tracer tracer;
};

template <Copy copy>
void expect_seen() {
  const int which = static_cast<int>(copy);
  Traced<HandOn<copy>> right(true);
  EXPECT_TRUE(right.tracer.findings.empty()) << which;
  for (const Space space : {Space::global, Space::shared})
    for (const Act act : {Act::read, Act::write}) {
      // Two warps, and four accesses of 16 bytes for a row of 64; an assignment the compiler may take apart.
      if (copy != Copy::assigned) {
        EXPECT_EQ(right.tracer.total(space, act).requests, 2u * 4) << which;
      }
      EXPECT_EQ(right.tracer.total(space, act).bytes, 64u * sizeof(Row)) << which;
    }
  for (std::size_t i = 0; i < 64; ++i)
    EXPECT_EQ(right.out.data()[i].value[15], static_cast<float>((i + 1) % 64)) << which;
  EXPECT_TRUE(Traced<HandOn<copy>>(false).found(Finding::Kind::race)) << which;
}

template <std::size_t... i>
void expect_all_seen(std::index_sequence<i...>) {
  (expect_seen<copies[i]>(), ...);
}

TEST(Copies, AreTracedInEverySpelling) { expect_all_seen(std::make_index_sequence<std::size(copies)>()); }

// What the compiler computes is no access, and a function that it may compute stays one.
constexpr unsigned first_of(const unsigned (&from)[2], bool by_bytes) {
  unsigned out = 0;
  if (by_bytes) __builtin_memcpy(&out, from, sizeof out);
  return by_bytes ? out : from[0];
}
static_assert(first_of({7, 8}, false) == 7);

struct Computes {
  using Shared = NoShared;
  SIMT void operator()(Thread t, NoShared&, const Rows& p) const {
    const unsigned pair[] = {static_cast<unsigned>(t.rank()), 1};
    p.out[t.rank()].value[0] = static_cast<float>(first_of(pair, true));
  }
};

TEST(Copies, OfRegistersAreNotCounted) {
  Traced<Computes> traced(true);
  EXPECT_EQ(traced.out.data()[63].value[0], 63);
  EXPECT_EQ(traced.tracer.total(Space::global, Act::write).accesses, 64u);
  EXPECT_EQ(traced.tracer.total(Space::global, Act::read).accesses, 0u);
  EXPECT_EQ(traced.tracer.total(Space::shared, Act::read).accesses, 0u);
}

// Two threads clear what is one thread's: a race, and the bytes are counted.
template <bool builtin>
struct Clears {
  using Shared = NoShared;
  SIMT void operator()(Thread t, NoShared&, const Rows& p) const {
    Row* const mine = &p.out[p.ordered ? t.rank() : t.rank() / 2];
    if constexpr (builtin) __builtin_memset(mine, 0, sizeof *mine);
    else memset(mine, 0, sizeof *mine);
  }
};

template <bool builtin>
void expect_cleared() {
  Traced<Clears<builtin>> right(true), wrong(false);
  EXPECT_TRUE(right.tracer.findings.empty());
  EXPECT_EQ(right.tracer.total(Space::global, Act::write).bytes, 64u * sizeof(Row));
  EXPECT_EQ(right.out.data()[63].value[15], 0);
  EXPECT_TRUE(wrong.found(Finding::Kind::race));
}

TEST(Copies, ClearedMemoryIsWritten) {
  expect_cleared<false>();
  expect_cleared<true>();
}

}  // namespace
}  // namespace tessera
