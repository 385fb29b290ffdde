// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include "tessera/core/text/error.hpp"
#include "tessera/report/document.hpp"

namespace tessera::report {
namespace {

std::string file(const std::string& row, const std::string& kind = "bench") {
  return R"({"schema": 1, "kind": ")" + kind + R"(", "operation": "product", "rows": [)" + row + "]}";
}

std::string failure(const std::string& text) {
  try {
    parse_document("some.json", text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::user);
    return error.what();
  }
  return "it was read";
}

TEST(Document, ReadsWhatBenchWrites) {
  const Document read =
      parse_document("some.json", file(R"({"dims": {"k": 8, "m": 4, "n": 4}, "element": "f32",
    "ladder": "gpu", "place": 5, "variant": "tiles", "tuning": {"tile": 16}, "device": "cuda:0", "seconds": [0.5],
    "samples": 3, "median": 0.5, "q1": 0.4, "q3": 0.6, "gflops": 2, "bytes": 5e8, "verified": "ok", "ratio_previous": null})"));
  const Entry& row = read.rows.at(0);
  EXPECT_EQ(row.rung(), "05 tiles");
  EXPECT_EQ(to_string(row.dims), "m = n = 4, k = 8");
  EXPECT_EQ(row.tuning["tile"], 16);
  EXPECT_DOUBLE_EQ(*row.work(), 1e9);
  EXPECT_DOUBLE_EQ(*row.intensity(), 2);
  EXPECT_NEAR(*row.spread(), 0.2, 1e-12);
  EXPECT_FALSE(row.ratio_previous);
  EXPECT_FALSE(row.roofline);
  EXPECT_TRUE(row.counts());
}

TEST(Document, ReadsWhatTraceWrites) {
  const Document read = parse_document("some.json", file(R"({"variant": "tiles", "counters": {"barriers": 7},
    "lines": [{"file": "k.cu", "line": 3, "text": "x", "global_load.sectors": 4}],
    "findings": [{"kind": "race", "file": "k.cu", "line": 3, "text": "y"}]})",
                                                         "trace"));
  const Entry& row = read.rows.at(0);
  EXPECT_EQ(row.counter("barriers"), 7);
  EXPECT_FALSE(row.counter("requests"));
  EXPECT_EQ(row.lines.at(0).counters, (Counters{{"global_load.sectors", 4}}));
  EXPECT_EQ(row.findings.at(0).kind, "race");
  EXPECT_FALSE(row.counts());
}

TEST(Document, MergesTheAccessesOfASourceLine) {
  const Document read = parse_document("some.json", file(R"({"variant": "tiles", "lines": [
    {"file": "k.cu", "line": 3, "text": "x", "kind": "global_load", "width": 4, "requests": 8, "sectors": 32, "sectors_per_request": 4},
    {"file": "k.cu", "line": 3, "text": "x", "kind": "global_load", "width": 4, "requests": 8, "sectors": 8, "sectors_per_request": 1},
    {"file": "k.cu", "line": 3, "text": "x", "kind": "shared_store", "width": 4, "requests": 8}]})",
                                                         "trace"));
  ASSERT_EQ(read.rows.at(0).lines.size(), 1u);
  EXPECT_EQ(
      read.rows.at(0).lines[0].counters,
      (Counters{{"global_load.requests", 16}, {"global_load.sectors", 40}, {"shared_store.requests", 8}}));
}

TEST(Document, CeilingsComeFromTheDevice) {
  const Document read = parse_document("some.json", R"({"schema": 1, "kind": "bench", "rows": [],
    "devices": [{"label": "cuda:0", "ceilings": {"memory_gbps": 4000, "gflops": {"f32": 60000}}}]})");
  ASSERT_NE(read.device("cuda:0"), nullptr);
  EXPECT_EQ(read.device("cuda:0")->memory_gbps, 4000);
  EXPECT_EQ(read.device("cuda:0")->gflops.at("f32"), 60000);
  EXPECT_EQ(read.device("cuda:1"), nullptr);
}

TEST(Document, NamesTheFileThePlaceAndTheReason) {
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"", "parse error"},
           {"[]", "it is not an object"},
           {R"({"schema": 9, "kind": "bench", "rows": []})", "its schema is 9"},
           {R"({"schema": 1.5, "kind": "bench", "rows": []})", "schema is not a whole number"},
           {R"({"schema": 1, "rows": []})", "kind is missing"},
           {R"({"schema": 1, "kind": "song", "rows": []})", "'song'"},
           {R"({"schema": 1, "kind": "bench", "rows": {}})", "rows is not a list"},
           {file("[]"), "rows[0] is not an object"},
           {file("{}"), "rows[0].variant is missing"},
           {file(R"({"variant": 3})"), "rows[0].variant is not text"},
           {file(R"({"variant": "a", "median": "1"})"), "rows[0].median is not a number"},
           {file(R"({"variant": "a", "median": 0})"), "rows[0].median is not a time"},
           {file(R"({"variant": "a", "dims": {"m": 0.5}})"), "rows[0].dims.m"},
           {file(R"({"variant": "a", "tuning": {"x": 99999999999}})"), "rows[0].tuning.x"},
           {file(R"({"variant": "a", "serial": 1})"), "rows[0].serial"},
           {file(R"({"variant": "a", "lines": [4]})", "trace"), "rows[0].lines[0]"},
           {file(R"({"variant": "a", "split": [{}]})"), "rows[0].split[0].device is missing"}}) {
    EXPECT_NE(failure(text).find("'some.json'"), std::string::npos) << text;
    EXPECT_NE(failure(text).find(reason), std::string::npos) << failure(text);
  }
  EXPECT_THROW(read_document("/no/such/file.json"), Error);
}

TEST(Document, ShowsOtherDocumentsAsTables) {
  const Document read = parse_document("v.json", R"({"schema": 1, "kind": "verify", "rows":
    [{"variant": "a", "passed": 4}, {"variant": "b", "failed": 1, "deep": {"x": 1}}]})");
  EXPECT_EQ(read.columns, (std::vector<std::string>{"variant", "passed", "failed"}));
  EXPECT_EQ(read.cells.at(1).at(0).text, "b");
  EXPECT_EQ(read.cells.at(1).at(1).text, "");
  EXPECT_EQ(read.cells.at(1).at(2).value, 1);
  for (const char* kind : {"compare", "code", "agreement"})
    EXPECT_EQ(
        parse_document("v.json", std::string(R"({"schema": 1, "rows": [{"a": 1}], "kind": ")") + kind + "\"}")
            .columns.size(),
        1u);
}

}  // namespace
}  // namespace tessera::report
