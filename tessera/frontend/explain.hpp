// SPDX-License-Identifier: Apache-2.0
// What the record of a program's launches says, for people: tables of launches, lines and arrays, findings
// with their source, advice on what costs, and two kernels compared in words. The record's form is told in
// runtime/launch_record.hpp. Nothing here depends on time, so that two traces print the same.
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
  std::map<std::int64_t, std::int64_t> repeated;  // how often a launch was not run again
  std::vector<std::string> notes;
};

Record read_record(const std::string& path);

// Launches that differ in nothing but their number; one that was traced stands for all.
struct LaunchGroup {
  const Json* launch = nullptr;
  std::int64_t times = 0;
  std::int64_t whole = 0;  // of them, those of which every block was traced, or that repeat such a one
};
std::vector<LaunchGroup> groups_of(const Record& record);

// The request of a warp that cost most.
struct Request {
  std::int64_t cost = 0;  // sectors or wavefronts; 0: it is not known
  std::int64_t launch = 0, warp = 0;
  std::int64_t width = 0;             // bytes of an access
  std::vector<std::int64_t> block;    // its index
  std::vector<std::int64_t> offsets;  // of each lane, bytes from where the array begins; -1: it is idle
  std::int64_t start = 0;             // of the array, in 128 bytes of memory
  std::int64_t element_bytes = 0, array_bytes = 0;
  std::vector<std::int64_t> extents;
};

// What one line asks of one array.
struct LineCost {
  std::string file, space, act, array;
  int line = 0;
  std::int64_t width = 0;        // bytes of an access, the widest
  std::int64_t array_bytes = 0;  // 0: not known
  std::int64_t requests = 0, divergent = 0, accesses = 0, bytes = 0, distinct_bytes = 0;
  std::int64_t sectors = 0, ideal_sectors = 0, wavefronts = 0, ideal_wavefronts = 0;
  Request dearest;

  bool global() const { return space == "global"; }
  bool shared() const { return space == "shared"; }
  std::int64_t conflicts() const { return wavefronts - ideal_wavefronts; }
};
std::vector<LineCost> costs_of(const Json& launch);  // by file, line, space, act and array
std::vector<LineCost> costs_of(const std::vector<LaunchGroup>& launches);  // each group's launch, added

// A cost that can be avoided. `what`: uncoalesced, bank_conflicts, divergent, occupancy, repeated_loads.
struct Advice {
  std::string what, file, array, kernel, text, remedy;
  int line = 0;
};
std::vector<Advice> advice_of(const std::vector<LaunchGroup>& launches);
Json to_json(const std::vector<Advice>& advice);

report::Table launches_table(const std::vector<LaunchGroup>& launches);
report::Table lines_table(const std::vector<LineCost>& costs);
report::Table arrays_table(const Json& launch);

// A finding or an advice, as a compiler says what it has to say of a line.
struct Remark {
  std::string kind;  // error, warning, cost
  std::string what, kernel, text, remedy, file, other_file;
  int line = 0, other_line = 0;  // 0: none

  std::string head() const;  // "error: race in sum"
};
std::vector<Remark> remarks_of(const std::vector<Json>& findings);
std::vector<Remark> remarks_of(const std::vector<Advice>& advice);
std::string to_string(const std::vector<Remark>& remarks);  // with their lines of source

// "file.cu:12"; "" without a line.
std::string place_of(const std::string& file, int line);

// How the first traced launch of each of two kernels differs. Throws Error where one was not traced.
std::string why_text(const std::vector<LaunchGroup>& launches, const std::string& before,
                     const std::string& after);

// A line of a source file without the blanks around it; "" where there is none.
std::string source_line(const std::string& file, int line);

}  // namespace tessera::frontend
