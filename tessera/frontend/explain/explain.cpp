// SPDX-License-Identifier: Apache-2.0
#include "tessera/frontend/explain/explain.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <tuple>
#include "tessera/core/text/error.hpp"
#include "tessera/frontend/explain/causes.hpp"
#include "tessera/frontend/runtime/launch/launch_record.hpp"
#include "tessera/report/table.hpp"

namespace tessera::frontend {

using report::Table;

namespace {

std::string remedy_of(const Json& finding);

// Causes come before what follows from them.
int rank_of(const std::string& what) {
  static const std::vector<std::string> causes{"compiler",      "call error",    "launch error",
                                               "copy",          "host pointer",  "barrier",
                                               "inactive lane", "out of bounds", "race"};
  return static_cast<int>(std::ranges::find(causes, what) - causes.begin());
}

bool writes(const std::vector<Json>& launches, const std::string& kernel, const std::string& array) {
  return std::ranges::any_of(launches, [&](const Json& launch) {
    return launch.value("kernel", "") == kernel &&
           std::ranges::any_of(launch.value("sites", Json::array()), [&](const Json& site) {
             return site.value("array", "") == array && site.value("act", "") != "read";
           });
  });
}

// A kernel that is wrong, or does not run, leaves results unwritten or unread. A race can only misplace what
// its kernel writes; a constant that nobody set may be a number of elements.
bool may_cause(const Json& cause, const Json& hint, const std::vector<Json>& launches) {
  const std::string what = cause.value("what", "");
  if (what == "race")
    return hint.value("what", "") == "never written" &&
           writes(launches, cause.value("kernel", ""), hint.value("array", ""));
  return cause.value("serious", true) || what == "launch error" ||
         (what == "uninitialised" && hint.value("what", "") == "never written");
}

void drop_consequences(std::vector<Json>& findings, const std::vector<Json>& launches) {
  std::erase_if(findings, [&, all = findings](const Json& hint) {
    const std::string what = hint.value("what", "");
    return (what == "never written" || what == "never read") &&
           std::ranges::any_of(all, [&](const Json& cause) { return may_cause(cause, hint, launches); });
  });
}

}  // namespace

Record read_record(const std::string& path) {
  Record out;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) continue;  // the program ended while it was written
    const std::string kind = json.value("record", "");
    if (kind == "launch") out.launches.push_back(json);
    if (kind == "finding") {
      // A failed launch is recorded at its failure and, if never queried, again at exit: the last one counts.
      if (!json.value("queried", true))
        std::erase_if(out.findings, [&](const Json& before) {
          return before.value("what", "") == json.value("what", "") &&
                 before.value("launch", 0) == json.value("launch", 0);
        });
      out.findings.push_back(json);
    }
    if (kind == "note") out.notes.push_back(json.value("text", ""));
    if (kind == "repeated")
      out.repeated[json.value("launch", std::int64_t{0})] += json.value("times", std::int64_t{0});
  }
  out.findings = by_cause(out.findings, out.launches);
  for (Json& finding : out.findings) finding["remedy"] = remedy_of(finding);  // for readers of --json
  drop_consequences(out.findings, out.launches);
  std::ranges::stable_sort(out.findings, {}, [](const Json& finding) {
    return std::pair(!finding.value("serious", true), rank_of(finding.value("what", "")));
  });
  return out;
}

namespace {

std::int64_t count(const Json& of, const char* field) { return of.value(field, std::int64_t{0}); }

std::string text(const Json& of, const char* field) {
  const auto found = of.find(field);
  return found != of.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string extents(const Json& of) {
  std::vector<std::int64_t> values = of;
  while (values.size() > 1 && values.back() == 1) values.pop_back();
  std::string out;
  for (const std::int64_t value : values) out += (out.empty() ? "" : "×") + std::to_string(value);
  return out;
}

std::int64_t product(const Json& of) {
  std::int64_t out = 1;
  for (const std::int64_t value : of) out *= value;
  return out;
}

bool was_traced(const Json& launch) { return !launch.value("sites", Json::array()).empty(); }

double ratio(std::int64_t above, std::int64_t below) {
  return below == 0 ? 0 : static_cast<double>(above) / static_cast<double>(below);
}

std::string per(std::int64_t above, std::int64_t below) {
  return below == 0 ? std::string() : report::number(ratio(above, below));
}

std::string percent(double fraction) { return fmt::format("{:.0f} %", 100 * fraction); }

constexpr std::pair<const char*, std::int64_t LineCost::*> counters[] = {
    {"requests", &LineCost::requests},     {"divergent", &LineCost::divergent},
    {"spaced", &LineCost::spaced},         {"accesses", &LineCost::accesses},
    {"bytes", &LineCost::bytes},           {"distinct_bytes", &LineCost::distinct_bytes},
    {"sectors", &LineCost::sectors},       {"ideal_sectors", &LineCost::ideal_sectors},
    {"wavefronts", &LineCost::wavefronts}, {"ideal_wavefronts", &LineCost::ideal_wavefronts}};

void add(LineCost& to, const LineCost& more) {
  to.width = std::max(to.width, more.width);
  to.array_bytes = std::max(to.array_bytes, more.array_bytes);
  for (const auto& [name, counter] : counters) to.*counter += more.*counter;
  if (more.costliest.cost > to.costliest.cost) to.costliest = more.costliest;
}

// Merges costs with equal keys, ordered by key.
template <class Key>
std::vector<LineCost> merged(const std::vector<LineCost>& costs, Key key) {
  std::map<decltype(key(costs.front())), LineCost> by_key;
  for (const LineCost& cost : costs) {
    const auto [known, added] = by_key.try_emplace(key(cost), cost);
    if (!added) add(known->second, cost);
  }
  std::vector<LineCost> out;
  for (auto& [unused, cost] : by_key) out.push_back(std::move(cost));
  return out;
}

}  // namespace

std::string place_of(const std::string& file, int line) {
  return line == 0 ? std::string()
                   : std::filesystem::path(file).filename().string() + ":" + std::to_string(line);
}

std::string source_line(const std::string& file, int line) {
  std::ifstream in(file);
  std::string out;
  for (int i = 0; i < line; ++i)
    if (!std::getline(in, out)) return {};
  const std::size_t first = out.find_first_not_of(" \t\r");
  if (line == 0 || first == out.npos) return {};
  return out.substr(first, out.find_last_not_of(" \t\r") + 1 - first);
}

std::vector<LaunchGroup> groups_of(const Record& record) {
  std::vector<LaunchGroup> out;
  std::map<std::string, std::size_t> known;
  for (const Json& launch : record.launches) {
    Json key = Json::array();
    for (const char* field :
         {"kernel", "file", "line", "grid", "block", "static_shared", "dynamic_shared", "error"})
      key.push_back(launch.value(field, Json()));
    const auto [found, added] = known.try_emplace(key.dump(), out.size());
    if (added) out.push_back({.launch = &launch});
    LaunchGroup& group = out[found->second];
    if (!was_traced(*group.launch) && was_traced(launch)) group.launch = &launch;
    const auto repeats = record.repeated.find(count(launch, "number"));
    const std::int64_t times = 1 + (repeats == record.repeated.end() ? 0 : repeats->second);
    group.times += times;
    if (count(launch, "blocks_traced") == count(launch, "blocks")) group.whole += times;
  }
  return out;
}

namespace {

Request costliest_of(const Json& site, std::int64_t launch) {
  Request out;
  const auto found = site.find("dearest");
  if (found == site.end()) return out;
  out.cost = count(*found, "cost");
  out.launch = launch;
  out.warp = count(*found, "warp");
  out.width = count(site, "width");
  out.block = found->at("block").get<std::vector<std::int64_t>>();
  for (const Json& offset : found->at("offsets"))
    out.offsets.push_back(offset.is_null() ? -1 : offset.get<std::int64_t>());
  out.start = count(*found, "start");
  out.element_bytes = count(*found, "element_bytes");
  out.array_bytes = count(*found, "array_bytes");
  out.extents = found->at("extents").get<std::vector<std::int64_t>>();
  return out;
}

std::vector<LineCost> by_line(const std::vector<LineCost>& costs) {
  return merged(costs, [](const LineCost& c) { return std::tuple(c.file, c.line, c.space, c.act, c.array); });
}

}  // namespace

std::vector<LineCost> costs_of(const Json& launch) {
  std::vector<LineCost> all;
  for (const Json& site : launch.value("sites", Json::array())) {
    LineCost& cost = all.emplace_back();
    cost.file = text(site, "file");
    cost.line = site.value("line", 0);
    cost.space = text(site, "space");
    cost.act = text(site, "act");
    cost.array = text(site, "array");
    cost.width = count(site, "width");
    cost.array_bytes = count(site, "array_bytes");
    for (const auto& [name, counter] : counters) cost.*counter = count(site, name);
    cost.costliest = costliest_of(site, count(launch, "number"));
  }
  return by_line(all);
}

std::vector<LineCost> costs_of(const std::vector<LaunchGroup>& launches) {
  std::vector<LineCost> all;
  for (const LaunchGroup& group : launches)
    std::ranges::copy(costs_of(*group.launch), std::back_inserter(all));
  return by_line(all);
}

Table launches_table(const std::vector<LaunchGroup>& launches) {
  Table table({{"launch", Table::Align::left},
               {"at", Table::Align::place},
               {"grid", Table::Align::left},
               {"block", Table::Align::left},
               {"times"},
               {"shared"},
               {"occupancy", Table::Align::right, true},
               {"limited by", Table::Align::left, true, 2},
               {"blocks traced", Table::Align::left, true, 1},
               {"error", Table::Align::left, true}});
  for (const LaunchGroup& group : launches) {
    const Json& launch = *group.launch;
    const Json occupancy = launch.value("occupancy", Json::object());
    const std::int64_t shared = count(launch, "static_shared") + count(launch, "dynamic_shared");
    const std::int64_t blocks = count(launch, "blocks"), seen = count(launch, "blocks_traced");
    table.add({text(launch, "kernel"), place_of(text(launch, "file"), launch.value("line", 0)),
               extents(launch.at("grid")), extents(launch.at("block")), std::to_string(group.times),
               shared == 0 ? "0" : report::bytes(shared),
               occupancy.contains("fraction") ? percent(occupancy.value("fraction", 0.0)) : "",
               text(occupancy, "limit"),
               seen != blocks              ? fmt::format("{} of {}", seen, blocks)
               : group.whole < group.times ? fmt::format("all in {} of {}", group.whole, group.times)
                                           : "all",
               text(launch, "error")});
  }
  return table;
}

namespace {

// Sectors say nothing about atomics: those on one word run one after another.
std::string efficiency_of(const LineCost& cost) {
  return cost.global() && cost.sectors > 0 && cost.act != "atomic"
             ? percent(ratio(cost.ideal_sectors, cost.sectors))
             : "";
}

}  // namespace

Table lines_table(const std::vector<LineCost>& costs) {
  Table table({{"line", Table::Align::place},
               {"array", Table::Align::left},
               {"access", Table::Align::left},
               {"requests"},
               {"sectors/request", Table::Align::right, true},
               {"efficiency", Table::Align::right, true},
               {"ideal", Table::Align::right, true, 1},
               {"wavefronts/request", Table::Align::right, true},
               {"conflicts", Table::Align::right, true, 2},
               {"divergent", Table::Align::right, false, 3},
               {"bytes", Table::Align::right, false, 4},
               {"source", Table::Align::left, true, 5}});
  std::string last;
  for (const LineCost& cost : costs) {
    const std::string at = cost.line == 0 ? "(unknown)" : place_of(cost.file, cost.line);
    table.add({at == last ? " " : at, cost.array, cost.act + " " + cost.space, std::to_string(cost.requests),
               cost.global() ? per(cost.sectors, cost.requests) : "", efficiency_of(cost),
               cost.global()   ? per(cost.ideal_sectors, cost.requests)
               : cost.shared() ? per(cost.ideal_wavefronts, cost.requests)
                               : "",
               cost.shared() ? per(cost.wavefronts, cost.requests) : "",
               cost.shared() ? std::to_string(cost.conflicts()) : "", std::to_string(cost.divergent),
               report::bytes(cost.bytes), at == last ? " " : source_line(cost.file, cost.line)});
    last = at;
  }
  return table;
}

Table arrays_table(const Json& launch) {
  Table table({{"array", Table::Align::left},
               {"access", Table::Align::left},
               {"requests"},
               {"sectors/request", Table::Align::right, true},
               {"efficiency", Table::Align::right, true},
               {"conflicts", Table::Align::right, true},
               {"bytes asked for"},
               {"bytes moved", Table::Align::right, true},
               {"size", Table::Align::right, true, 1}});
  constexpr std::int64_t sector = 32;
  for (const LineCost& cost :
       merged(costs_of(launch), [](const LineCost& c) { return std::tuple(c.space, c.array, c.act); })) {
    const bool global = cost.global();
    table.add({cost.array.empty() ? "(unnamed)" : cost.array, cost.act + " " + cost.space,
               std::to_string(cost.requests), global ? per(cost.sectors, cost.requests) : "",
               efficiency_of(cost), cost.shared() ? std::to_string(cost.conflicts()) : "",
               report::bytes(cost.bytes), global ? report::bytes(cost.sectors * sector) : "",
               cost.array_bytes == 0 ? "" : report::bytes(cost.array_bytes)});
  }
  return table;
}

// Findings and advice.

namespace {

// Returns ", as line 5 does": the nearest line above that returns; "" if no thread did.
std::string return_before(const Json& finding) {
  if (text(finding, "text").find(" returned") == std::string::npos) return {};
  const std::string file = text(finding, "file");
  for (int line = finding.value("line", 0) - 1; line > 0; --line) {
    const std::string source = source_line(file, line);
    if (source.find("return;") != source.npos) return fmt::format(", as line {} does", line);
    if (source.find("__global__") != source.npos) break;
  }
  return {};
}

std::string remedy_of(const Json& finding) {
  if (std::string known = text(finding, "remedy"); !known.empty()) return known;
  const std::string what = text(finding, "what");
  if (what == "uninitialised")
    return "set each element that is read, to 0 where there is no data; put __syncthreads() between if "
           "another "
           "thread sets it";
  if (what == "out of bounds" && text(finding, "array").empty())
    return "give the launch enough bytes of dynamic shared memory, its third argument, or guard the access";
  if (what == "out of bounds")
    return "correct the index or its guard; if they are right, make the array larger (sizes of cudaMalloc "
           "and of "
           "dynamic shared memory are bytes)";
  if (what == "misaligned") return "use an address that is a multiple of the access's width";
  if (const std::string at = return_before(finding); what == "barrier" && !at.empty())
    return "do not return before a barrier" + at +
           ": put the condition around the loads and the stores instead";
  if (what == "barrier") return "move the barrier out of the condition, so that all threads reach it";
  if (what == "host pointer") return "pass memory of cudaMalloc, and copy the data to it with cudaMemcpy";
  if (what == "device pointer") return "copy it to the host with cudaMemcpy, and read the copy";
  if (what == "never written")
    return "copy or set it (cudaMemcpy, cudaMemset) before it is read, or look why no thread writes it";
  if (what == "never read") return "copy the result back, or leave the work out";
  if (what == "inactive lane" && text(finding, "text").find("does not name itself") != std::string::npos)
    return "give a mask that names every lane that calls, such as 0xffffffff for a whole warp";
  if (what == "inactive lane") return "let all lanes that the mask names reach the call";
  if (what == "leak") return "free it";
  if (what == "launch error" && text(finding, "text").find(", the executor at most") != std::string::npos)
    return "a limit of the executor, not of the program: launch fewer blocks, or take the number of "
           "multiprocessors from cudaGetDeviceProperties()";
  if (what == "launch error") return "change the launch, and look at cudaGetLastError() after it";
  return {};
}

// Returns "12 | source", indented; "" without one.
std::string quoted(const std::string& file, int line) {
  const std::string source = source_line(file, line);
  return source.empty() ? std::string() : fmt::format("    {} | {}\n", line, source);
}

}  // namespace

std::vector<Remark> remarks_of(const std::vector<Json>& findings) {
  std::vector<Remark> out;
  for (const Json& finding : findings) {
    Remark& remark = out.emplace_back();
    const std::int64_t times = finding.value("times", std::int64_t{1});
    remark.kind = finding.value("serious", true) ? "error" : "warning";
    remark.what = text(finding, "what");
    remark.kernel = text(finding, "kernel");
    // The tracer keeps a limited number of reads of unset memory for each line.
    const bool is_cut = remark.what == "uninitialised" && times >= 64;
    remark.text = text(finding, "text") +
                  (times > 1 ? fmt::format(" ({}{} times)", is_cut ? "at least " : "", times) : "");
    remark.remedy = remedy_of(finding);
    for (const Json& lines : finding.value("also", Json::array()))
      remark.also += (remark.also.empty() ? "" : ", ") + lines.get<std::string>();
    remark.file = text(finding, "file");
    remark.line = finding.value("line", 0);
    remark.other_file = text(finding, "other_file");
    remark.other_line = finding.value("other_line", 0);
  }
  return out;
}

std::vector<Remark> remarks_of(const std::vector<Advice>& advice) {
  std::vector<Remark> out;
  for (const Advice& a : advice) {
    Remark& remark = out.emplace_back();
    remark.kind = "cost";
    remark.what = a.what;
    std::ranges::replace(remark.what, '_', ' ');
    remark.kernel = a.kernel;
    remark.text = a.text;
    remark.remedy = a.remedy;
    for (const std::string& array : a.others) remark.also += (remark.also.empty() ? "" : ", ") + array;
    remark.file = a.file;
    remark.line = a.line;
  }
  return out;
}

std::string Remark::head() const { return kind + ": " + what + (kernel.empty() ? "" : " in " + kernel); }

std::string to_string(const std::vector<Remark>& remarks, bool coloured) {
  std::string out;
  for (const Remark& r : remarks) {
    const std::string at = place_of(r.file, r.line);
    std::string head = r.head();
    if (coloured) {
      const char* const colour = r.kind == "error" ? "31" : r.kind == "warning" ? "35" : "36";
      head = fmt::format("\033[1;{}m{}\033[0m{}", colour, r.kind, head.substr(r.kind.size()));
    }
    out += fmt::format("{}{}: {}\n", at.empty() ? "" : at + ": ", head, r.text) + quoted(r.file, r.line);
    if (r.other_line != 0 && (r.other_line != r.line || r.other_file != r.file))
      out += quoted(r.other_file, r.other_line);
    if (!r.also.empty()) out += "    also " + r.also + "\n";
    if (!r.remedy.empty()) out += "    remedy: " + r.remedy + "\n";
  }
  return out;
}

std::string summary_of(const std::vector<Remark>& remarks) {
  if (remarks.empty()) return "nothing was found";
  std::string out;
  for (const char* kind : {"error", "warning", "cost"})
    if (const auto many = std::ranges::count(remarks, kind, &Remark::kind); many > 0)
      out += fmt::format("{}{} {}{}", out.empty() ? "" : ", ", many, kind, many == 1 ? "" : "s");
  // A warning may be the cause of an error.
  const Remark& first = *std::ranges::min_element(
      remarks, {}, [](const Remark& r) { return std::pair(r.kind == "cost", rank_of(r.what)); });
  return first.line == 0 ? out : fmt::format("{}; begin with {}", out, place_of(first.file, first.line));
}

namespace {

// A cost is reported if it is at least twice the ideal, or concerns half of all requests.
constexpr double far_above = 2;
constexpr std::int64_t constant_memory = 64 << 10;
constexpr std::int64_t many_updates = 8;  // in one request, to one word

double scale_of(const Json& launch) {
  const std::int64_t seen = count(launch, "blocks_traced");
  return seen == 0 ? 1 : ratio(count(launch, "blocks"), seen);
}

// True if the lanes' addresses lie apart as those of an index that is computed from threadIdx.
bool is_regular(const Request& request) {
  std::set<std::int64_t> strides;
  for (std::size_t lane = 1; lane < request.offsets.size(); ++lane)
    if (request.offsets[lane] >= 0 && request.offsets[lane - 1] >= 0)
      strides.insert(request.offsets[lane] - request.offsets[lane - 1]);
  constexpr std::size_t few = 4;  // along rows, between them, and of exchanges in a butterfly
  return strides.size() <= few;
}

// `is_result`: some kernel writes the array; `is_written`: this launch does.
void advise_on_line(std::vector<Advice>& out, const std::string& kernel, const LineCost& cost, double scale,
                    bool shared_is_used, bool is_result, bool is_written) {
  if (cost.requests == 0 || cost.line == 0) return;
  const auto add = [&](const char* what, std::string words, std::string remedy) {
    out.push_back({what, cost.file, cost.array, kernel, std::move(words), std::move(remedy), cost.line});
  };
  const std::string array = cost.array.empty() ? "memory" : cost.array;
  const double sectors = ratio(cost.sectors, cost.requests), ideal = ratio(cost.ideal_sectors, cost.requests);
  // A misaligned start adds fewer than 2 sectors (half a cache line); a larger excess means a wrong order.
  const bool scattered = cost.global() && 2 * cost.spaced <= cost.requests && sectors >= far_above * ideal &&
                         sectors - ideal >= 2;
  if (scattered && cost.act == "atomic")
    add("uncoalesced",
        fmt::format(
            "an atomic update of {} moves {} sectors for each request where {} would do: lanes update "
            "elements that lie apart",
            array, report::number(sectors), report::number(ideal)),
        fmt::format("let each block update a copy of {} in __shared__ memory, and add that to it at the end",
                    array));
  else if (scattered)
    add("uncoalesced",
        fmt::format("a {} of {} moves {} sectors for each request where {} would do: neighbouring threads "
                    "do not touch neighbouring elements",
                    cost.act, array, report::number(sectors), report::number(ideal)),
        cost.array == tessera_cuda::heap_name
            ? "take one array of cudaMalloc for all threads: each block of the heap lies by itself"
            : "let threadIdx.x run along the index that varies fastest, make an array of each member of a "
              "struct, or go through a shared tile");
  const double turns = ratio(cost.wavefronts, cost.requests);
  // All lanes on one word: the updates of a request run one after another.
  const bool hot = cost.act == "atomic" && cost.distinct_bytes > 0 &&
                   cost.accesses * cost.width >= many_updates * cost.distinct_bytes;
  if (hot)
    add("serialised_atomics",
        fmt::format("{} atomic updates of {}, {} lanes of a request on each word", cost.accesses, array,
                    report::number(ratio(cost.accesses * cost.width, cost.distinct_bytes))),
        "add up in the warp (shuffles, __reduce_add_sync) or in the block first, and make one atomic update "
        "for "
        "each");
  if (cost.shared() && !hot && ratio(cost.wavefronts, cost.ideal_wavefronts) >= far_above)
    add("bank_conflicts",
        fmt::format("{} of {} takes {} wavefronts for each request where {} would do: lanes want different "
                    "words of one bank",
                    cost.act == "atomic" ? "an atomic update" : "a " + cost.act, array, report::number(turns),
                    report::number(ratio(cost.ideal_wavefronts, cost.requests))),
        !is_regular(cost.costliest)
            ? fmt::format(
                  "the lanes' indices of {} have no stride: if data gives them, padding does not help, "
                  "but copies of {} for some lanes each, or data in order",
                  array, array)
        : cost.costliest.extents.size() < 2
            ? fmt::format(
                  "let neighbouring lanes take neighbouring elements of {}, or put element i at i + i / 32",
                  array)
        : cost.costliest.extents.back() % 2 == 0
            ? fmt::format("pad the rows of {} by one element, or let threadIdx.x run along its last index",
                          array)
            : fmt::format("let threadIdx.x run along the last index of {}", array));
  if (cost.requests >= 64 && 2 * cost.spaced > cost.requests)
    add("divergent",
        fmt::format("{} of {} requests for {} are made by every second or a later lane of a warp",
                    cost.spaced, cost.requests, array),
        "let whole warps take the branch: choose the threads by a contiguous range");
  if (!cost.global() || cost.act != "read" || cost.array_bytes == 0) return;
  const char* const about = scale == 1 ? "" : "about ";  // from some of the blocks
  const double reuse = scale * ratio(cost.bytes, cost.array_bytes);
  const bool uniform = cost.distinct_bytes == cost.requests * cost.width;
  constexpr double often = 8;
  if (uniform && cost.array_bytes <= constant_memory) {
    const double by_warps = scale * ratio(cost.distinct_bytes, cost.array_bytes);
    if (by_warps >= often && !is_result)
      add("repeated_loads",
          fmt::format("each byte of {} is read {}{} times, by all lanes of a warp at once", array, about,
                      report::number(by_warps)),
          fmt::format("declare {} as __constant__", array));
  } else if (reuse >= often && !shared_is_used && !is_written) {
    add("repeated_loads",
        fmt::format("each byte of {} is read {}{} times from global memory", array, about,
                    report::number(reuse)),
        "let a block load its part once into __shared__ memory, and read it there");
  }
}

}  // namespace

std::vector<Advice> advice_of(const std::vector<LaunchGroup>& launches) {
  std::vector<Advice> out;
  std::set<std::string> results;
  for (const LineCost& cost : costs_of(launches))
    if (cost.global() && cost.act != "read") results.insert(cost.array);
  for (const LaunchGroup& group : launches) {
    const Json& launch = *group.launch;
    const std::string kernel = text(launch, "kernel");
    const auto costs = costs_of(launch);
    const double scale = scale_of(launch);
    const bool shared = std::ranges::any_of(costs, &LineCost::shared);
    for (const LineCost& cost : costs)
      advise_on_line(out, kernel, cost, scale, shared, results.contains(cost.array),
                     std::ranges::any_of(costs, [&](const LineCost& other) {
                       return other.global() && other.act != "read" && other.array == cost.array;
                     }));
    const Json occupancy = launch.value("occupancy", Json::object());
    const double fraction = occupancy.value("fraction", 1.0);
    const std::string limit = text(occupancy, "limit");
    if (fraction < 0.5 && !text(launch, "kernel").empty() && text(launch, "error").empty())
      out.push_back({"occupancy", text(launch, "file"), "", kernel,
                     fmt::format("the launch fills {} of a multiprocessor's warps; {} is the limit",
                                 percent(fraction), limit),
                     limit == "shared memory" ? "use less shared memory in a block"
                                              : "launch blocks of 128 to 512 threads, a multiple of 32",
                     launch.value("line", 0)});
  }
  // A kernel launched in several shapes gives each piece of advice once, and so does a line with several
  // arrays.
  std::vector<Advice> once;
  for (Advice& advice : out) {
    const auto known = std::ranges::find_if(once, [&](const Advice& other) {
      return std::tie(other.what, other.file, other.line, other.kernel) ==
             std::tie(advice.what, advice.file, advice.line, advice.kernel);
    });
    if (known == once.end()) once.push_back(std::move(advice));
    else if (known->array != advice.array &&
             std::ranges::find(known->others, advice.array) == known->others.end())
      known->others.push_back(advice.array);
  }
  return once;
}

Json to_json(const std::vector<Advice>& advice) {
  Json out = Json::array();
  for (const Advice& a : advice)
    out.push_back({{"what", a.what},
                   {"file", a.file},
                   {"line", a.line},
                   {"array", a.array},
                   {"other_arrays", a.others},
                   {"kernel", a.kernel},
                   {"text", a.text},
                   {"remedy", a.remedy}});
  return out;
}

// Two kernels compared.

namespace {

const Json& launch_of(const std::vector<LaunchGroup>& launches, const std::string& kernel) {
  std::string names;
  for (const LaunchGroup& group : launches) {
    const std::string name = text(*group.launch, "kernel");
    if ((name == kernel || name.substr(0, name.find('<')) == kernel) && was_traced(*group.launch))
      return *group.launch;
    if (was_traced(*group.launch) && names.find(name) == names.npos)
      names += (names.empty() ? "" : ", ") + name;
  }
  throw Error("no launch of '" + kernel + "' was traced; traced were: " + (names.empty() ? "none" : names));
}

// Totals over all lines of one kind, scaled up to all blocks if a launch was traced in part.
struct Total {
  double requests = 0, divergent = 0, sectors = 0, conflicts = 0, wavefronts = 0, accesses = 0;
  const LineCost* costliest = nullptr;
};

double cost_of(const LineCost& cost) {
  return static_cast<double>(cost.global() ? cost.sectors : cost.wavefronts);
}

Total total_of(const std::vector<LineCost>& costs, const std::string& space, const std::string& act,
               double scale) {
  Total out;
  for (const LineCost& cost : costs) {
    if (cost.space != space || cost.act != act) continue;
    out.requests += scale * static_cast<double>(cost.requests);
    out.divergent += scale * static_cast<double>(cost.divergent);
    out.accesses += scale * static_cast<double>(cost.accesses);
    out.sectors += scale * static_cast<double>(cost.sectors);
    out.wavefronts += scale * static_cast<double>(cost.wavefronts);
    out.conflicts += scale * static_cast<double>(cost.conflicts());
    if (out.costliest == nullptr || cost_of(cost) > cost_of(*out.costliest)) out.costliest = &cost;
  }
  return out;
}

std::string change(double before, double after) {
  if (before == 0) return "new";
  if (after == 0) return "all gone";
  const double factor = after / before;
  return factor > 1 ? report::number(factor) + " times as many" : report::number(1 / factor) + " times fewer";
}

bool differs(double before, double after) {
  constexpr double notable = 1.02;  // a ratio closer to 1 is ignored
  return std::max(before, after) > notable * std::min(before, after);
}

void compare(std::string& out, const std::string& what, double before, double after, const LineCost* line) {
  if (!differs(before, after)) return;
  out += fmt::format("- {}: {} → {} ({})", what, report::number(before), report::number(after),
                     change(before, after));
  if (line != nullptr)
    out += fmt::format("; most at {}, {}", place_of(line->file, line->line),
                       line->array.empty() ? line->space : line->array);
  out += "\n";
}

// A reason why one of two kernels should be faster than the other.

struct Kernel {
  std::string name;
  Total read, write, atomic, shared;

  Kernel(const Json& launch, const std::vector<LineCost>& costs, double scale)
      : name(text(launch, "kernel")),
        read(total_of(costs, "global", "read", scale)),
        write(total_of(costs, "global", "write", scale)),
        atomic(total_of(costs, "global", "atomic", scale)) {
    for (const char* act : {"read", "write", "atomic"}) {
      const Total part = total_of(costs, "shared", act, scale);
      shared.wavefronts += part.wavefronts;
      shared.conflicts += part.conflicts;
      if (part.costliest != nullptr &&
          (shared.costliest == nullptr || cost_of(*part.costliest) > cost_of(*shared.costliest)))
        shared.costliest = part.costliest;
    }
  }
  double sectors() const { return read.sectors + write.sectors; }
};

// Returns a number in running text: "4.57", "120", "65536".
std::string plain(double value) {
  return value < 100 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

std::string at(const LineCost* line) {
  if (line == nullptr) return {};
  return ", most at " + place_of(line->file, line->line) + " (" +
         (line->array.empty() ? line->space : line->array) + ")";
}

std::string times(double more, double less) { return plain(more / less) + " times"; }

// Returns "3 times fewer bank conflicts (100 instead of 300)".
std::string fewer(const std::string& things, double less, double more, const std::string& other) {
  if (less == 0) return "no " + things + " where " + other + " has " + plain(more);
  return times(more, less) + " fewer " + things + " (" + plain(less) + " instead of " + plain(more) + ")";
}

// Names reads or writes, whichever differ more, and says if the requests are more or only more expensive.
std::string why_traffic(const Kernel& less, const Kernel& more) {
  const bool reads = more.read.sectors - less.read.sectors >= more.write.sectors - less.write.sectors;
  const Total &a = reads ? less.read : less.write, &b = reads ? more.read : more.write;
  const std::string act = reads ? "read" : "write";
  if (a.requests == 0 || b.requests == 0) return at(b.costliest);
  const double own = a.sectors / a.requests, others = b.sectors / b.requests;
  if (others / own >= b.requests / a.requests)
    return fmt::format(": a {} takes {} sectors a request, in {} {}{}", act, plain(own), more.name,
                       plain(others), at(b.costliest));
  return fmt::format(": {} makes {} as many {} requests{}", more.name, times(b.requests, a.requests), act,
                     at(b.costliest));
}

// An advantage of one kernel over another: its size, and the text that follows the kernel's name.
struct Reason {
  double gain = 0;
  std::string words;
};

// The gains are rough cycles of a multiprocessor, only used for ranking: two for a sector (its share of the
// memory bandwidth), one for a wavefront and for a lane's atomic.
Reason best_reason(const Kernel& less, const Kernel& more) {
  std::vector<Reason> reasons;
  const auto compare = [&](double a, double b, double cycles, auto&& words) {
    if (b > a && differs(a, b)) reasons.push_back({(b - a) * cycles, words()});
  };
  compare(less.sectors(), more.sectors(), 2, [&] {
    const auto moved = [](const Kernel& k) {
      return report::bytes(static_cast<std::int64_t>(32 * k.sectors()));
    };
    const std::string head =
        less.sectors() == 0 ? "moves nothing in global memory where " + more.name + " moves " + moved(more)
                            : fmt::format("moves {} less in global memory ({} instead of {})",
                                          times(more.sectors(), less.sectors()), moved(less), moved(more));
    return head + why_traffic(less, more);
  });
  compare(less.atomic.accesses, more.atomic.accesses, 1, [&] {
    return "makes " +
           fewer("atomic updates of global memory", less.atomic.accesses, more.atomic.accesses, more.name) +
           at(more.atomic.costliest);
  });
  const bool by_conflicts =
      more.shared.conflicts - less.shared.conflicts > 0.5 * (more.shared.wavefronts - less.shared.wavefronts);
  compare(less.shared.wavefronts, more.shared.wavefronts, 1, [&] {
    return (by_conflicts
                ? "has " + fewer("bank conflicts", less.shared.conflicts, more.shared.conflicts, more.name)
                : "takes " + fewer("wavefronts in shared memory", less.shared.wavefronts,
                                   more.shared.wavefronts, more.name)) +
           at(more.shared.costliest);
  });
  compare(less.read.requests + less.write.requests, more.read.requests + more.write.requests, 1, [&] {
    const double own = less.read.requests + less.write.requests,
                 others = more.read.requests + more.write.requests;
    return "makes " + fewer("requests to global memory", own, others, more.name) +
           at(more.read.requests - less.read.requests >= more.write.requests - less.write.requests
                  ? more.read.costliest
                  : more.write.costliest);
  });
  const auto best = std::ranges::max_element(reasons, {}, &Reason::gain);
  return best == reasons.end() ? Reason{} : *best;
}

std::string summary_of(const Kernel& a, const Kernel& b) {
  const Reason of_a = best_reason(a, b), of_b = best_reason(b, a);
  if (of_a.gain == 0 && of_b.gain == 0)
    return "Conclusion: both ask the same of memory. If their times differ, the reason is in the "
           "instructions or "
           "in how many threads run at once.\n";
  const bool first = of_a.gain > of_b.gain;
  const Reason &main = first ? of_a : of_b, &against = first ? of_b : of_a;
  const Kernel &better = first ? a : b, &worse = first ? b : a;
  std::string out = "Conclusion: " + better.name + " " + main.words + ".\n";
  constexpr double worth_a_word = 0.1;
  if (against.gain >= worth_a_word * main.gain)
    out += "Against that, " + worse.name + " " + against.words + ".\n";
  return out;
}

}  // namespace

std::string why_text(const std::vector<LaunchGroup>& launches, const std::string& before_name,
                     const std::string& after_name) {
  if (before_name == after_name)
    throw Error("--why compares two kernels, not '" + after_name + "' with itself");
  const Json& before = launch_of(launches, before_name);
  const Json& after = launch_of(launches, after_name);
  const auto costs_before = costs_of(before), costs_after = costs_of(after);
  const double scale_before = scale_of(before), scale_after = scale_of(after);
  std::string out;
  for (const char* space : {"global", "shared"})
    for (const char* act : {"read", "write", "atomic"}) {
      const Total a = total_of(costs_before, space, act, scale_before);
      const Total b = total_of(costs_after, space, act, scale_after);
      const std::string kind = std::string(space) + " " + act + "s";
      const auto dearer = [&](double x, double y) { return x > y ? a.costliest : b.costliest; };
      compare(out, kind + ", requests", a.requests, b.requests, dearer(a.requests, b.requests));
      const bool global = std::string(space) == "global";
      if (global && a.requests > 0 && b.requests > 0)
        compare(out, kind + ", sectors per request", a.sectors / a.requests, b.sectors / b.requests,
                dearer(a.sectors / a.requests, b.sectors / b.requests));
      if (global) compare(out, kind + ", sectors moved", a.sectors, b.sectors, dearer(a.sectors, b.sectors));
      else
        compare(out, kind + ", bank conflicts", a.conflicts, b.conflicts, dearer(a.conflicts, b.conflicts));
      compare(out, kind + ", divergent requests", a.divergent, b.divergent, dearer(a.divergent, b.divergent));
    }
  const auto barriers = [](const Json& launch, double scale) {
    std::int64_t sum = 0;
    for (const Json& barrier : launch.value("barriers", Json::array())) sum += count(barrier, "times");
    return scale * static_cast<double>(sum);
  };
  compare(out, "barriers passed", barriers(before, scale_before), barriers(after, scale_after), nullptr);
  const auto threads = [](const Json& launch) {
    return static_cast<double>(product(launch.at("grid")) * product(launch.at("block")));
  };
  compare(out, "threads", threads(before), threads(after), nullptr);
  const auto fraction = [](const Json& launch) {
    return launch.value("occupancy", Json::object()).value("fraction", 0.0);
  };
  if (differs(fraction(before), fraction(after)))
    out += fmt::format("- occupancy: {} → {}\n", percent(fraction(before)), percent(fraction(after)));
  if (out.empty()) out = "- no counter differs: the reason is in the instructions, not in the accesses\n";
  if (scale_before > 1 || scale_after > 1)
    out += "Of a launch that was traced in part the counts are estimated for all its blocks.\n";
  return text(after, "kernel") + " against " + text(before, "kernel") + ":\n" + out +
         summary_of(Kernel(before, costs_before, scale_before), Kernel(after, costs_after, scale_after));
}

}  // namespace tessera::frontend
