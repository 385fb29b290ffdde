// SPDX-License-Identifier: Apache-2.0
// What ranks do together, with threads for ranks: agreeing, panels along a grid, and failing in the middle.
#include "tessera/dist/distributed.hpp"
#include <gtest/gtest.h>
#include <atomic>
#include <set>
#include "tessera/dist/communicator_devices.hpp"
#include "tessera/dist/communicator_threads.hpp"

namespace tessera::dist {
namespace {

// Small whole numbers: sums are exact in any order.
std::int64_t left_at(std::int64_t i, std::int64_t l) { return (i * 7 + l * 3) % 11 - 5; }
std::int64_t right_at(std::int64_t l, std::int64_t j) { return (l * 5 + j) % 13 - 6; }

class WholeSum : public PanelSum {
 public:
  WholeSum(std::int64_t rows, std::int64_t cols, int fails_at = -1)
      : rows_(rows), cols_(cols), fails_at_(fails_at), sums_(static_cast<std::size_t>(rows * cols)) {}

  void add(const ArrayView& left, const ArrayView& right) override {
    if (added++ == fails_at_) throw Error(Error::Kind::memory, "on purpose");
    const auto* a = static_cast<const double*>(left.data);
    const auto* b = static_cast<const double*>(right.data);
    for (std::int64_t i = 0; i < rows_; ++i)
      for (std::int64_t j = 0; j < cols_; ++j)
        for (std::int64_t l = 0; l < left.extents[1]; ++l)
          sums_[static_cast<std::size_t>(i * cols_ + j)] +=
              a[i * left.strides[0] + l * left.strides[1]] * b[l * right.strides[0] + j * right.strides[1]];
  }
  void finish() override { finished = true; }
  double sum(std::int64_t i, std::int64_t j) const { return sums_[static_cast<std::size_t>(i * cols_ + j)]; }

  int added = 0;
  bool finished = false;

 private:
  std::int64_t rows_, cols_;
  int fails_at_;
  std::vector<double> sums_;
};

// [outer, over], lying along either.
Array seen(std::int64_t first, std::int64_t last, std::int64_t over, bool over_first, bool right) {
  const std::int64_t outer = last - first;
  Array all(Element::f64, over_first ? Extents{over, outer} : Extents{outer, over});
  for (std::int64_t i = 0; i < outer; ++i)
    for (std::int64_t l = 0; l < over; ++l)
      all.as<double>()[over_first ? l * outer + i : i * over + l] =
          static_cast<double>(right ? right_at(l, first + i) : left_at(first + i, l));
  return all;
}

struct Problem {
  std::int64_t m, n, k, depth;
  bool left_over_first = false, right_over_first = true;
};

// What one rank of a grid does; the sum of its block, checked, and what it received.
double one_rank(Communicator& ranks, const Grid& grid, const Problem& p, WholeSum& sum,
                std::exception_ptr& failure) {
  const int rank = ranks.rank();
  const auto row = ranks.split(grid.row_of(rank)), col = ranks.split(grid.col_of(rank));
  const Interval rows = nth_part(p.m, grid.rows, grid.row_of(rank)),
                 cols = nth_part(p.n, grid.cols, grid.col_of(rank));
  const Array a = seen(rows.first, rows.last, p.k, p.left_over_first, false),
              b = seen(cols.first, cols.last, p.k, p.right_over_first, true);
  Operand left(p.left_over_first ? a.view().transposed() : a.view(), p.left_over_first,
               Panels(p.k, p.depth, row->size()), row->rank()),
      right(p.right_over_first ? b.view().transposed() : b.view(), p.right_over_first,
            Panels(p.k, p.depth, col->size()), col->rank());
  left.read();
  right.read();
  const PanelTimes times =
      add_panels(ranks, *row, *col, left, right, sum, [&](const std::exception_ptr& e) { failure = e; });
  return times.received_bytes;
}

void check(const Grid& grid, const Problem& p) {
  std::atomic<std::int64_t> wrong = 0, received = 0, unfinished = 0;
  on_threads(grid.ranks(), [&](Communicator& ranks) {
    const Interval rows = nth_part(p.m, grid.rows, grid.row_of(ranks.rank())),
                   cols = nth_part(p.n, grid.cols, grid.col_of(ranks.rank()));
    WholeSum sum(rows.size(), cols.size());
    std::exception_ptr failure;
    received += static_cast<std::int64_t>(one_rank(ranks, grid, p, sum, failure));
    unfinished += sum.finished && !failure ? 0 : 1;
    for (std::int64_t i = rows.first; i < rows.last; ++i)
      for (std::int64_t j = cols.first; j < cols.last; ++j) {
        std::int64_t expected = 0;
        for (std::int64_t l = 0; l < p.k; ++l) expected += left_at(i, l) * right_at(l, j);
        wrong += sum.sum(i - rows.first, j - cols.first) == static_cast<double>(expected) ? 0 : 1;
      }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(unfinished, 0);
  EXPECT_EQ(static_cast<double>(received), received_bytes({p.m, p.n, p.k, 8, 8}, grid))
      << grid.rows << " × " << grid.cols << ", k " << p.k;
}

TEST(Distributed, EveryGridGivesTheProduct) {
  for (const Grid& grid : {Grid{1, 1}, Grid{1, 2}, Grid{2, 1}, Grid{2, 2}, Grid{1, 3}, Grid{3, 2}})
    for (const std::int64_t k : {0, 1, 7, 8, 9, 40})
      for (const int layout : {0, 1, 2, 3}) check(grid, {13, 11, k, 8, (layout & 1) != 0, (layout & 2) != 0});
}

TEST(Distributed, BlocksMayBeUneven) {
  check({3, 2}, {3, 2, 50, 4});
  check({3, 2}, {4, 3, 50, 16});
  check({2, 3}, {101, 4, 33, 5});
}

TEST(Distributed, WhatFailsOnOneRankStopsAll) {
  const Grid grid{2, 2};
  const Problem p{8, 8, 400, 4};
  for (const int at : {0, 1, 2, 50, 98, 99}) {
    std::atomic<int> told = 0, finished = 0, latest = 0;
    std::set<std::string> texts;
    std::mutex mutex;
    on_threads(4, [&](Communicator& ranks) {
      const bool fails = ranks.rank() == 2;
      WholeSum sum(4, 4, fails ? at : -1);
      std::exception_ptr failure;
      (void)one_rank(ranks, grid, p, sum, failure);
      if (failure) ++told;
      if (sum.finished) ++finished;
      int before = latest;
      while (before < sum.added && !latest.compare_exchange_weak(before, sum.added)) {
      }
      try {
        agree(ranks, [&] {
          if (failure) std::rethrow_exception(failure);
        });
        ADD_FAILURE() << "nobody was told";
      } catch (const SharedError& error) {
        const std::lock_guard lock(mutex);
        texts.insert(error.what());
        EXPECT_EQ(error.kind(), Error::Kind::memory);
      }
    });
    EXPECT_EQ(told, 1);
    EXPECT_EQ(finished, 0);
    EXPECT_LE(latest, at + 3);
    EXPECT_EQ(texts, std::set<std::string>{"rank 2 on here: on purpose"});
  }
}

TEST(Agree, TheFirstRanksReasonIsEverybodys) {
  std::atomic<int> ended = 0;
  on_threads(5, [&](Communicator& ranks) {
    agree(ranks, [] {});
    EXPECT_TRUE(ranks.begun());
    try {
      agree(ranks, [&] {
        if (ranks.rank() == 0) throw std::bad_alloc();
        if (ranks.rank() == 3) throw Error(Error::Kind::no_device, "three");
      });
    } catch (const SharedError& error) {
      EXPECT_STREQ(error.what(), "the machine has not enough memory for this");
      EXPECT_EQ(error.kind(), Error::Kind::user);
      ++ended;
    }
    try {
      agree(ranks, [&] {
        if (ranks.rank() >= 3) throw Error(Error::Kind::no_device, "rank has its own reason");
      });
    } catch (const SharedError& error) {
      EXPECT_STREQ(error.what(), "rank 3 on here: rank has its own reason");
      EXPECT_EQ(error.kind(), Error::Kind::no_device);
      ++ended;
    }
  });
  EXPECT_EQ(ended, 10);
}

TEST(Communicator, LargestOfNegativeNumbersToo) {
  on_threads(3, [](Communicator& ranks) {
    EXPECT_EQ(ranks.largest(-5 - ranks.rank()), -5);
    EXPECT_EQ(ranks.broadcast(ranks.rank() == 1 ? "word" : "", 1), "word");
    const auto all = ranks.gather(std::string(static_cast<std::size_t>(ranks.rank()), 'x'));
    if (ranks.rank() == 0) EXPECT_EQ(all, (std::vector<std::string>{"", "x", "xx"}));
    else EXPECT_TRUE(all.empty());
  });
}

// A device whose memory holds every byte turned round, so that what did not go through its copies is noticed.
class FarBackend : public HostBackend {
 public:
  Where where() const override { return Where::cuda; }
  const std::vector<Device>& devices() override { return devices_; }
  bool shares_host_memory() const override { return false; }
  void copy(const Run&, void* to, const void* from, std::size_t bytes) override {
    const auto* source = static_cast<const unsigned char*>(from);
    for (std::size_t i = 0; i < bytes; ++i)
      static_cast<unsigned char*>(to)[i] = static_cast<unsigned char>(~source[i]);
    ++copies;
  }
  std::atomic<int> copies = 0;

 private:
  std::vector<Device> devices_{host_device(Where::cuda)};
};

TEST(Devices, WithoutALinkBroadcastsGoThroughTheHosts) {
  if (find_backend(Where::cuda) != nullptr) GTEST_SKIP() << "a build with CUDA has devices of its own there";
  auto& backend = static_cast<FarBackend&>(register_backend(std::make_unique<FarBackend>()));
  for (const bool ask : {false, true}) {
    backend.copies = 0;
    on_threads(3, [&](Communicator& ranks) {
      const tessera::Run run{&backend.devices()[0]};
      const auto joined = join_devices(ranks, {&ranks}, run);
      ASSERT_NE(joined[0], nullptr);
      EXPECT_FALSE(joined[0]->any_thread());
      std::string there(100, static_cast<char>(ranks.rank() == 1 ? ~'x' : 0));
      const auto pending = joined[0]->start_broadcast(there.data(), there.size(), 1);
      while (ask && !pending->done()) std::this_thread::yield();
      pending->wait();
      EXPECT_TRUE(pending->done());
      EXPECT_EQ(there, std::string(100, static_cast<char>(~'x')));
    });
    EXPECT_EQ(backend.copies, 3);
  }
}

// A link asks for a device for each rank; ranks that share one go through the hosts.
TEST(Devices, RanksThatShareADeviceUseNoLink) {
  if (find_backend(Where::cuda) != nullptr && dynamic_cast<FarBackend*>(find_backend(Where::cuda)) == nullptr)
    GTEST_SKIP() << "a build with CUDA has devices of its own there";
  auto& backend = static_cast<FarBackend&>(register_backend(std::make_unique<FarBackend>()));
  std::atomic<int> joined = 0;
  register_link(Where::cuda,
                {[] { return Reason(); },
                 [&](Communicator& hosts, const tessera::Run& run) -> std::unique_ptr<Communicator> {
                   ++joined;
                   return std::make_unique<StagedCommunicator>(hosts, backend, run);
                 }});
  for (const int ranks : {1, 2}) {
    joined = 0;
    on_threads(ranks, [&](Communicator& all) {
      const tessera::Run run{&backend.devices()[0]};
      EXPECT_NE(join_devices(all, {&all}, run)[0], nullptr);
    });
    EXPECT_EQ(joined, ranks == 1 ? 1 : 0);
  }
  register_link(Where::cuda, {[] { return Reason("no more"); }, {}});
}

TEST(Devices, PanelsAreBroughtToThem) {
  FarBackend backend;
  const tessera::Run run{&backend.devices()[0]};
  const Array a = seen(0, 6, 40, false, false);
  Operand operand(a.view(), false, Panels(40, 8, 1), 0,
                  {&host_memory(), [&](void* to, const void* from, std::size_t bytes) {
                     backend.copy(run, to, from, bytes);
                   }});
  operand.read();
  EXPECT_EQ(backend.copies, 5);
  const ArrayView third = operand.panel(2);
  std::uint64_t bits = 0, wanted = 0;
  std::memcpy(&bits, static_cast<const double*>(third.data) + third.strides[0] * 4 + third.strides[1] * 3,
              sizeof bits);
  const auto value = static_cast<double>(left_at(4, 19));
  std::memcpy(&wanted, &value, sizeof wanted);
  EXPECT_EQ(~bits, wanted);
}

TEST(Devices, ThoseThatShareTheHostsMemoryNeedNothing) {
  on_threads(2, [&](Communicator& ranks) {
    const Device device = host_device(Where::simt);
    const tessera::Run run{&device};
    EXPECT_EQ(join_devices(ranks, {&ranks}, run)[0], nullptr);
  });
}

TEST(Communicator, LongMessagesGoInPieces) {
  EXPECT_TRUE(pieces(0, 10).empty());
  EXPECT_EQ(pieces(10, 10), (std::vector<std::size_t>{10}));
  EXPECT_EQ(pieces(25, 10), (std::vector<std::size_t>{10, 10, 5}));
}

}  // namespace
}  // namespace tessera::dist
