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
};
std::vector<LaunchGroup> groups_of(const Record& record);

// What one line of a launch asks of one array.
struct LineCost {
  std::string file, space, act, array;
  int line = 0;
  std::int64_t width = 0;        // bytes of an access, the widest
  std::int64_t array_bytes = 0;  // 0: not known
  std::int64_t requests = 0, divergent = 0, accesses = 0, bytes = 0, distinct_bytes = 0;
  std::int64_t sectors = 0, ideal_sectors = 0, wavefronts = 0, ideal_wavefronts = 0;

  bool global() const { return space == "global"; }
  std::int64_t conflicts() const { return wavefronts - ideal_wavefronts; }
};
std::vector<LineCost> costs_of(const Json& launch);  // by file, line, space, act and array

// A cost that can be avoided. `what`: uncoalesced, bank_conflicts, divergent, occupancy, repeated_loads.
struct Advice {
  std::string what, file, array, kernel, text, remedy;
  int line = 0;
};
std::vector<Advice> advice_of(const std::vector<LaunchGroup>& launches);
Json to_json(const std::vector<Advice>& advice);

std::string launches_table(const std::vector<LaunchGroup>& launches);
std::string lines_table(const Json& launch);   // "" without accesses
std::string arrays_table(const Json& launch);  // "" without accesses
std::string findings_text(const std::vector<Json>& findings);
std::string advice_text(const std::vector<Advice>& advice);

// How the first traced launch of each of two kernels differs. Throws Error where one was not traced.
std::string why_text(const std::vector<LaunchGroup>& launches, const std::string& before,
                     const std::string& after);

// A line of a source file without the blanks around it; "" where there is none.
std::string source_line(const std::string& file, int line);

}  // namespace tessera::frontend
