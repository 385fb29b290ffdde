// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/document.hpp"
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include "tessera/bench/compare.hpp"
#include "tessera/core/text/error.hpp"
#include "tessera/report/charts.hpp"
#include "tessera/report/table.hpp"

namespace tessera::report {

using Json = nlohmann::ordered_json;

class Fields {
 public:
  // `where` is a JSON path such as "rows[3]"; throws unless `json` is an object.
  Fields(const std::string& file, std::string where, const Json& json);

  std::string text(const char* name) const;  // "" if missing
  std::string needed_text(const char* name) const;
  std::optional<double> number(const char* name) const;
  int whole(const char* name) const;  // 0 if missing
  bool flag(const char* name) const;
  Dims dims(const char* name) const;
  Tuning tuning(const char* name) const;
  const Json& array(const char* name) const;             // an empty one if missing
  std::vector<Fields> objects(const char* name) const;   // the objects of a list
  std::optional<Fields> object(const char* name) const;  // nothing if missing
  const Json& json() const { return *json_; }

  [[noreturn]] void fail(const std::string& name, const std::string& what) const;

 private:
  // Null if the field is missing, or null; fails if it is not of that type.
  const Json* find(const char* name, bool (Json::*is)() const noexcept, const char* mistake) const;
  std::string place(const std::string& name) const { return where_.empty() ? name : where_ + "." + name; }

  std::string file_, where_;
  const Json* json_;
};

[[noreturn]] void fail_file(const std::string& file, const std::string& reason) {
  throw Error("'" + file + "' cannot be shown: " + reason);
}

Fields::Fields(const std::string& file, std::string where, const Json& json)
    : file_(file), where_(std::move(where)), json_(&json) {
  if (!json.is_object())
    fail_file(file_, (where_.empty() ? "it" : where_) + " is not an object but " + json.type_name());
}

void Fields::fail(const std::string& name, const std::string& what) const {
  fail_file(file_, place(name) + " " + what);
}

const Json* Fields::find(const char* name, bool (Json::*is)() const noexcept, const char* mistake) const {
  const auto found = json_->find(name);
  if (found == json_->end() || found->is_null()) return nullptr;
  if (!((*found).*is)()) fail(name, mistake);
  return &*found;
}

std::string Fields::text(const char* name) const {
  const Json* found = find(name, &Json::is_string, "is not text");
  return found == nullptr ? "" : found->get<std::string>();
}

std::string Fields::needed_text(const char* name) const {
  std::string out = text(name);
  if (out.empty()) fail(name, "is missing");
  return out;
}

std::optional<double> Fields::number(const char* name) const {
  const Json* found = find(name, &Json::is_number, "is not a number");
  if (found == nullptr) return std::nullopt;
  const auto out = found->get<double>();
  if (!std::isfinite(out)) fail(name, "is not finite");
  return out;
}

int Fields::whole(const char* name) const {
  const Json* found = find(name, &Json::is_number_integer, "is not a whole number");
  if (found == nullptr) return 0;
  const auto value = found->get<double>();
  if (!(std::abs(value) <= std::numeric_limits<int>::max())) fail(name, "is not a whole number");
  return static_cast<int>(value);
}

bool Fields::flag(const char* name) const {
  const Json* found = find(name, &Json::is_boolean, "is neither true nor false");
  return found != nullptr && found->get<bool>();
}

Dims Fields::dims(const char* name) const {
  Dims out;
  if (const auto found = object(name))
    for (const auto& [key, value] : found->json().items()) {
      if (!value.is_number_integer()) found->fail(key, "is not a whole number");
      out[key] = value.get<std::int64_t>();
    }
  return out;
}

Tuning Fields::tuning(const char* name) const {
  Tuning out;
  if (const auto found = object(name))
    for (const auto& [key, value] : found->json().items()) out.set(key, found->whole(key.c_str()));
  return out;
}

const Json& Fields::array(const char* name) const {
  static const Json empty = Json::array();
  const Json* found = find(name, &Json::is_array, "is not a list");
  return found == nullptr ? empty : *found;
}

std::vector<Fields> Fields::objects(const char* name) const {
  const Json& list = array(name);
  std::vector<Fields> out;
  for (std::size_t i = 0; i < list.size(); ++i)
    out.emplace_back(file_, fmt::format("{}[{}]", place(name), i), list[i]);
  return out;
}

std::optional<Fields> Fields::object(const char* name) const {
  const Json* found = find(name, &Json::is_object, "is not an object");
  if (found == nullptr) return std::nullopt;
  return Fields(file_, place(name), *found);
}

namespace {

constexpr int known_schema = 1;
constexpr std::array known_kinds{"bench",  "call",    "sweep", "tune",      "trace",
                                 "verify", "compare", "code",  "agreement", "study"};
constexpr std::array shown_as_tables{"verify", "compare", "code", "agreement"};

// The hint for a file of a single run, which a report cannot show.
std::string more_than_a_run(const Fields& fields) {
  const std::string name = fields.text("operation");
  return "`tessera bench" + (name.empty() ? "" : " " + name) +
         " … --json FILE` measures what a report shows, and so does --study "
         "of an operation that has one";
}

// Prefixes a line's names with `kind`, such as "global_load".
Counters counters_of(const Json& json, const std::string& kind = {}) {
  Counters out;
  for (const auto& [name, value] : json.items())
    if (value.is_number() && name != "line" && name != "width")
      out.emplace_back(kind.empty() ? name : kind + "." + name, value.get<double>());
  return out;
}

bool is_ratio(const std::string& counter) {
  return counter.ends_with("_per_request") || counter.ends_with("efficiency");
}

// Adds the counts of a line that loads and stores, or loads twice; ratios cannot be added and are left out.
void add_line(std::vector<SourceLine>& lines, SourceLine more) {
  const auto known = std::ranges::find_if(
      lines, [&](const SourceLine& l) { return l.line == more.line && l.file == more.file; });
  if (known == lines.end()) return lines.push_back(std::move(more));
  for (const auto& [name, value] : more.counters) {
    const auto same = std::ranges::find(known->counters, name, &std::pair<std::string, double>::first);
    if (same == known->counters.end()) known->counters.emplace_back(name, value);
    else if (is_ratio(name)) known->counters.erase(same);
    else same->second += value;
  }
}

void read_trace(const Fields& fields, Entry& out) {
  if (const auto counters = fields.object("counters")) out.counters = counters_of(counters->json());
  for (const Fields& line : fields.objects("lines"))
    add_line(out.lines, {line.text("file"), line.text("text"), line.whole("line"),
                         counters_of(line.object("counters").value_or(line).json(), line.text("kind"))});
  for (const Fields& finding : fields.objects("findings"))
    out.findings.push_back(
        {finding.text("kind"), finding.text("file"), finding.text("text"), finding.whole("line")});
}

Entry entry_of(const Fields& fields) {
  Entry out;
  out.dims = fields.dims("dims");
  out.element = fields.text("element");
  out.ladder = fields.text("ladder");
  out.variant = fields.needed_text("variant");
  out.place = fields.whole("place");
  out.tuning = fields.tuning("tuning");
  out.device = fields.text("device");
  out.verified = fields.text("verified");
  out.ceiling = fields.text("ceiling");
  out.mode = fields.text("mode");
  out.reason = fields.text("reason");
  out.previous = fields.text("previous");
  out.baseline = fields.flag("baseline");
  out.serial = fields.flag("serial");
  const std::pair<const char*, Number Entry::*> numbers[] = {{"median", &Entry::median},
                                                             {"q1", &Entry::q1},
                                                             {"q3", &Entry::q3},
                                                             {"minimum", &Entry::minimum},
                                                             {"p90", &Entry::p90},
                                                             {"other_load", &Entry::other_load},
                                                             {"samples", &Entry::samples},
                                                             {"round_trip", &Entry::round_trip},
                                                             {"gflops", &Entry::gflops},
                                                             {"gbps", &Entry::gbps},
                                                             {"bytes", &Entry::bytes},
                                                             {"flops", &Entry::flops},
                                                             {"roofline", &Entry::roofline},
                                                             {"fma_fraction", &Entry::fma_fraction},
                                                             {"clock_mhz", &Entry::clock_mhz},
                                                             {"power_w", &Entry::power_w},
                                                             {"joules", &Entry::joules},
                                                             {"throttled", &Entry::throttled},
                                                             {"occupancy", &Entry::occupancy},
                                                             {"blocks", &Entry::blocks},
                                                             {"blocks_traced", &Entry::blocks_traced},
                                                             {"ratio_serial", &Entry::ratio_serial},
                                                             {"ratio_previous", &Entry::ratio_previous},
                                                             {"ratio_baseline", &Entry::ratio_baseline},
                                                             {"error_over_bound", &Entry::error_over_bound},
                                                             {"relative_l2", &Entry::relative_l2}};
  for (const auto& [name, member] : numbers) out.*member = fields.number(name);
  if (out.median && !(*out.median > 0)) fields.fail("median", "is not a time");
  for (const Json& sample : fields.array("seconds"))
    if (sample.is_number()) out.seconds.push_back(sample.get<double>());
  if (!out.p90 && !out.seconds.empty()) out.p90 = bench::summarize(out.seconds).p90;
  read_trace(fields, out);
  for (const Fields& part : fields.objects("split"))
    out.split.push_back(
        {part.needed_text("device"), part.number("share"), part.number("seconds"), part.number("gflops")});
  return out;
}

DeviceFacts device_of(const Fields& fields) {
  DeviceFacts out{fields.needed_text("label"), fields.text("name"), fields.text("driver"), {}, {}};
  const auto ceilings = fields.object("ceilings");
  if (!ceilings) return out;
  out.memory_gbps = ceilings->number("memory_gbps");
  if (const auto rates = ceilings->object("gflops"))
    for (const auto& [element, value] : rates->json().items())
      if (const Number rate = rates->number(element.c_str())) out.gflops[element] = *rate;
  return out;
}

std::string command_of(const Json& argv) {
  std::string out;
  for (const Json& word : argv)
    if (word.is_string()) out += (out.empty() ? "" : " ") + word.get<std::string>();
  return out;
}

void read_provenance(const Fields& fields, Document& out) {
  const auto add = [&out](const char* name, const std::string& value) {
    if (!value.empty()) out.provenance.emplace_back(name, value);
  };
  add("file", out.path);
  add("command", command_of(fields.array("argv")));
  add("date", fields.text("date"));
  std::string version = fields.text("version");
  if (const std::string git = fields.text("git"); !git.empty()) version += " (" + git + ")";
  add("Tessera", version);
  add("compiler", fields.text("compiler"));
  add("flags", fields.text("flags"));
  if (const auto cuda = fields.object("cuda")) {
    add("compiler for GPUs", cuda->text("compiler") + " for " + cuda->text("architectures"));
    add("flags for GPUs", cuda->text("flags"));
  }
  for (const DeviceFacts& device : out.devices)
    add(device.label.c_str(), device.name + (device.driver.empty() ? "" : ", " + device.driver));
  if (const auto machine = fields.object("machine")) {
    add("processor", machine->text("processor"));
    if (const Number threads = machine->number("threads")) add("threads", count(*threads));
    add("system", machine->text("system"));
  }
  add("inputs", fields.text("distribution"));
  if (const Number seed = fields.number("seed")) add("seed", fmt::format("{:.0f}", *seed));
  out.caches = fields.text("caches");
  add("caches", out.caches);
}

Cell cell_of(const Json& value) {
  if (value.is_string()) return {value.get<std::string>()};
  if (value.is_number_integer()) return {value.dump(), value.get<double>()};
  if (value.is_number()) return {figure(value.get<double>()), value.get<double>()};
  if (value.is_boolean()) return {value.get<bool>() ? "yes" : "no"};
  return {};
}

// Rows of kinds without rungs: the fields that are single values, in the order of their appearance.
void read_cells(const std::vector<Fields>& rows, Document& out) {
  for (const Fields& row : rows)
    for (const auto& [name, value] : row.json().items())
      if (!value.is_structured() && std::ranges::find(out.columns, name) == out.columns.end())
        out.columns.push_back(name);
  for (const Fields& row : rows) {
    auto& cells = out.cells.emplace_back();
    for (const std::string& name : out.columns) cells.push_back(cell_of(row.json().value(name, Json())));
  }
}

std::vector<std::string> texts_of(const Fields& fields, const char* name) {
  std::vector<std::string> out;
  for (const Json& text : fields.array(name)) {
    if (!text.is_string()) fields.fail(name, "holds something that is no text");
    out.push_back(text.get<std::string>());
  }
  return out;
}

std::vector<double> numbers_of(const Fields& fields, const Json& cell) {
  std::vector<double> out;
  const auto add = [&](const Json& value) {
    if (value.is_number()) out.push_back(value.get<double>());
    else if (!value.is_null()) fields.fail("rows", "holds something that is no number");
  };
  if (cell.is_array()) std::ranges::for_each(cell, add);
  else add(cell);
  return out;
}

StudiedTable studied_of(const Fields& fields) {
  StudiedTable out{fields.needed_text("title"),
                   texts_of(fields, "columns"),
                   texts_of(fields, "shows"),
                   {},
                   texts_of(fields, "remarks")};
  if (out.columns.empty()) fields.fail("columns", "are missing");
  if (out.shows.size() != out.columns.size()) fields.fail("shows", "do not go with the columns");
  for (const Json& row : fields.array("rows")) {
    if (!row.is_array() || row.size() != out.columns.size())
      fields.fail("rows", "do not go with the columns");
    auto& cells = out.rows.emplace_back();
    for (const Json& cell : row) cells.push_back(numbers_of(fields, cell));
  }
  return out;
}

bench::Verdict judged(const Entry& before, const Entry& now) {
  const auto samples = [](const Entry& entry) {
    bench::Record record;
    record.device = entry.device;
    record.seconds = entry.seconds;
    record.other_load = entry.other_load;
    return bench::samples_of(record);
  };
  return bench::judge(samples(before), samples(now));
}

// Leaves out the ratios that `compare` refuses. The row that a ratio refers to is the one whose median gives
// it.
void drop_open_ratios(std::vector<Entry>& rows) {
  for (Entry& row : rows)
    for (Number Entry::*ratio : {&Entry::ratio_serial, &Entry::ratio_previous, &Entry::ratio_baseline}) {
      if (!(row.*ratio) || !row.median || row.seconds.empty()) continue;
      const double median = *(row.*ratio) * *row.median;
      const auto to = std::ranges::find_if(rows, [&](const Entry& other) {
        return other.dims == row.dims && other.element == row.element && other.mode == row.mode &&
               other.median && std::abs(*other.median / median - 1) < 1e-9;
      });
      if (to == rows.end() || (&*to != &row && !settled(*to, row))) row.*ratio = {};
    }
}

}  // namespace

bool settled(const Entry& a, const Entry& b) {
  return a.seconds.empty() || b.seconds.empty() || judged(a, b).change != bench::Change::ambiguous;
}

bool is_faster(const Entry& than, const Entry& entry) {
  if (than.seconds.empty() || entry.seconds.empty()) return entry.median < than.median;
  return judged(than, entry).change == bench::Change::faster;
}

Number Entry::work() const {
  if (flops) return flops;
  if (!gflops || !median) return std::nullopt;
  return *gflops * 1e9 * *median;
}

Number Entry::intensity() const {
  const Number needed = work();
  if (!needed || !bytes || !(*bytes > 0) || !(*needed > 0)) return std::nullopt;
  return *needed / *bytes;
}

Number Entry::spread() const {
  if (!median || !q1 || !q3 || !(samples.value_or(0) > 1)) return std::nullopt;
  return (*q3 - *q1) / 2 / *median;
}

Number Entry::counter(const std::string& name) const {
  const auto found = std::ranges::find(counters, name, &std::pair<std::string, double>::first);
  return found == counters.end() ? Number() : Number(found->second);
}

std::string Entry::time() const {
  if (!median) return "not run";
  std::string out = seconds_in_text(*median);
  if (minimum && p90)
    out += fmt::format(" (least {}, p90 {})", seconds_in_text(*minimum), seconds_in_text(*p90));
  return out;
}

std::string Entry::rung() const { return fmt::format("{:02} {}", place, variant); }

const DeviceFacts* Document::device(const std::string& label) const {
  const auto found = std::ranges::find(devices, label, &DeviceFacts::label);
  return found == devices.end() ? nullptr : &*found;
}

Document parse_document(const std::string& path, const std::string& text) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    fail_file(path, error.what());
  }
  const Fields fields(path, "", json);
  Document out;
  out.path = path;
  if (!fields.number("schema")) fail_file(path, "schema is missing");
  if (fields.whole("schema") != known_schema)
    fail_file(path, fmt::format("its schema is {}, and this program reads {}", fields.whole("schema"),
                                known_schema));
  out.kind = fields.needed_text("kind");
  if (std::ranges::find(known_kinds, out.kind) == known_kinds.end())
    fail_file(path,
              out.kind == "run"
                  ? "it holds a single run, of which there is nothing to draw: " + more_than_a_run(fields)
                  : "its kind '" + out.kind + "' is not one that a report can show: those are " +
                        fmt::format("{}", fmt::join(known_kinds, ", ")));
  out.operation = fields.text("operation");
  for (const Fields& device : fields.objects("devices")) out.devices.push_back(device_of(device));
  read_provenance(fields, out);
  if (out.kind == "study") {
    for (const Fields& table : fields.objects("tables")) out.studied.push_back(studied_of(table));
    return out;
  }
  if (!json.contains("rows")) fail_file(path, "rows are missing");
  const std::vector<Fields> rows = fields.objects("rows");
  if (std::ranges::find(shown_as_tables, out.kind) != shown_as_tables.end())
    return read_cells(rows, out), out;
  for (const Fields& row : rows) out.rows.push_back(entry_of(row));
  drop_open_ratios(out.rows);
  return out;
}

Document read_document(const std::string& path) {
  const auto refuse = [&path](const std::string& reason) {
    throw Error("cannot read '" + path + "': " + reason);
  };
  if (std::filesystem::is_directory(path)) refuse("it is a folder");
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(std::strerror(errno));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) refuse(std::strerror(errno));
  return parse_document(path, text);
}

std::string to_string(const Dims& dims) {
  // m, n, k come in their customary order.
  std::vector<std::string> names;
  for (const auto& [name, value] : dims) names.push_back(name);
  std::ranges::stable_sort(names, {}, [](const std::string& n) {
    return n == "k" ? 2 : n == "n" ? 1 : n == "m" ? 0 : 3;
  });
  std::vector<std::pair<std::int64_t, std::string>> sizes;  // those that agree are named together: "m = n = "
  for (const auto& name : names) {
    auto size = std::ranges::find(sizes, dims.at(name), &std::pair<std::int64_t, std::string>::first);
    if (size == sizes.end()) size = sizes.insert(sizes.end(), {dims.at(name), ""});
    size->second += name + " = ";
  }
  std::string out;
  for (const auto& [size, its_names] : sizes)
    out += (out.empty() ? "" : ", ") + its_names + std::to_string(size);
  return out;
}

}  // namespace tessera::report
