// SPDX-License-Identifier: Apache-2.0
// The tables and sentences that commands print, of made-up rows.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include "tessera/bench/result.hpp"
#include "tessera/bench/trace.hpp"
#include "tessera/core/text/error.hpp"
#include "tessera/report/bench_tables.hpp"
#include "tessera/report/table.hpp"
#include "tessera/report/trace_table.hpp"

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

TEST(Table, AShortenedPlaceKeepsItsLine) {
  Table table({{"line", Table::Align::place}, {"requests"}});
  table.add({"05_shared_tiles.cu:14", "1"});
  table.add({" ", "2"});
  fit_tables(24);
  const std::string text = table.text();
  fit_tables(0);
  EXPECT_NE(text.find("…d_tiles.cu:14         1\n"), std::string::npos) << text;
  EXPECT_EQ(end_of("µµ:7", 3), "…:7");
  EXPECT_EQ(end_of("µµ:7", 4), "µµ:7");
}

TEST(Table, MissingValuesAreNotZero) {
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

class BenchTables : public testing::Test {
 protected:
  BenchTables() {
    first_.ladder = second_.ladder = library_.ladder = "gpu";
    first_.name = "first";
    first_.place = 1;
    second_.name = "second";
    second_.place = 2;
    library_.name = "library";
    library_.baseline = true;
    rows_ = {row(library_, {2, 2, 2, 2, 2}), row(first_, {7.8, 8, 8, 8, 8.2}), row(second_, {4, 4, 4, 4, 4})};
  }

  static bench::Row row(const Variant& variant, std::vector<double> seconds) {
    bench::Row out;
    out.variant = &variant;
    out.dims = {{"m", 3}};
    out.flops = 6e9;
    out.bytes = 4e9;
    out.seconds = std::move(seconds);
    out.verified = bench::Verified::ok;
    return out;
  }

  Variant first_, second_, library_;
  std::vector<bench::Row> rows_;
};

TEST_F(BenchTables, TheClosingSentencePropagatesBothSpreads) {
  const bench::Ratio ratio = bench::ratio_of(bench::summarize({9, 10, 11}), bench::summarize({19, 20, 21}));
  EXPECT_DOUBLE_EQ(ratio.value, 2);
  EXPECT_DOUBLE_EQ(ratio.error, 2 * std::hypot(0.05, 0.025));
  const auto text = bench::summary_of(rows_);
  ASSERT_EQ(text.size(), 1u);
  EXPECT_EQ(text[0],
            "second ran 2.00 ± 0.00 times faster than first, 0.50 ± 0.00 times as fast as library on "
            "cpu:threads=1.");
  rows_[2].verified = bench::Verified::wrong;
  EXPECT_EQ(bench::summary_of(rows_)[0].substr(0, 5), "first");
  rows_.resize(1);
  EXPECT_TRUE(bench::summary_of(rows_).empty());
}

TEST_F(BenchTables, ReasonsAreListedOnceAndLongListsAreCut) {
  bench::Row row = rows_[0];
  row.seconds.clear();
  row.reason = "needs 2048 threads, the limit is 1024";
  const std::vector<bench::Row> same(3, row);
  EXPECT_EQ(reasons_of(same), "not run: " + name_of(row) + ": needs 2048 threads, the limit is 1024\n");
  std::vector<bench::Row> many;
  for (int i = 0; i < 9; ++i) {
    many.push_back(row);
    many.back().tuning.set("x", 1 << i);
    many.back().reason = "needs " + std::to_string(2048 << i) + " threads, the limit is 1024";
  }
  const std::string text = reasons_of(many);
  EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
  EXPECT_NE(text.find("x=1; "), std::string::npos) << text;
  EXPECT_NE(text.find("and 5 more: needs 2048 threads, the limit is 1024, and the like"), std::string::npos)
      << text;
  many.resize(2);
  const std::string two = reasons_of(many);
  EXPECT_NE(two.find("x=2: needs 4096 threads"), std::string::npos) << "few are told exactly: " << two;
}

TEST_F(BenchTables, WarningsNameARemedy) {
  EXPECT_TRUE(bench::warnings(rows_).empty());
  rows_[0].seconds.clear();
  rows_[0].reason = "not installed";
  rows_[1].seconds = {5, 6, 8, 11, 12};
  rows_[2].seconds = {4};
  rows_[2].ceilings = {.bytes_per_second = 1e8, .flops_per_second = {{Element::f32, 1e12}}};
  const auto text = bench::warnings(rows_);
  ASSERT_EQ(text.size(), 4u);
  for (std::size_t i = 0; const char* remedy : {"not installed", "--cold", "--time", "--reps"})
    EXPECT_NE(text[i++].find(remedy), std::string::npos) << remedy;
}

TEST_F(BenchTables, DoesNotWarnIfOneBaselineIsInstalled) {
  Variant other = library_;
  other.name = "other";
  rows_.push_back(row(other, {}));
  rows_.back().reason = "not installed";
  rows_.back().verified = bench::Verified::unchecked;
  EXPECT_TRUE(bench::warnings(rows_).empty());
  rows_.back().device.where = Where::simt;
  ASSERT_EQ(bench::warnings(rows_).size(), 1u) << "of another device";
  EXPECT_NE(bench::warnings(rows_)[0].find("no baseline: not installed"), std::string::npos);
}

TEST_F(BenchTables, TheRooflineIsTheLowestCeiling) {
  bench::Row& row = rows_[2];  // 4 s
  EXPECT_FALSE(row.roofline());
  row.ceilings = {.bytes_per_second = 2e9, .flops_per_second = {{Element::f32, 6e9}}};
  EXPECT_TRUE(row.roofline()->memory);
  EXPECT_DOUBLE_EQ(row.roofline()->fraction, 0.5);
  row.ceilings.flops_per_second[Element::f32] = 2e9;
  EXPECT_FALSE(row.roofline()->memory);
  EXPECT_DOUBLE_EQ(row.roofline()->fraction, 0.75);
  row.fma_rates = {1.5e9};  // seen beside the samples
  EXPECT_DOUBLE_EQ(row.roofline()->fraction, 1);
  row.fma_rates.clear();
  row.element = Element::f64;  // no ceiling for it
  EXPECT_FALSE(row.roofline());
}

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

TEST(TwoWayTable, ShowsOneParameterAgainstAnother) {
  std::vector<bench::Row> rows{row({{"x", 16}, {"y", 2}}, 0.5), row({{"x", 16}, {"y", 10}}, 0.25),
                               row({{"x", 4}, {"y", 2}}, 1), row({{"x", 4}, {"y", 10}}, 0)};
  rows[3].reason = "needs too many threads";
  rows[0].verified = rows[1].verified = bench::Verified::ok;
  rows[0].error_over_bound = 0.25;
  rows[1].error_over_bound = 0.125;
  EXPECT_EQ(two_way_table(rows, {"y"}, "x"),
            "GFLOP/s\n"
            "y \\ x            4      16\n"
            "--------------------------\n"
            "2            1.000   2.000\n"
            "10     not run (1)  *4.000\n"
            "* the fastest\n"
            "2 of 3 verified; largest error/bound 0.25\n"
            "(1) needs too many threads\n");
}

TEST(TwoWayTable, ShowsSeveralRowsAndGaps) {
  const std::vector<bench::Row> rows{row({{"u", 0}, {"p", 0}, {"tile", 8}}, 1),
                                     row({{"u", 1}, {"p", 0}, {"tile", 8}}, 2),
                                     row({{"u", 1}, {"p", 1}, {"tile", 16}}, 4)};
  EXPECT_EQ(two_way_table(rows, {"u", "p"}, "tile"),
            "GFLOP/s\n"
            "u  p       tile=8      tile=16\n"
            "------------------------------\n"
            "0  0       *1.000  not run (1)\n"
            "1  0        0.500  not run (1)\n"
            "1  1  not run (1)        0.250\n"
            "* the fastest\n"
            "none was verified\n"
            "(1) not among the configurations\n");
}

TEST(TwoWayTable, MakesATableForEachOtherParameter) {
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

// What a trace says beside its counters: of rungs that it cannot trace, and of what it may have overlooked.
class TraceTable : public testing::Test {
 protected:
  TraceTable() {
    first_.ladder = second_.ladder = "gpu";
    first_.name = "first";
    second_.name = "second";
    before_.plan.variant = &first_;
    after_.plan.variant = &second_;
    before_.threads = 32;
    before_.blocks = before_.blocks_run = 1;
    before_.code = code(40, {.of32 = 12}, 0, 1000);
    after_.absent = "runs on cuda, not on simt";
    after_.code = code(168, {.of128 = 6}, 4, 560);
  }

  static bench::KernelCode code(int registers, bench::Widths shared_load, int matrix_load, int instructions) {
    bench::KernelCode out;
    out.registers = registers;
    out.shared_load = shared_load;
    out.global_load.of32 = 2;
    out.matrix_load = matrix_load;
    out.instructions = instructions;
    out.fma32 = 100;
    out.local_store.of32 = registers > 100 ? 3 : 0;
    return out;
  }

  static void see(bench::Traced& traced, simt::Space space, simt::Act act) {
    traced.lines.emplace_back();
    traced.lines.back().space = space;
    traced.lines.back().act = act;
    traced.lines.back().counts.requests = 1;
  }

  Variant first_, second_;
  bench::Traced before_, after_;
};

void expect_in(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " is not in:\n" << text;
}

TEST_F(TraceTable, UsesCompiledCodeForUntraceableRungs) {
  const std::string text = why(before_, after_);
  for (const char* part :
       {"second against first, by the compiler's code alone:", "multiply-add: 5.6 instead of 10",
        "shared loads in the code, by bits: 6×128 instead of 12×32",
        "matrix loads of shared memory in the code: 4 instead of 0",
        "registers of a thread: 168 instead of 40", "spills in the code: 3 instead of 0",
        "accesses were not counted: second runs on cuda, not on simt"})
    expect_in(part, text);
  const std::string table = trace_table({before_, after_});
  const std::string row = table.substr(table.find("gpu/second"));
  for (const char* cell : {" 168 ", " 3 ", " 6×128 ", " 5.6"}) expect_in(cell, row);
  expect_in("gpu/second: runs on cuda, not on simt: there is no count of its accesses",
            notes({before_, after_}));
  expect_in("of the GPU code", notes({after_}));
}

TEST_F(TraceTable, ReportsMissingCode) {
  after_.code.reset();
  const std::string text = why(before_, after_);
  expect_in("second runs on cuda", text);
  expect_in("no GPU code of second was found", text);
  EXPECT_EQ(text.find("no GPU code of first"), std::string::npos) << text;
  EXPECT_EQ(text.find("against"), std::string::npos) << text;
}

TEST_F(TraceTable, WarnsOfUnrecordedAccesses) {
  const std::string shared = "gpu/first: its GPU code has 12 loads of shared memory, and the trace saw none";
  const std::string global = "gpu/first: its GPU code has 2 loads of global memory, and the trace saw none";
  expect_in(shared, notes({before_}));
  expect_in(global, notes({before_}));
  see(before_, simt::Space::shared, simt::Act::read);
  EXPECT_EQ(notes({before_}).find(shared), std::string::npos);
  expect_in(global, notes({before_}));
  see(before_, simt::Space::global, simt::Act::atomic);
  EXPECT_EQ(notes({before_}).find("the trace saw none"), std::string::npos) << notes({before_});
}

// A rung of another device, made of one of the executor's: it is not traced, but its code is found.
TEST(Tracing, FindsTheCodeOfARungThatItCannotTrace) {
  for (const Operation& operation : operations())
    for (const Variant* variant : ladder_of(operation.name)) {
      if (variant->where != Where::simt || variant->choices[0].kernels.empty()) continue;
      Variant elsewhere = *variant;
      elsewhere.where = Where::cuda;
      const Choice& choice = elsewhere.choices[0];
      const auto& [element, type] = *choice.kernels.begin();
      bench::KernelCode code;
      code.name = "void entry<" + bench::readable(type) + ", Problem>(Problem)";
      code.architecture = 90;
      code.registers = 77;
      bench::Tracing tracing;
      tracing.code[elsewhere.object] = {code};
      const Device simt = find_backend(Where::simt)->devices().at(0);
      const auto traced = bench::trace(operation, element, operation.cases.at(0),
                                       {&elsewhere, &choice, choice.defaults(), simt}, tracing);
      ASSERT_TRUE(traced.absent);
      ASSERT_TRUE(traced.code);
      EXPECT_EQ(traced.code->registers, 77);
      return;
    }
  FAIL() << "no operation has a kernel";
}

}  // namespace
}  // namespace tessera::report
