// SPDX-License-Identifier: Apache-2.0
#include "tessera/frontend/runtime/launch/launch_record.hpp"
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include "tessera/bench/code.hpp"
#include "tessera/frontend/runtime/runtime.hpp"
#include "tessera/simt/tracer/symbols.hpp"

namespace tessera_cuda {

using nlohmann::ordered_json;
using tessera::simt::AccessCounts;
using tessera::simt::Act;
using tessera::simt::Space;

namespace {

std::FILE* record_file() {
  static std::FILE* const file = [] {
    const char* const name = std::getenv("TESSERA_CUDA_RECORD");
    return name == nullptr || *name == '\0' ? nullptr : std::fopen(name, "we");
  }();
  return file;
}

void write(const ordered_json& line) {
  if (record_file() == nullptr) return;
  const std::string text = line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  std::fwrite(text.data(), 1, text.size(), record_file());
  std::fflush(record_file());
}

ordered_json list(const tessera::Index3& index) { return {index.x, index.y, index.z}; }

const char* name_of(Act act) { return act == Act::read ? "read" : act == Act::write ? "write" : "atomic"; }

ordered_json occupancy_of(const LaunchRecord& launch) {
  using namespace tessera::bench;
  const Occupancy fits = occupancy(multiprocessor_of(gpu().major * 10 + gpu().minor), launch.shape.threads(),
                                   static_cast<std::int64_t>(launch.static_shared + launch.dynamic_shared));
  return {{"blocks", fits.blocks}, {"warps", fits.warps}, {"fraction", fits.fraction}, {"limit", fits.limit}};
}

// The array that a site accesses, in global or shared memory.
struct Extent {
  std::size_t bytes = 0, element_bytes = 0, start = 0;
  tessera::Extents extents;
};

Extent extent_of(const tessera::simt::SiteCounts& site, const tessera::simt::Tracer& tracer) {
  constexpr std::size_t line_bytes = 128;
  if (site.space == Space::shared) {
    const auto variable = tracer.shared_variable_at ? tracer.shared_variable_at(site.array) : std::nullopt;
    if (!variable) return {};
    return {variable->bytes, variable->element_bytes, site.array % line_bytes, variable->extents};
  }
  if (site.array >= tracer.arrays.size()) return {};
  const tessera::simt::TracedArray& array = tracer.arrays[site.array];
  if (array.part_at) return {};  // blocks of unknown size
  return {array.bytes, array.element_bytes, reinterpret_cast<std::size_t>(array.data) % line_bytes,
          array.extents};
}

ordered_json costliest_of(const tessera::simt::SiteCounts& site, const tessera::simt::Tracer& tracer,
                          const tessera::Launch& shape) {
  const tessera::simt::CostliestRequest& request = site.costliest;
  ordered_json offsets = ordered_json::array();
  for (std::size_t lane = 0; lane < request.offset.size(); ++lane) {
    if ((request.active >> lane & 1) != 0) offsets.push_back(request.offset[lane]);
    else offsets.push_back(nullptr);
  }
  const std::int64_t x = shape.grid.x, y = shape.grid.y;
  const Extent extent = extent_of(site, tracer);
  return {{"cost", request.cost},
          {"block", {request.block % x, request.block / x % y, request.block / x / y}},
          {"warp", request.warp},
          {"offsets", offsets},
          {"start", extent.start},
          {"element_bytes", extent.element_bytes},
          {"extents", extent.extents},
          {"array_bytes", extent.bytes}};
}

const char* space_of(const tessera::simt::SiteCounts& site, const tessera::simt::Tracer& tracer) {
  if (site.space != Space::global) return "shared";
  if (site.array >= tracer.arrays.size()) return "global";
  const Array* const array = Runtime::get().array_at(tracer.arrays[site.array].data);
  return array != nullptr && array->kind == Array::Kind::constant ? "constant" : "global";
}

ordered_json site_of(const tessera::simt::SiteCounts& site, const tessera::simt::Tracer& tracer,
                     const tessera::Launch& shape) {
  const SourceLine at = line_of(site.site.address());
  const AccessCounts& c = site.counts;
  ordered_json out = {{"file", at.file},
                      {"line", at.line},
                      {"space", space_of(site, tracer)},
                      {"act", name_of(site.site.act())},
                      {"width", site.site.width()}};
  if (const std::string array = tracer.array_of(site); !array.empty()) out["array"] = array;
  if (site.space == Space::global && site.array < tracer.arrays.size() && !tracer.arrays[site.array].part_at)
    out["array_bytes"] = tracer.arrays[site.array].bytes;
  out.update(ordered_json{{"requests", c.requests},
                          {"divergent", c.divergent},
                          {"spaced", c.spaced},
                          {"accesses", c.accesses},
                          {"bytes", c.bytes},
                          {"distinct_bytes", c.distinct_bytes},
                          {"sectors", c.sectors},
                          {"ideal_sectors", c.ideal_sectors},
                          {"lines", c.lines},
                          {"wavefronts", c.wavefronts},
                          {"ideal_wavefronts", c.ideal_wavefronts}});
  if (site.costliest.cost != 0) out["dearest"] = costliest_of(site, tracer, shape);
  return out;
}

}  // namespace

// Returns the innermost of the program's own lines.
SourceLine line_of(std::uint64_t return_address) {
  const auto lines = tessera::simt::Symbols().lines(return_address);
  for (const auto& line : lines)
    if (is_users(line.file)) return {line.file, line.line};
  return lines.empty() ? SourceLine{} : SourceLine{lines.front().file, lines.front().line};
}

bool is_users(const std::string& file) {
  return !file.empty() && file.front() != '<' && !file.starts_with("/usr/") &&
         file.find("tessera/frontend/") == std::string::npos &&
         file.find("share/tessera/cuda/") == std::string::npos;
}

void record_start(const char* gpu_name, bool traced) {
  write({{"record", "start"}, {"version", 1}, {"gpu", gpu_name}, {"traced", traced}});
}

void record(const LaunchRecord& launch) {
  if (record_file() == nullptr) return;
  const auto& grid = launch.shape.grid;
  ordered_json line = {{"record", "launch"},
                       {"number", launch.number},
                       {"kernel", launch.kernel},
                       {"file", launch.at.file},
                       {"line", launch.at.line},
                       {"kernel_file", launch.kernel_at.file},
                       {"kernel_line", launch.kernel_at.line},
                       {"grid", {grid.x, grid.y, grid.z}},
                       {"block", list(launch.shape.block)},
                       {"static_shared", launch.static_shared},
                       {"dynamic_shared", launch.dynamic_shared},
                       {"cooperative", launch.cooperative},
                       {"seconds", launch.seconds},
                       {"error", nullptr},
                       {"traced", launch.traced},
                       {"blocks", launch.shape.blocks()},
                       {"blocks_traced", launch.blocks_traced}};
  if (launch.error != cudaSuccess) line["error"] = cudaGetErrorName(launch.error);
  line["occupancy"] = occupancy_of(launch);
  if (launch.tracer != nullptr && launch.error != cudaErrorLaunchTimeout) {
    line["sites"] = ordered_json::array();
    for (const auto& site : launch.tracer->sites)
      line["sites"].push_back(site_of(site, *launch.tracer, launch.shape));
    line["barriers"] = ordered_json::array();
    for (const auto& barrier : launch.tracer->barriers)
      line["barriers"].push_back(
          {{"file", barrier.location.file}, {"line", barrier.location.line}, {"times", barrier.times}});
  }
  write(line);
}

void record(const FindingRecord& finding) {
  ordered_json line = {
      {"record", "finding"}, {"what", finding.what}, {"serious", finding.serious}, {"text", finding.text}};
  const auto add_place = [&line](const char* file, const char* number, const std::string& name, int at) {
    if (at != 0) line[file] = name, line[number] = at;
  };
  add_place("file", "line", finding.file, finding.line);
  add_place("other_file", "other_line", finding.other_file, finding.other_line);
  constexpr const char* scopes[] = {"warp", "block", "grid"};
  if (finding.scope) line["scope"] = scopes[static_cast<int>(*finding.scope)];
  for (const auto& [name, is] : {std::pair{"is_first", finding.is_first},
                                 {"other_is_first", finding.other_is_first},
                                 {"read_first", finding.read_first}})
    if (is) line[name] = true;
  if (finding.both_write != 0) line["both_write"] = finding.both_write, line["together"] = finding.together;
  if (finding.read_line != 0) line["read_line"] = finding.read_line;
  if (finding.release_line != 0) line["release_line"] = finding.release_line;
  if (finding.lock_line != 0) line["lock_line"] = finding.lock_line;
  if (!finding.array.empty()) line["array"] = finding.array;
  if (!finding.kernel.empty()) line["kernel"] = finding.kernel;
  if (finding.launch != 0) line["launch"] = finding.launch;
  if (finding.block) line["block"] = list(*finding.block);
  if (finding.thread) line["thread"] = list(*finding.thread);
  if (finding.queried) line["queried"] = *finding.queried;
  if (!finding.remedy.empty()) line["remedy"] = finding.remedy;
  line["times"] = finding.times;
  write(line);
}

void record_repeats(std::int64_t launch, std::int64_t times) {
  write({{"record", "repeated"}, {"launch", launch}, {"times", times}});
}

void record_note(const std::string& text) {
  static auto& known = *new std::set<std::string>;
  if (known.insert(text).second) write({{"record", "note"}, {"text", text}});
}

void record_end(std::int64_t launches, int signal) {
  ordered_json line = {{"record", "end"}, {"launches", launches}};
  if (signal != 0) line["signal"] = signal;
  write(line);
}

}  // namespace tessera_cuda
