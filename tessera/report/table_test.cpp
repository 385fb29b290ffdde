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

TEST(Table, FitsTheWidthByDroppingDetailsThenByShorteningText) {
  const auto text = [](std::size_t width) {
    Table table({{"name", Table::Align::left},
                 {"time"},
                 {"clock", Table::Align::right, false, 2},
                 {"rate", Table::Align::right, false, 1}});
    table.add({"a name of thirty characters ...", "1", "2", "3"});
    fit_tables(width);
    std::string out = table.text();
    fit_tables(0);
    return out;
  };
  EXPECT_NE(text(0).find("clock  rate\n"), std::string::npos);
  EXPECT_EQ(text(0), text(50));
  const std::string narrower = text(49), narrow = text(37), least = text(20);
  EXPECT_EQ(narrower.find("clock"), std::string::npos);
  EXPECT_NE(narrower.find("time  rate\n"), std::string::npos);
  EXPECT_NE(narrower.find("one column left out; --wide shows it"), std::string::npos);
  EXPECT_EQ(narrow.find("rate"), std::string::npos);
  EXPECT_NE(narrow.find("a name of thirty characters ...     1\n"), std::string::npos);
  EXPECT_NE(least.find("a name of thi…     1\n"), std::string::npos) << least;
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
