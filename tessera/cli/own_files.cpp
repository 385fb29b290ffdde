// SPDX-License-Identifier: Apache-2.0
// `tessera run` and `tessera trace` of CUDA files: compiles them for this machine, runs their program as a
// child process, and shows what its launches did.
#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include "tessera/cli/command.hpp"
#include "tessera/cli/option_parser.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/frontend/own_program.hpp"
#include "tessera/report/table.hpp"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;
using report::Table;

struct Options {
  std::vector<std::string> files, include_folders, definitions, replacements, arguments;
  std::string json, gpu;
  bool strict = false;
};

constexpr const char* about_run =
    "Compiles CUDA files with g++ for the executor and runs their program. It needs no GPU and no CUDA "
    "toolkit.\n"
    "The program's output, input and exit code are its own. What goes wrong is told on standard error.";

constexpr const char* about_own_trace =
    "Compiles CUDA files with g++ and runs their program with every access watched: what each line of a "
    "kernel\n"
    "asks of memory, and what is wrong. Tables and findings go to standard error. Exit code 4: a race or a "
    "memory\n"
    "error; otherwise the program's own.";

void declare(OptionParser& parser, Options& options) {
  parser.positionals("FILE…", options.files, "");
  parser.values("-I,--include", options.include_folders, "a folder of headers", "DIR");
  parser.values("-D,--define", options.definitions, "a macro, as of g++", "NAME[=VALUE]");
  parser.values("--set", options.replacements,
                "another first value of a constant, a variable or a macro that the files define",
                "NAME=VALUE");
  parser.value("--gpu", options.gpu, "the device that the program sees [h200]", "NAME");
  parser.value("--json", options.json, "launches and findings; - is standard output", "FILE");
}

std::vector<frontend::Replacement> replacements_of(const std::vector<std::string>& words) {
  std::vector<frontend::Replacement> out;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == word.npos || equals + 1 == word.size())
      throw Error("--set needs NAME=VALUE, not '" + word + "'");
    out.push_back({word.substr(0, equals), word.substr(equals + 1)});
  }
  return out;
}

// What the program's runtime has written: a JSON object on each line.
struct Record {
  std::vector<Json> launches, findings;
  std::map<std::int64_t, std::int64_t> repeated;  // how often a launch was not run again
  std::vector<std::string> notes;
};

Record read_record(const std::string& path) {
  Record out;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) continue;  // the program ended while it was written
    const std::string kind = json.value("record", "");
    if (kind == "launch") out.launches.push_back(json);
    if (kind == "finding") out.findings.push_back(json);
    if (kind == "note") out.notes.push_back(json.value("text", ""));
    if (kind == "repeated")
      out.repeated[json.value("launch", std::int64_t{0})] += json.value("times", std::int64_t{0});
  }
  return out;
}

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

std::string place(const Json& of, const char* file = "file", const char* line = "line") {
  if (!of.contains(line)) return {};
  return file_name(of.value(file, "")) + ":" + std::to_string(of.value(line, 0));
}

std::string extents(const Json& of) {
  std::vector<std::int64_t> values = of;
  while (values.size() > 1 && values.back() == 1) values.pop_back();
  std::string out;
  for (const std::int64_t value : values) out += (out.empty() ? "" : "×") + std::to_string(value);
  return out;
}

// Launches that differ in nothing but their number are one row.
struct Group {
  const Json* first = nullptr;
  std::int64_t times = 0;
  double seconds = 0;
};

std::vector<Group> groups(const Record& record) {
  std::vector<Group> out;
  std::map<std::string, std::size_t> known;
  for (const Json& launch : record.launches) {
    Json key = Json::array();
    for (const char* field :
         {"kernel", "file", "line", "grid", "block", "static_shared", "dynamic_shared", "error"})
      key.push_back(launch.value(field, Json()));
    const auto [found, added] = known.try_emplace(key.dump(), out.size());
    if (added) out.push_back({.first = &launch});
    Group& group = out[found->second];
    const auto repeats = record.repeated.find(launch.value("number", std::int64_t{0}));
    group.times += 1 + (repeats == record.repeated.end() ? 0 : repeats->second);
    group.seconds += launch.value("seconds", 0.0);
  }
  return out;
}

std::string launches_table(const std::vector<Group>& launches) {
  Table table({{"launch", Table::Align::left},
               {"at", Table::Align::left},
               {"grid", Table::Align::left},
               {"block", Table::Align::left},
               {"times"},
               {"shared"},
               {"occupancy", Table::Align::right, true},
               {"limited by", Table::Align::left, true, 2},
               {"time", Table::Align::right, false, 1},
               {"error", Table::Align::left, true}});
  for (const Group& group : launches) {
    const Json& launch = *group.first;
    const Json occupancy = launch.value("occupancy", Json::object());
    const std::int64_t shared =
        launch.value("static_shared", std::int64_t{0}) + launch.value("dynamic_shared", std::int64_t{0});
    table.add(
        {launch.value("kernel", ""), place(launch), extents(launch.at("grid")), extents(launch.at("block")),
         std::to_string(group.times), shared == 0 ? "0" : report::bytes(shared),
         occupancy.contains("fraction") ? fmt::format("{:.0f} %", 100 * occupancy.value("fraction", 0.0))
                                        : "",
         occupancy.value("limit", ""), report::seconds(group.seconds),
         launch.value("error", Json()).is_string() ? launch.at("error").get<std::string>() : ""});
  }
  return table.text();
}

std::string ratio(const Json& of, const char* above, const char* below) {
  const double divisor = of.value(below, 0.0);
  return divisor == 0 ? "" : report::number(of.value(above, 0.0) / divisor);
}

// What each line asks of memory, in the launch of each group that was traced.
std::string lines_table(const std::vector<Group>& launches) {
  Table table({{"launch", Table::Align::left},
               {"line", Table::Align::left},
               {"array", Table::Align::left},
               {"", Table::Align::left},
               {"requests"},
               {"sectors/request", Table::Align::right, true},
               {"efficiency", Table::Align::right, true},
               {"wavefronts/request", Table::Align::right, true},
               {"bytes", Table::Align::right, false, 1}});
  for (const Group& group : launches) {
    const Json sites = group.first->value("sites", Json::array());
    bool first = true;
    for (const Json& site : sites) {
      const bool global = site.value("space", "") == "global";
      const double sectors = site.value("sectors", 0.0);
      table.add({first ? group.first->value("kernel", "") : " ", place(site), site.value("array", ""),
                 site.value("act", "") + " " + site.value("space", ""),
                 std::to_string(site.value("requests", std::int64_t{0})),
                 global ? ratio(site, "sectors", "requests") : "",
                 global && sectors > 0
                     ? fmt::format("{:.0f} %", 100 * site.value("ideal_sectors", 0.0) / sectors)
                     : "",
                 global ? "" : ratio(site, "wavefronts", "requests"),
                 report::bytes(site.value("bytes", std::int64_t{0}))});
      first = false;
    }
  }
  return table.empty() ? "" : table.text();
}

std::string findings_text(const std::vector<Json>& findings) {
  std::string out;
  for (const Json& finding : findings) {
    const std::string at = place(finding), kernel = finding.value("kernel", "");
    out += fmt::format("{}{}{}{}: {}\n", at.empty() ? "" : at + ": ",
                       finding.value("serious", true) ? "error" : "warning",
                       ": " + finding.value("what", std::string()), kernel.empty() ? "" : " in " + kernel,
                       finding.value("text", ""));
    if (const std::uint64_t times = finding.value("times", std::uint64_t{1}); times > 1)
      out += fmt::format("  {} times\n", times);
  }
  return out;
}

Json to_json(const Record& record, const frontend::Ending& ending) {
  Json repeated = Json::array();
  for (const auto& [launch, times] : record.repeated)
    repeated.push_back({{"launch", launch}, {"times", times}});
  return {{"schema", 1},
          {"kind", "own_files"},
          {"exit_code", ending.signal == 0 ? Json(ending.code) : Json(nullptr)},
          {"signal", ending.signal == 0 ? Json(nullptr) : Json(ending.signal)},
          {"launches", record.launches},
          {"repeated", repeated},
          {"findings", record.findings},
          {"notes", record.notes}};
}

// A file of this process that is deleted with the object.
class TemporaryFile {
 public:
  TemporaryFile() : path_((std::filesystem::temp_directory_path() / "tessera-XXXXXX").string()) {
    const int file = mkstemp(path_.data());
    if (file < 0) throw Error("cannot create a file in " + std::filesystem::temp_directory_path().string());
    close(file);
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

bool has_errors(const Record& record, bool strict) {
  return std::ranges::any_of(record.findings,
                             [&](const Json& finding) { return strict || finding.value("serious", true); });
}

int run_files(const Options& options, bool traced) {
  std::FILE* const json = options.json.empty() ? nullptr : table_stream(options.json);
  frontend::Source source{.files = options.files,
                          .include_folders = options.include_folders,
                          .definitions = options.definitions,
                          .replacements = replacements_of(options.replacements),
                          .traced = traced,
                          .coloured = isatty(STDERR_FILENO) != 0};
  std::optional<frontend::OwnProgram> program;
  try {
    program.emplace(source);
  } catch (const frontend::Refusal& refusal) {
    fmt::print(stderr, "{}\n{}", refusal.what(), frontend::excerpt(refusal.place));
    return exit_code::user;
  } catch (const frontend::CompilerError& error) {
    fmt::print(stderr, "{}", error.what());
    return exit_code::user;
  }
  const TemporaryFile record_file;
  std::vector<std::string> variables{"TESSERA_CUDA_RECORD=" + record_file.path()};
  if (traced) variables.emplace_back("TESSERA_CUDA_TRACE=1");
  if (!options.gpu.empty()) variables.push_back("TESSERA_CUDA_GPU=" + options.gpu);
  std::fflush(stdout);
  const frontend::Ending ending = frontend::run_program(program->path(), options.arguments, variables);
  const Record record = read_record(record_file.path());
  if (traced) {
    const auto launches = groups(record);
    if (!launches.empty()) fmt::print(stderr, "\n{}\n{}", launches_table(launches), lines_table(launches));
  }
  for (const std::string& note : record.notes) fmt::print(stderr, "note: {}\n", note);
  if (const std::string text = findings_text(record.findings); !text.empty())
    fmt::print(stderr, "\n{}", text);
  if (json != nullptr) write_json(options.json, to_json(record, ending));
  if (ending.signal != 0)
    fmt::print(stderr, "the program was ended by signal {} ({})\n", ending.signal, strsignal(ending.signal));
  if (has_errors(record, options.strict) && (traced || options.strict)) return exit_code::memory;
  constexpr int of_signals = 128;  // as shells tell it
  return ending.signal != 0 ? of_signals + ending.signal : ending.code;
}

// The program's arguments stand behind "--".
bool read(OptionParser& parser, const Command& command, Options& options) {
  const auto end = std::ranges::find(command.words, "--");
  if (end != command.words.end()) options.arguments.assign(end + 1, command.words.end());
  if (!parser.read({command.words.begin(), end})) return fmt::print("{}\n", parser.help()), false;
  if (options.files.empty()) throw Error("which file? usage: tessera run FILE.cu… [FLAGS] [-- ARGUMENTS]");
  return true;
}

}  // namespace

bool names_own_files(const Command& command) {
  for (const std::string& word : command.words) {
    if (word == "--") break;
    const std::string extension = std::filesystem::path(word).extension().string();
    if (!word.starts_with('-') && (extension == ".cu" || extension == ".cpp" || extension == ".cc"))
      return true;
  }
  return false;
}

int run_own_files(const Command& command) {
  Options options;
  OptionParser parser("run", "tessera run FILE.cu… [FLAGS] [-- ARGUMENTS]", about_run);
  declare(parser, options);
  parser.closing(exit_codes);
  return read(parser, command, options) ? run_files(options, false) : exit_code::passed;
}

int trace_own_files(const Command& command) {
  Options options;
  OptionParser parser("trace", "tessera trace FILE.cu… [FLAGS] [-- ARGUMENTS]", about_own_trace);
  declare(parser, options);
  parser.flag("--strict", options.strict, "exit code 4 for every finding");
  parser.closing(exit_codes);
  if (!read(parser, command, options)) return exit_code::passed;
  return run_files(options, true);
}

}  // namespace tessera::cli
