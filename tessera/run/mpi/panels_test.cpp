// SPDX-License-Identifier: Apache-2.0
// Tests the collective work of ranks, with threads for ranks: agreeing, panels along a grid, and failing in
// the middle; and grids of ranks: every element of the result belongs to one of them, and none communicates
// less.
#include "tessera/run/mpi/panels.hpp"
#include <gtest/gtest.h>
#include <atomic>
#include <mutex>
#include <numeric>
#include <set>
#include <vector>
#include "tests/made_up_ranks.hpp"

namespace tessera {
namespace {

using made_up::on_threads;

// Small integers: sums are exact in any order.
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

// [outer, over], contiguous along either.
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

// Computes one rank's block into `sum`; returns the bytes that the rank received.
double one_rank(Communicator& ranks, const RankGrid& grid, const Problem& p, WholeSum& sum,
                std::exception_ptr& failure) {
  const int rank = ranks.rank();
  const auto row = ranks.split(grid.row_of(rank)), col = ranks.split(grid.col_of(rank));
  const Interval rows = nth_part(p.m, grid.rows, grid.row_of(rank)),
                 cols = nth_part(p.n, grid.cols, grid.col_of(rank));
  const Array a = seen(rows.first, rows.last, p.k, p.left_over_first, false),
              b = seen(cols.first, cols.last, p.k, p.right_over_first, true);
  PanelOperand left(p.left_over_first ? a.view().transposed() : a.view(), p.left_over_first,
                    Panels(p.k, p.depth, row->size()), row->rank()),
      right(p.right_over_first ? b.view().transposed() : b.view(), p.right_over_first,
            Panels(p.k, p.depth, col->size()), col->rank());
  left.read();
  right.read();
  const PanelTimes times =
      add_panels(ranks, *row, *col, left, right, sum, [&](const std::exception_ptr& e) { failure = e; });
  return times.received_bytes;
}

void check(const RankGrid& grid, const Problem& p) {
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
  for (const RankGrid& grid :
       {RankGrid{1, 1}, RankGrid{1, 2}, RankGrid{2, 1}, RankGrid{2, 2}, RankGrid{1, 3}, RankGrid{3, 2}})
    for (const std::int64_t k : {0, 1, 7, 8, 9, 40})
      for (const int layout : {0, 1, 2, 3}) check(grid, {13, 11, k, 8, (layout & 1) != 0, (layout & 2) != 0});
}

TEST(Distributed, BlocksMayBeUneven) {
  check({3, 2}, {3, 2, 50, 4});
  check({3, 2}, {4, 3, 50, 16});
  check({2, 3}, {101, 4, 33, 5});
}

TEST(Distributed, AFailureOnOneRankStopsAll) {
  const RankGrid grid{2, 2};
  const Problem p{8, 8, 400, 4};
  for (const int at : {0, 1, 50, 99}) {
    std::atomic<int> refused = 0, finished = 0, latest = 0;
    std::set<std::string> texts;
    std::mutex mutex;
    on_threads(4, [&](Communicator& ranks) {
      const bool fails = ranks.rank() == 2;
      WholeSum sum(4, 4, fails ? at : -1);
      std::exception_ptr failure;
      (void)one_rank(ranks, grid, p, sum, failure);
      if (failure) ++refused;
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
    EXPECT_EQ(refused, 1);
    EXPECT_EQ(finished, 0);
    EXPECT_LE(latest, at + 1);
    EXPECT_EQ(texts, std::set<std::string>{"rank 2 on here: on purpose"});
  }
}

TEST(Agree, AllRanksThrowTheReasonOfTheFirstFailedRank) {
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

TEST(Communicator, LargestAcceptsNegativeNumbers) {
  on_threads(3, [](Communicator& ranks) {
    EXPECT_EQ(ranks.largest(-5 - ranks.rank()), -5);
    EXPECT_EQ(ranks.broadcast(ranks.rank() == 1 ? "word" : "", 1), "word");
    const auto all = ranks.gather(std::string(static_cast<std::size_t>(ranks.rank()), 'x'));
    if (ranks.rank() == 0) EXPECT_EQ(all, (std::vector<std::string>{"", "x", "xx"}));
    else EXPECT_TRUE(all.empty());
  });
}

TEST(Communicator, SplitsLongMessages) {
  EXPECT_TRUE(pieces(0, 10).empty());
  EXPECT_EQ(pieces(10, 10), (std::vector<std::size_t>{10}));
  EXPECT_EQ(pieces(25, 10), (std::vector<std::size_t>{10, 10, 5}));
}

TEST(RankGrid, PartsCoverTheWholeAndAreAlike) {
  for (const std::int64_t extent : {0, 1, 5, 17, 1000})
    for (const std::int64_t parts : {1, 2, 3, 7, 20}) {
      std::int64_t next = 0;
      for (std::int64_t i = 0; i < parts; ++i) {
        const Interval part = nth_part(extent, parts, i);
        ASSERT_EQ(part.first, next);
        ASSERT_GE(part.size(), extent / parts);
        ASSERT_LE(part.size(), (extent + parts - 1) / parts);
        next = part.last;
      }
      ASSERT_EQ(next, extent);
    }
}

TEST(RankGrid, SquareProductsHaveSquareGrids) {
  for (const int side : {1, 2, 3, 4, 8, 32}) {
    const RankGrid grid = best_grid({9600, 9600, 9600}, side * side);
    EXPECT_EQ(grid.rows, side);
    EXPECT_EQ(grid.cols, side);
  }
  const RankGrid eight = best_grid({9600, 9600, 9600}, 8);
  EXPECT_EQ(eight.rows, 2);
  EXPECT_EQ(eight.cols, 4);
}

// The bytes counted rank by rank equal the formula.
TEST(RankGrid, TheFormulaCountsWhatEveryRankLacks) {
  for (const ProductSize& size :
       {ProductSize{1000, 700, 300, 4, 4}, ProductSize{13, 17, 5, 1, 8}, ProductSize{7, 7, 0, 4, 4}})
    for (const RankGrid& grid :
         {RankGrid{1, 1}, RankGrid{2, 3}, RankGrid{3, 2}, RankGrid{1, 5}, RankGrid{6, 1}}) {
      double bytes = 0, most = 0;
      for (int rank = 0; rank < grid.ranks(); ++rank) {
        const auto m = nth_part(size.m, grid.rows, grid.row_of(rank)).size(),
                   n = nth_part(size.n, grid.cols, grid.col_of(rank)).size();
        const double before = bytes;
        const Panels left(size.k, 1, grid.cols), right(size.k, 1, grid.rows);
        for (std::int64_t panel = 0; panel < left.count(); ++panel) {
          const auto depth = left.range(panel).size();
          if (left.owner(panel) != grid.col_of(rank))
            bytes += static_cast<double>(m * depth * size.left_bytes);
          if (right.owner(panel) != grid.row_of(rank))
            bytes += static_cast<double>(n * depth * size.right_bytes);
        }
        most = std::max(most, bytes - before);
      }
      // The formula assumes equal shares of the owners.
      const double wanted = size.k % 30 == 0 ? received_by_one(size, grid) : most;
      EXPECT_NEAR(most, wanted, most * 1e-12);
      EXPECT_EQ(bytes, received_bytes(size, grid)) << grid.rows << " × " << grid.cols;
    }
}

TEST(RankGrid, NoAdmissibleGridCommunicatesLess) {
  for (const ProductSize& size :
       {ProductSize{4096, 4096, 4096, 4, 4}, ProductSize{100000, 64, 512, 8, 8},
        ProductSize{64, 100000, 512, 8, 8}, ProductSize{3, 50, 9, 4, 4}, ProductSize{1, 1, 10, 4, 4}})
    for (int ranks = 1; ranks <= 40; ++ranks) {
      const RankGrid best = best_grid(size, ranks);
      ASSERT_LE(best.ranks(), ranks);
      ASSERT_LE(best.rows, size.m);
      ASSERT_LE(best.cols, size.n);
      double smallest = 1e300;
      for (int p = 1; p <= std::min<std::int64_t>(ranks, size.m); ++p)
        for (int q = 1; q <= std::min<std::int64_t>(ranks / p, size.n); ++q)
          smallest = std::min(smallest, largest_block(size, {p, q}));
      ASSERT_LE(largest_block(size, best), smallest * 9 / 8);
      for (int p = 1; p <= std::min<std::int64_t>(ranks, size.m); ++p)
        for (int q = 1; q <= std::min<std::int64_t>(ranks / p, size.n); ++q)
          ASSERT_TRUE(largest_block(size, {p, q}) > smallest * 9 / 8 ||
                      received_by_one(size, best) <= received_by_one(size, {p, q}))
              << ranks << ": " << p << " × " << q;
    }
}

TEST(RankGrid, LongProductsAreCutAlongTheirLength) {
  EXPECT_EQ(best_grid({100000, 100, 100}, 6).rows, 6);
  EXPECT_EQ(best_grid({100, 100000, 100}, 6).cols, 6);
}

TEST(RankGrid, OmitsRanksWithoutWork) {
  EXPECT_EQ(best_grid({1, 1, 100}, 4).ranks(), 1);
  EXPECT_EQ(best_grid({2, 1, 100}, 4).ranks(), 2);
  EXPECT_EQ(best_grid({3, 1, 100}, 8).rows, 3);
  EXPECT_EQ(best_grid({0, 5, 100}, 4).rows, 1);
  EXPECT_EQ(best_grid({0, 0, 0}, 4).rows, 1);
  EXPECT_EQ(best_grid({9600, 9600, 9600}, 7).ranks(), 7);
  EXPECT_EQ(best_grid({9600, 9600, 9600}, 11).ranks(), 10);
}

// Larger elements on one side change the shape of the grid.
TEST(RankGrid, BytesAndNotElementsCount) {
  const RankGrid cheap_left = best_grid({9600, 9600, 9600, 1, 8}, 8);
  EXPECT_EQ(cheap_left.rows, 1);
  EXPECT_EQ(cheap_left.cols, 8);
}

TEST(Panels, EveryPieceBelongsToOne) {
  for (const std::int64_t extent : {0, 1, 63, 64, 65, 1000})
    for (const int owners : {1, 2, 3, 7}) {
      const Panels panels(extent, 64, owners);
      ASSERT_GE(panels.count(), 1);
      std::int64_t next = 0;
      for (std::int64_t panel = 0; panel < panels.count(); ++panel) {
        ASSERT_EQ(panels.range(panel).first, next);
        next = panels.range(panel).last;
        const Interval owned = panels.owned(panels.owner(panel));
        ASSERT_TRUE(owned.first <= panel && panel < owned.last);
      }
      ASSERT_EQ(next, extent);
    }
}

}  // namespace
}  // namespace tessera
