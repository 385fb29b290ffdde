// SPDX-License-Identifier: Apache-2.0
// `tessera trace`: the memory accesses of kernels, counted on the executor, and their errors.
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include "tessera/bench/machine.hpp"
#include "tessera/bench/trace.hpp"
#include "tessera/cli/bench_options.hpp"
#include "tessera/cli/command.hpp"
#include "tessera/cli/option_parser.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/sizes.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/frontend/explain/trace_page.hpp"
#include "tessera/report/bench_tables.hpp"
#include "tessera/report/trace_table.hpp"

namespace tessera::cli {
namespace {

struct TraceOptions : BenchOptions {
  std::vector<std::string> why;
  std::string schedule, blocks, registers, capability = "90", cubin, svg;
  bool lines = false, arrays = false, no_check = false;
};

constexpr const char* about_trace =
    "Runs kernels on the executor and watches every access. Sizes are words such as m=256 n=256 k=256.\n"
    "Of CUDA files, tessera trace FILE.cu --help names the flags.\n\n"
    "sectors/request     32-byte sectors that a warp's instruction moves; 4 is ideal for 4 bytes a lane\n"
    "efficiency          share of the sectors' bytes that lanes asked for\n"
    "wavefronts/request  turns that shared memory takes; more than 1, 2, 4 for 4, 8, 16 bytes are conflicts\n"
    "divergent           instructions that only a part of a warp's lanes took part in\n"
    "CGMA                flops for each access to global memory\n\n"
    "Races, reads of shared memory that nobody wrote, outputs that nobody writes, accesses out of bounds or\n"
    "out of line, and barriers that not all threads reach are told with their place. Threads that no barrier "
    "and no collective orders\n"
    "race, whatever the schedule; schedules only change what depends on data. The exit code is then 4.";

void declare(OptionParser& parser, TraceOptions& options, const Operation* operation) {
  parser.positionals("OPERATION SIZES", options.positionals, "");
  parser.value("--variant", options.variants, "these only; a list [the executor's whole ladder]", "NAME,…");
  parser.pair("--why", options.why, "what of two rungs' counters differs, in words", "RUNG RUNG");
  parser.value("--element", options.element, "[the operation's first]", "TYPE");
  parser.value("--tuning", options.tuning, "keep the choices with these values", "NAME=N,…");
  parser.value("--tunings", options.tunings, "all: every choice, not each variant's default", "all");
  parser.flag("--lines", options.lines, "the counters of each line of source");
  parser.flag("--arrays", options.arrays, "the counters of each array");
  parser.value("--schedule", options.schedule,
               "orders of threads and blocks: ascending, descending, or seeds [ascending,descending,1]",
               "ORDER,…");
  parser.value("--blocks", options.blocks, "trace so many of a launch's blocks, evenly spread; all: each one",
               "N");
  parser.flag("--no-check", options.no_check, "count only");
  parser.value("--registers", options.registers, "of a thread, for the occupancy", "N");
  parser.value("--cubin", options.cubin,
               "where the kernels' GPU code is: .cubin, object, program; a list [this program, and what "
               "--load brings]",
               "FILE,…");
  parser.value("--capability", options.capability, "compute capability, for the occupancy [90]", "N");
  parser.value("--svg", options.svg,
               "draw the costliest request: lanes, and the sectors or banks that they touch", "FILE");
  parser.value("--seed", options.seed, "of the random data [1]", "N");
  parser.value("--json", options.json, "the results; - is standard output", "FILE");
  declare_flags(parser, options, operation);
}

constexpr std::int64_t max_count = std::int64_t{1} << 40;

// Named files must contain code; the program itself and the objects that it loaded may contain none.
std::map<std::string, std::vector<bench::KernelCode>> code_in(const std::string& files,
                                                              const std::vector<bench::Candidate>& rungs) {
  std::vector<bench::KernelCode> named;
  for (const std::string& file : split(files, ','))
    std::ranges::move(bench::read_code(file), std::back_inserter(named));
  std::map<std::string, std::vector<bench::KernelCode>> out;
  for (const bench::Candidate& rung : rungs) {
    const std::string& object = rung.plan.variant->object;
    if (out.contains(object)) continue;
    std::vector<bench::KernelCode>& code = out[object] = named;
    if (!files.empty()) continue;
    try {
      code = bench::read_code(object.empty() ? bench::library_file() : object);
    } catch (const Error&) {
      code.clear();
    }
  }
  return out;
}

bench::Tracing tracing_of(const TraceOptions& options, const std::vector<bench::Candidate>& rungs) {
  bench::Tracing out;
  out.schedules.clear();
  const std::string words = options.schedule.empty() ? "ascending,descending,1" : options.schedule;
  for (const std::string& word : split(words, ',')) out.schedules.push_back(simt::parse_schedule(word));
  if (options.blocks == "all") out.accesses = ~std::uint64_t{0};
  else if (!options.blocks.empty()) out.blocks = count_named("--blocks", options.blocks, 1, max_count);
  out.check = !options.no_check;
  out.seed = static_cast<std::uint64_t>(count_named("--seed", options.seed, 0, max_count));
  out.compute_capability = static_cast<int>(count_named("--capability", options.capability, 75, max_count));
  out.code = code_in(options.cubin, rungs);
  if (!options.registers.empty()) out.registers = count_named("--registers", options.registers, 1, max_count);
  return out;
}

frontend::LineCost cost_of(const bench::TracedLine& line) {
  frontend::LineCost out;
  out.space = line.space == simt::Space::global ? "global" : "shared";
  const std::string access = bench::name_of(line.space, line.act);  // "global_load"
  out.act = access.substr(access.find('_') + 1);
  out.array = line.array;
  out.requests = static_cast<std::int64_t>(line.counts.requests);
  frontend::Request& request = out.costliest;
  request.cost = line.costliest.cost;
  request.launch = 1;
  request.warp = line.costliest.warp;
  request.width = line.costliest_width;
  request.block = {line.costliest.block};
  for (std::size_t lane = 0; lane < line.costliest.offset.size(); ++lane)
    request.offsets.push_back((line.costliest.active >> lane & 1) != 0
                                  ? static_cast<std::int64_t>(line.costliest.offset[lane])
                                  : -1);
  request.start = static_cast<std::int64_t>(line.start);
  request.element_bytes = static_cast<std::int64_t>(line.element_bytes);
  request.array_bytes = static_cast<std::int64_t>(line.array_bytes);
  request.extents.assign(line.extents.begin(), line.extents.end());
  return out;
}

int exit_of_trace(const std::vector<bench::Traced>& rows) {
  if (std::ranges::any_of(rows, [](const bench::Traced& r) { return !r.findings.empty(); }))
    return exit_code::memory;
  const bool useful = std::ranges::any_of(rows, [](const bench::Traced& r) { return !r.absent || r.code; });
  return useful ? exit_code::passed : exit_code::no_device;
}

void print(std::FILE* to, const std::vector<bench::Traced>& rows, const TraceOptions& options) {
  fmt::print(to, "{}", report::trace_table(rows));
  if (options.lines)
    for (const bench::Traced& row : rows)
      if (!row.absent) fmt::print(to, "\n{}", report::line_table(row));
  if (options.arrays)
    for (const bench::Traced& row : rows)
      if (!row.absent) fmt::print(to, "\n{}", report::array_table(row));
  std::string findings;
  for (const bench::Traced& row : rows) findings += report::findings_text(row);
  if (!options.why.empty() && rows.size() == 2) fmt::print(to, "\n{}\n", report::why(rows[0], rows[1]));
  fmt::print(to, "{}{}{}\n", findings.empty() ? "" : "\n", findings, report::notes(rows));
}

}  // namespace

namespace {

// Builds the traced kernels if the program lies in a build folder without them, as after `make demo`. If that
// fails, the trace says what is missing.
void build_traced_kernels() {
  std::error_code ignored;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  if (std::filesystem::exists(folder / "libtessera_traced.so") ||
      !std::filesystem::exists(folder / "CMakeCache.txt") || folder.string().find('\'') != std::string::npos)
    return;
  fmt::print(stderr, "building the traced kernels, once: a minute or two\n");
  const std::string log = (folder / "traced.log").string();
  if (std::system(fmt::format("cmake --build '{}' --target tessera_traced > '{}' 2>&1", folder.string(), log)
                      .c_str()) != 0)
    fmt::print(stderr, "they could not be built: {} tells why\n", log);
}

}  // namespace

int trace(const Command& command) {
  if (names_own_files(command)) return trace_own_files(command);
  TraceOptions options;
  OptionParser parser("trace", "tessera trace OPERATION SIZES… [FLAGS], or tessera trace FILE.cu… [FLAGS]",
                      about_trace);
  declare(parser, options, operation_first(command.words));
  if (!parser.read(command.words)) return exit_code::passed;
  if (options.positionals.empty())
    throw Error("which operation? usage: tessera trace OPERATION SIZES… [FLAGS]");
  const Operation& operation = operation_named(options.positionals[0]);
  build_traced_kernels();
  if (!options.why.empty() && (!options.variants.empty() || !options.tunings.empty()))
    throw Error("--why names the two rungs itself: leave out --variant and --tunings");
  options.device = "simt";
  options.no_serial = true;
  Selection selection = selection_of(options);
  if (!options.why.empty()) selection.variants = options.why;
  const auto chosen = candidates(operation, selection);
  const bench::Tracing tracing = tracing_of(options, chosen);
  std::FILE* const to = table_stream(options.json);
  nlohmann::ordered_json out = json_head(command, "trace", operation.name);
  out["seed"] = tracing.seed;
  out["distribution"] = bench::distribution;
  out["rows"] = nlohmann::ordered_json::array();
  std::vector<bench::Traced> all;
  for (const auto& [element, problem] : points_of(operation, options)) {
    std::vector<bench::Traced> rows;
    for (const bench::Candidate& rung : chosen) {
      if (!rung.absent) {
        rows.push_back(bench::trace(operation, element, problem, rung.plan, tracing));
        continue;
      }
      rows.emplace_back();
      rows.back().plan = rung.plan;
      rows.back().dims = problem.dims;
      rows.back().absent = rung.absent;
    }
    fmt::print(to, "{}, {}\n", title_of(operation, problem), name_of(element));
    print(to, rows, options);
    for (const bench::Traced& row : rows) out["rows"].push_back(bench::to_json(row));
    std::ranges::move(rows, std::back_inserter(all));
  }
  write_json(options.json, out);
  if (!options.svg.empty()) {
    std::vector<frontend::LineCost> costs;
    for (const bench::Traced& row : all)
      std::ranges::transform(row.lines, std::back_inserter(costs), cost_of);
    write_text(options.svg, frontend::costliest_svg(costs));
  }
  return exit_of_trace(all);
}

}  // namespace tessera::cli
