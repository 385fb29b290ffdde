// SPDX-License-Identifier: Apache-2.0
// A result file as a report reads it: every field checked, every missing number absent. A file that is
// damaged or of another kind causes an Error that names it, the place in it and the reason.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include "tessera/core/text/expression.hpp"
#include "tessera/core/operation/variant.hpp"

namespace tessera::report {

using Number = std::optional<double>;
// A cell of a table: text, and a number to sort by if there is one.
struct Cell {
  std::string text;  // empty: n/a
  Number value;
  std::string classes;  // "code", "words"
  std::string under;    // beneath it, smaller
  Cell(std::string t = {}, Number v = {}, std::string c = {})
      : text(std::move(t)), value(v), classes(std::move(c)) {}
};

using Counters = std::vector<std::pair<std::string, double>>;  // in the file's order

struct SourceLine {
  std::string file, text;
  int line = 0;
  Counters counters;
};

struct Finding {
  std::string kind, file, text;
  int line = 0;
};

// The part of a shared row that one device computed.
struct Part {
  std::string device;
  Number share, seconds, gflops;
};

// One choice on one problem, on one device.
struct Entry {
  Dims dims;
  std::string element, ladder, variant, device, verified, ceiling, mode, reason;
  std::string previous;  // the rung that ratio_previous refers to; older files lack it
  int place = 0;
  Tuning tuning;
  bool baseline = false, serial = false;
  std::vector<double> seconds;  // samples; empty: a file of another program
  Number median, q1, q3, minimum, p90, samples, round_trip, other_load;
  Number gflops, gbps, flops, bytes, roofline, fma_fraction, clock_mhz, power_w, joules, throttled, occupancy;
  Number blocks, blocks_traced;
  Number ratio_serial, ratio_previous, ratio_baseline, error_over_bound, relative_l2;
  Counters counters;
  std::vector<SourceLine> lines;
  std::vector<Finding> findings;
  std::vector<Part> split;

  bool wrong() const { return verified == "wrong"; }
  bool counts() const { return median.has_value() && !wrong(); }
  Number work() const;       // floating-point operations that the problem needs
  Number intensity() const;  // flops for each byte that the problem needs
  Number spread() const;     // half the interquartile range, as a fraction
  Number counter(const std::string& name) const;
  std::string rung() const;  // "05 shared_tiles"
  std::string time() const;  // "1.20 ms (least 1.15 ms, p90 1.31 ms)"; "not run" if there is none
};

struct DeviceFacts {
  std::string label, name, driver;
  Number memory_gbps;                    // measured
  std::map<std::string, double> gflops;  // measured, by element
};

// A table of a study: measurements beside predictions, and remarks on both.
struct StudiedTable {
  std::string title;
  std::vector<std::string> columns, shows;  // shows: each column's format: digits, seconds, error, ratio
  std::vector<std::vector<std::vector<double>>> rows;  // a cell's numbers; none: n/a
  std::vector<std::string> remarks;
};

struct Document {
  std::string path, kind, operation, caches;
  std::vector<std::pair<std::string, std::string>> provenance;  // known facts, in reading order
  std::vector<DeviceFacts> devices;
  std::vector<Entry> rows;
  // Rows of kinds that are shown verbatim (verify, compare): titles, then cells by column.
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> cells;
  std::vector<StudiedTable> studied;

  const DeviceFacts* device(const std::string& label) const;
};

// True if `compare` would tell by the samples which of the two is faster, or that they are the same.
bool settled(const Entry& a, const Entry& b);
// True if it would call the second one faster.
bool is_faster(const Entry& than, const Entry& entry);

Document read_document(const std::string& path);
Document parse_document(const std::string& path, const std::string& text);  // `path` only for messages

std::string to_string(const Dims& dims);  // "m = n = 4096, k = 64"

}  // namespace tessera::report
