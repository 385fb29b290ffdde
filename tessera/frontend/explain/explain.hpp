// SPDX-License-Identifier: Apache-2.0
// Reports on the record of a program's launches: tables of launches, lines and arrays, findings with their
// source, advice on costs, and a comparison of two kernels in words. runtime/launch/launch_record.hpp has the
// record's format. Nothing here depends on time, so two traces print the same text.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>
#include "tessera/report/table.hpp"

namespace tessera::frontend {

using Json = nlohmann::ordered_json;

struct Record {
  std::vector<Json> launches, findings;
  std::map<std::int64_t, std::int64_t> repeated;  // by launch: its repeats that were not run
  std::vector<std::string> notes;
};

// Findings come with a remedy, one race for each cause, errors first.
Record read_record(const std::string& path);

// Launches that differ only in their number; a traced one represents all.
struct LaunchGroup {
  const Json* launch = nullptr;
  std::int64_t times = 0;
  std::int64_t whole = 0;  // launches with every block traced, and repeats of such launches
};
std::vector<LaunchGroup> groups_of(const Record& record);

// The most expensive request of a warp.
struct Request {
  std::int64_t cost = 0;  // sectors or wavefronts; 0: unknown
  std::int64_t launch = 0, warp = 0;
  std::int64_t width = 0;             // bytes of an access
  std::vector<std::int64_t> block;    // its index
  std::vector<std::int64_t> offsets;  // by lane, in bytes from the array's start; -1: idle
  std::int64_t start = 0;             // the array's offset in a 128-byte line
  std::int64_t element_bytes = 0, array_bytes = 0;
  std::vector<std::int64_t> extents;
};

// The cost of one source line's accesses to one array.
struct LineCost {
  std::string file, space, act, array;
  int line = 0;
  std::int64_t width = 0;        // bytes of an access, the widest
  std::int64_t array_bytes = 0;  // 0: unknown
  std::int64_t requests = 0, divergent = 0, spaced = 0, accesses = 0, bytes = 0, distinct_bytes = 0;
  std::int64_t sectors = 0, ideal_sectors = 0, wavefronts = 0, ideal_wavefronts = 0;
  Request costliest;

  bool global() const { return space == "global"; }
  bool shared() const { return space == "shared"; }
  std::int64_t conflicts() const { return wavefronts - ideal_wavefronts; }
};
std::vector<LineCost> costs_of(const Json& launch);  // by file, line, space, act and array
std::vector<LineCost> costs_of(const std::vector<LaunchGroup>& launches);  // summed over the groups

// A cost that can be avoided. `what`: uncoalesced, bank_conflicts, serialised_atomics, divergent, occupancy,
// repeated_loads.
struct Advice {
  std::string what, file, array, kernel, text, remedy;
  int line = 0;
  std::vector<std::string> others = {};  // more arrays of the line
};
std::vector<Advice> advice_of(const std::vector<LaunchGroup>& launches);
Json to_json(const std::vector<Advice>& advice);

report::Table launches_table(const std::vector<LaunchGroup>& launches);
report::Table lines_table(const std::vector<LineCost>& costs);
report::Table arrays_table(const Json& launch);

// A finding or a piece of advice, in the form of a compiler's message.
struct Remark {
  std::string kind;  // error, warning, cost
  std::string what, kernel, text, remedy, file, other_file;
  int line = 0, other_line = 0;  // 0: none
  std::string also;              // other pairs of lines with the same cause

  std::string head() const;  // "error: race in sum"
};
std::vector<Remark> remarks_of(const std::vector<Json>& findings);
std::vector<Remark> remarks_of(const std::vector<Advice>& advice);
// With their lines of source; `coloured`: kinds in a terminal's colours.
std::string to_string(const std::vector<Remark>& remarks, bool coloured = false);
// Returns "2 errors, 3 costs; begin with line 17 of a.cu", or "nothing was found".
std::string summary_of(const std::vector<Remark>& remarks);

// Returns "file.cu:12"; "" without a line.
std::string place_of(const std::string& file, int line);

// Explains how the first traced launches of two kernels differ. Throws Error if one was not traced.
std::string why_text(const std::vector<LaunchGroup>& launches, const std::string& before,
                     const std::string& after);

// Returns a line of a source file without surrounding blanks; "" if there is none.
std::string source_line(const std::string& file, int line);

}  // namespace tessera::frontend
