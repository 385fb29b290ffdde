// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include "tessera/report/bench_tables.hpp"

namespace tessera::report {
namespace {

const Variant& variant() {
  static const Variant out = [] {
    Variant v;
    v.ladder = "gpu";
    v.name = "swept";
    return v;
  }();
  return out;
}

bench::Row row(Tuning tuning, double seconds) {
  bench::Row out;
  out.variant = &variant();
  out.tuning = std::move(tuning);
  out.device.where = Where::cuda;
  out.flops = 1e9;
  if (seconds > 0) out.seconds = {seconds};
  return out;
}

TEST(TwoWayTable, OneAgainstTheOther) {
  std::vector<bench::Row> rows{row({{"x", 16}, {"y", 2}}, 0.5), row({{"x", 16}, {"y", 10}}, 0.25),
                               row({{"x", 4}, {"y", 2}}, 1), row({{"x", 4}, {"y", 10}}, 0)};
  rows[3].reason = "needs too many threads";
  rows[0].verified = rows[1].verified = bench::Verified::ok;
  rows[0].error_over_bound = 0.25;
  rows[1].error_over_bound = 0.125;
  EXPECT_EQ(two_way_table(rows, {"y"}, "x"),
            "GFLOP/s\n"
            "y \\ x        4      16\n"
            "----------------------\n"
            "2        1.000   2.000\n"
            "10     n/a (1)  *4.000\n"
            "* the fastest\n"
            "2 of 3 verified; largest error/bound 0.25\n"
            "(1) needs too many threads\n");
}

TEST(TwoWayTable, SeveralDownAndHoles) {
  const std::vector<bench::Row> rows{row({{"u", 0}, {"p", 0}, {"tile", 8}}, 1),
                                     row({{"u", 1}, {"p", 0}, {"tile", 8}}, 2),
                                     row({{"u", 1}, {"p", 1}, {"tile", 16}}, 4)};
  EXPECT_EQ(two_way_table(rows, {"u", "p"}, "tile"),
            "GFLOP/s\n"
            "u  p   tile=8  tile=16\n"
            "----------------------\n"
            "0  0   *1.000  n/a (1)\n"
            "1  0    0.500  n/a (1)\n"
            "1  1  n/a (1)    0.250\n"
            "* the fastest\n"
            "none was verified\n"
            "(1) not among the configurations\n");
}

TEST(TwoWayTable, WhatElseDiffersMakesTables) {
  const std::vector<bench::Row> rows{row({{"x", 1}, {"y", 1}, {"z", 1}}, 1),
                                     row({{"x", 1}, {"y", 1}, {"z", 2}}, 0.5)};
  const std::string text = two_way_table(rows, {"y"}, "x");
  EXPECT_NE(text.find("GFLOP/s, z 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("GFLOP/s, z 2\n"), std::string::npos) << text;
  EXPECT_EQ(differing(rows, "x"), std::vector<std::string>{"z"});
}

TEST(TwoWayTable, WrongIsNeverTheFastest) {
  std::vector<bench::Row> rows{row({{"x", 1}, {"y", 1}}, 0.1), row({{"x", 2}, {"y", 1}}, 1)};
  rows[0].verified = bench::Verified::wrong;
  rows[0].finding = "wrong result: everywhere\n";
  const std::string text = two_way_table(rows, {"y"}, "x");
  EXPECT_NE(text.find("WRONG  *1.000"), std::string::npos) << text;
  EXPECT_NE(text.find("everywhere"), std::string::npos);
}

TEST(TwoWayTable, TimesInsteadOfRates) {
  const std::vector<bench::Row> rows{row({{"x", 1}, {"y", 1}}, 0.1)};
  EXPECT_NE(two_way_table(rows, {"y"}, "x", true).find("*100.0 ms"), std::string::npos);
  EXPECT_EQ(two_way_table(rows, {"y"}, "x", true).find("GFLOP/s"), std::string::npos);
}

TEST(TwoWayTable, TimeWhereNothingIsCounted) {
  std::vector<bench::Row> rows{row({{"x", 1}, {"y", 1}}, 0.1)};
  rows[0].flops = 0;
  EXPECT_NE(two_way_table(rows, {"y"}, "x").find("*100.0 ms"), std::string::npos);
  rows[0].bytes = 1e9;
  EXPECT_NE(two_way_table(rows, {"y"}, "x").find("*10.00"), std::string::npos);
}

}  // namespace
}  // namespace tessera::report
