// SPDX-License-Identifier: Apache-2.0
// The collectives against a model of one line each, for random values and random masks.
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <string>
#include <vector>
#include "tessera/core/text/error.hpp"
#include "tessera/simt/executor/launch.hpp"

namespace tessera {
namespace {

struct NoShared {};

template <class Kernel, class Problem>
void launch(Launch grid, const Problem& problem) {
  Device device;
  device.threads = 2;
  Run run;
  run.device = &device;
  launch_kernel<Kernel>(grid, problem, run);
}

template <class Kernel, class Problem>
std::string message_of(Launch grid, const Problem& problem) {
  try {
    launch<Kernel>(grid, problem);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::memory);
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

// Operands and results of each thread. `lanes` splits a warp's lanes into two groups, each with its own
// collectives in the same line of the kernel.
template <class T>
struct Exchange {
  struct Got {
    T shuffle, up, down, by_xor;
    bool any, all;
    std::uint32_t ballot, match_any, match_all;
  };
  const T* value;
  const int* operand;
  const bool* predicate;
  std::uint32_t lanes;
  Got* got;
};

template <class T>
struct Collect {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const Exchange<T>& p) const {
    const auto i = static_cast<std::size_t>(t.rank());
    const T value = p.value[i];
    const int operand = p.operand[i];
    const std::uint32_t mine = (p.lanes >> t.lane() & 1) != 0 ? p.lanes : ~p.lanes;
    auto& got = p.got[i];
    got.shuffle = t.shuffle(value, operand, mine);
    got.up = t.shuffle_up(value, operand, mine);
    t.sync_warp(mine);
    got.down = t.shuffle_down(value, operand, mine);
    got.by_xor = t.shuffle_xor(value, operand, mine);
    got.any = t.any(p.predicate[i], mine);
    got.all = t.all(p.predicate[i], mine);
    got.ballot = t.ballot(p.predicate[i], mine);
    got.match_any = t.match_any(value, mine);
    got.match_all = t.match_all(value, mine);
  }
};

template <class T>
class Model {
 public:
  Model(const std::vector<T>& value, std::uint32_t mask, int rank)
      : value_(value),
        first_(rank / 32 * 32),
        lane_(rank % 32),
        mask_((mask >> lane_ & 1) != 0 ? mask : ~mask) {}

  bool takes_part(int lane) const {
    return lane >= 0 && lane < 32 && (mask_ >> lane & 1) != 0 &&
           first_ + lane < static_cast<int>(value_.size());
  }
  T at(int lane) const {
    return value_[static_cast<std::size_t>(first_ + (takes_part(lane) ? lane : lane_))];
  }
  template <class Holds>
  std::uint32_t lanes_where(Holds holds) const {
    std::uint32_t lanes = 0;
    for (int l = 0; l < 32; ++l)
      if (takes_part(l) && holds(static_cast<std::size_t>(first_ + l))) lanes |= 1u << l;
    return lanes;
  }
  std::uint32_t everyone() const {
    return lanes_where([](std::size_t) { return true; });
  }
  int lane() const { return lane_; }

 private:
  const std::vector<T>& value_;
  int first_, lane_;
  std::uint32_t mask_;
};

template <class T>
void compare(std::mt19937& random, int threads, std::uint32_t mask, int distinct_values, int false_in) {
  const auto count = static_cast<std::size_t>(threads);
  std::vector<T> value(count);
  std::vector<int> operand(count);
  const auto predicate = std::make_unique<bool[]>(count);
  for (std::size_t i = 0; i < count; ++i) {
    value[i] = static_cast<T>(random() % static_cast<unsigned>(distinct_values)) + T{1} / T{4};
    operand[i] = static_cast<int>(random() % 32);
    predicate[i] = random() % static_cast<unsigned>(false_in) != 0;
  }
  std::vector<typename Exchange<T>::Got> got(count);
  launch<Collect<T>>({.grid = {1}, .block = {threads}},
                     Exchange<T>{value.data(), operand.data(), predicate.get(), mask, got.data()});
  for (std::size_t i = 0; i < count; ++i) {
    const Model<T> model(value, mask, static_cast<int>(i));
    const std::uint32_t yes = model.lanes_where([&](std::size_t j) { return predicate[j]; });
    const std::uint32_t equal = model.lanes_where([&](std::size_t j) { return value[j] == value[i]; });
    const int lane = model.lane(), by = operand[i];
    const std::string where = "thread " + std::to_string(i) + " of " + std::to_string(threads);
    EXPECT_EQ(got[i].shuffle, model.at(by)) << where;
    EXPECT_EQ(got[i].up, model.at(lane - by)) << where;
    EXPECT_EQ(got[i].down, model.at(lane + by)) << where;
    EXPECT_EQ(got[i].by_xor, model.at(lane ^ by)) << where;
    EXPECT_EQ(got[i].any, yes != 0) << where;
    EXPECT_EQ(got[i].all, yes == model.everyone()) << where;
    EXPECT_EQ(got[i].ballot, yes) << where;
    EXPECT_EQ(got[i].match_any, equal) << where;
    EXPECT_EQ(got[i].match_all, equal == model.everyone() ? equal : 0) << where;
  }
}

template <class T>
class Collectives : public testing::Test {};
using Exchanged = testing::Types<std::int32_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(Collectives, Exchanged);

TYPED_TEST(Collectives, AgreeWithTheModel) {
  std::mt19937 random(1);
  for (const int threads : {1, 7, 32, 33, 96, 250})
    for (const std::uint32_t mask : {0xffffffffu, 0xffffu, 0x80000001u})
      for (const int distinct : {1, 3, 1'000'000})
        compare<TypeParam>(random, threads, mask, distinct, distinct);
  for (int i = 0; i < 50; ++i)
    compare<TypeParam>(random, 64, static_cast<std::uint32_t>(random()), i % 3 + 1, i % 5 + 1);
}

struct Sum {
  std::int64_t* out;
};

struct SumByShuffles {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const Sum& p) const {
    std::int64_t sum = t.rank();
    for (int by = 16; by > 0; by /= 2) sum += t.shuffle_xor(sum, by);
    if (t.lane() == 0) p.out[t.warp()] = sum;
  }
};

TEST(Warp, WarpsAdvanceOnTheirOwn) {
  std::vector<std::int64_t> out(32);
  launch<SumByShuffles>({.grid = {1}, .block = {1024}}, Sum{out.data()});
  for (int w = 0; w < 32; ++w) EXPECT_EQ(out[static_cast<std::size_t>(w)], 32 * 32 * w + 496);
}

// Written before sync_warp, read after it; the two branches meet in it.
struct Branches {
  struct Shared {
    int cell[32];
  };
  void operator()(Thread t, Shared& shared, const Sum& p) const {
    if (t.lane() < 8) {
      shared.cell[t.lane()] = t.lane();
      t.sync_warp();
    } else {
      shared.cell[t.lane()] = 2 * t.lane();
      t.sync_warp();
    }
    p.out[t.lane()] = shared.cell[31 - t.lane()];
  }
};

TEST(Warp, BranchesConvergeInSyncWarp) {
  std::vector<std::int64_t> out(32);
  launch<Branches>({.grid = {1}, .block = {32}}, Sum{out.data()});
  for (int l = 0; l < 32; ++l)
    EXPECT_EQ(out[static_cast<std::size_t>(l)], 31 - l < 8 ? 31 - l : 2 * (31 - l));
}

constexpr int one_shuffle = __LINE__ + 5, other_shuffle = __LINE__ + 6;
struct DivergentShuffle {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const Sum& p) const {
    if (t.lane() < 8) {
      p.out[0] = t.shuffle_down(1, 1);
    } else p.out[0] = t.shuffle_down(2, 1);
  }
};

TEST(Warp, BranchesDoNotConvergeInAShuffle) {
  std::int64_t out = 0;
  const std::string text = message_of<DivergentShuffle>({.grid = {1}, .block = {32}}, Sum{&out});
  const auto place = [](int line) {
    return "warp_test.cpp:" + std::to_string(line) + " (shuffle_down of lanes 0xffffffff)";
  };
  for (const std::string& part : {std::string("threads 0-7"), std::string("threads 8-31 wait at "),
                                  place(one_shuffle), place(other_shuffle)})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
}

struct NotItself {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const Sum& p) const { p.out[0] = t.ballot(true, 0x0000fffe); }
};

TEST(Warp, ALaneMustNameItself) {
  std::int64_t out = 0;
  const std::string text = message_of<NotItself>({.grid = {1}, .block = {16}}, Sum{&out});
  EXPECT_NE(text.find("thread 0 is lane 0 and does not name itself at "), std::string::npos) << text;
}

// The lane returns before (3) or after (30) the lanes that name it arrive.
struct LaneGone {
  using Shared = NoShared;
  void operator()(Thread t, Shared&, const Sum& p) const {
    if (t.lane() == static_cast<int>(p.out[0])) return;
    t.any(true);
  }
};

TEST(Warp, ALaneThatReturnedCannotBeNamed) {
  for (const std::int64_t gone : {3, 30}) {
    std::int64_t lane = gone;
    const std::string text = message_of<LaneGone>({.grid = {1}, .block = {64}}, Sum{&lane});
    const std::string number = std::to_string(gone);
    EXPECT_NE(text.find("for lane " + number + " (thread " + number + "), which has returned"),
              std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace tessera
