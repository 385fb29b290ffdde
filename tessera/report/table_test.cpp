// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <limits>
#include "tessera/core/error.hpp"
#include "tessera/report/table.hpp"

namespace tessera::report {
namespace {

TEST(Table, AlignsByCharactersNotBytes) {
  Table table({{"name", Table::Align::left}, {"× all"}});
  table.add({"µ", "1.5"});
  table.add_rule();
  table.add({"longer", ""});
  EXPECT_EQ(table.text(), "name    × all\n-------------\nµ         1.5\n-------------\nlonger    n/a\n");
  EXPECT_THROW(table.add({"one cell"}), Error);
}

TEST(Table, LeavesOutOptionalColumnsWithoutAValue) {
  const std::vector<Table::Column> columns{{"a"}, {"b", Table::Align::right, true}, {"c"}};
  Table without(columns);
  without.add({"1", "", ""});
  without.add_rule();
  EXPECT_EQ(without.text(), "a    c\n------\n1  n/a\n------\n");
  Table with(columns);
  with.add({"1", "", "3"});
  with.add({"1", "2", "3"});
  EXPECT_EQ(with.text(), "a    b  c\n---------\n1  n/a  3\n1    2  3\n");
}

TEST(Table, WhatIsMissingIsNeverZero) {
  EXPECT_EQ(number(std::nullopt), "n/a");
  EXPECT_EQ(number(std::numeric_limits<double>::quiet_NaN()), "n/a");
  EXPECT_EQ(seconds(std::nullopt), "n/a");
}

TEST(Table, NumbersKeepThreeToFourDigits) {
  EXPECT_EQ(number(1234.5), "1234");
  EXPECT_EQ(number(12.345), "12.35");
  EXPECT_EQ(number(0.13), "0.130");
  EXPECT_EQ(number(1e-9), "1.00e-09");
  EXPECT_EQ(seconds(0.0021), "2.100 ms");
  EXPECT_EQ(seconds(2.5e-6), "2.500 µs");
  EXPECT_EQ(bytes(48 * 1024), "48 KiB");
}

}  // namespace
}  // namespace tessera::report
