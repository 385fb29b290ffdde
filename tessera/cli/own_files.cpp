// SPDX-License-Identifier: Apache-2.0
// `tessera run` and `tessera trace` of CUDA files: compile them for this machine, run the program as a child
// process, and report its launches.
#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <limits>
#include "tessera/cli/command.hpp"
#include "tessera/cli/files.hpp"
#include "tessera/cli/option_parser.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/frontend/compile/function_call.hpp"
#include "tessera/frontend/explain/explain.hpp"
#include "tessera/frontend/compile/own_program.hpp"
#include "tessera/frontend/explain/trace_page.hpp"
#include "tessera/io/atomic_file.hpp"
#include "tessera/io/temporary_folder.hpp"

namespace tessera::cli {
namespace {

using frontend::Json;

struct Options {
  std::vector<std::string> files, include_folders, definitions, replacements, arguments, why;
  std::string json, gpu, page, svg, blocks;
  frontend::CallOptions call;
  bool strict = false, verbose = false;
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

// `verbose`: what else -v shows.
void declare(OptionParser& parser, Options& options, const std::string& verbose = {}) {
  parser.positionals("FILE…", options.files, "");
  parser.values("-I,--include", options.include_folders, "a folder of headers", "DIR");
  parser.values("-D,--define", options.definitions, "a macro, as of g++", "NAME[=VALUE]");
  parser.values("--set", options.replacements,
                "another first value of a constant, a variable or a macro that the files define",
                "NAME=VALUE");
  parser.value("--gpu", options.gpu, "the device that the program sees [h200]", "NAME");
  parser.value(
      "--call", options.call.call,
      "of files without main(): the function to call, or 'KERNEL<<<GRID, BLOCK>>>(…)'. Arguments are "
      "numbers, arrays, and names that NAME=NUMBER gives beside the files",
      "'NAME(ARGUMENTS)'");
  parser.values("--in", options.call.in,
                "an array of --call: a .npy file, or the shape of made-up numbers such as 64x64 or nxk",
                "NAME=FILE|SHAPE");
  parser.values("--out", options.call.out, "an array that --call writes", "NAME=SHAPE");
  parser.values("--expect", options.call.expect, "a .npy file that a result must equal; else exit code 1",
                "NAME=FILE");
  parser.values("--save", options.call.save, "a .npy file to write a result to", "NAME=FILE");
  parser.flag("-v,--verbose", options.verbose, "shows the main() that --call makes" + verbose);
  parser.value(
      "--json", options.json,
      "launches and findings; - is standard output, and the program's own output goes to standard error",
      "FILE");
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

using frontend::Record;

Json to_json(const Record& record, int exit_code, const frontend::Ending& ending,
             const std::vector<frontend::CallResult>& results) {
  Json repeated = Json::array();
  for (const auto& [launch, times] : record.repeated)
    repeated.push_back({{"launch", launch}, {"times", times}});
  Json arrays = Json::array();
  for (const frontend::CallResult& result : results) arrays.push_back(result.json());
  return {{"schema", 1},
          {"kind", "own_files"},
          {"exit_code", exit_code},
          {"program_exit_code", ending.signal == 0 ? Json(ending.code) : Json(nullptr)},
          {"signal", ending.signal == 0 ? Json(nullptr) : Json(ending.signal)},
          {"launches", record.launches},
          {"repeated", repeated},
          {"findings", record.findings},
          {"advice", frontend::to_json(frontend::advice_of(frontend::groups_of(record)))},
          {"arrays", arrays},
          {"notes", record.notes}};
}

void print_tables(const std::vector<frontend::LaunchGroup>& launches) {
  if (launches.empty()) return;
  fmt::print(stderr, "\n{}", frontend::launches_table(launches).text());
  for (const frontend::LaunchGroup& group : launches) {
    const report::Table lines = frontend::lines_table(frontend::costs_of(*group.launch));
    if (lines.empty()) continue;
    fmt::print(stderr, "\n{}, launch {}\n{}\n{}", group.launch->value("kernel", ""),
               group.launch->value("number", 0), lines.text(), frontend::arrays_table(*group.launch).text());
  }
}

bool has_errors(const Record& record, bool strict);

// Prints errors first, then costs, and a verdict. The tables of costs are left out if there are errors.
void explain(const Record& record, const Options& options, bool traced) {
  std::vector<frontend::Remark> remarks = frontend::remarks_of(record.findings);
  const auto launches = frontend::groups_of(record);
  if (traced && options.why.empty()) {
    if (options.verbose || !has_errors(record, false)) print_tables(launches);
    std::ranges::copy(frontend::remarks_of(frontend::advice_of(launches)), std::back_inserter(remarks));
  }
  if (const std::string text = to_string(remarks, isatty(STDERR_FILENO) != 0); !text.empty())
    fmt::print(stderr, "\n{}", text);
  for (const std::string& note : record.notes) fmt::print(stderr, "note: {}\n", note);
  if (!traced) return;
  if (!options.why.empty() && !launches.empty())
    fmt::print(stderr, "\n{}", frontend::why_text(launches, options.why[0], options.why[1]));
  fmt::print(stderr, "{}{}\n", launches.empty() ? "no kernel of this program was launched; " : "",
             frontend::summary_of(remarks));
}

bool has_errors(const Record& record, bool strict) {
  return std::ranges::any_of(record.findings,
                             [&](const Json& finding) { return strict || finding.value("serious", true); });
}

// For --call: a failed launch whose error was never queried wrote nothing.
bool is_right(const Record& record, const std::vector<frontend::CallResult>& results) {
  return std::ranges::all_of(results, [](const frontend::CallResult& result) { return result.wrong == 0; }) &&
         std::ranges::none_of(record.findings, [](const Json& finding) {
           return finding.value("what", "") == "launch error";
         });
}

// `results`: those of --call; null: there is no call.
int exit_code_of(const Record& record, const frontend::Ending& ending,
                 const std::vector<frontend::CallResult>* results, const Options& options, bool traced) {
  constexpr int of_signals = 128;  // the convention of shells
  if (ending.signal == SIGINT || ending.signal == SIGTERM) return of_signals + ending.signal;
  if (has_errors(record, options.strict) && (traced || options.strict)) return exit_code::memory;
  if (results != nullptr && ending.code == 0 && !is_right(record, *results)) return exit_code::wrong;
  return ending.signal != 0 ? of_signals + ending.signal : ending.code;
}

int run_files(const Options& options, bool traced) {
  std::FILE* const json = options.json.empty() ? nullptr : table_stream(options.json);
  require_files_of_their_own({{"--json", options.json}, {"--page", options.page}, {"--svg", options.svg}},
                             options.files, {});
  if (!options.page.empty() && options.page != "-") require_writable(options.page);
  frontend::Source source{.files = options.files,
                          .include_folders = options.include_folders,
                          .definitions = options.definitions,
                          .replacements = replacements_of(options.replacements),
                          .traced = traced,
                          .coloured = isatty(STDERR_FILENO) != 0};
  std::optional<frontend::OwnProgram> program;
  std::optional<frontend::Call> call;
  try {
    if (!options.call.call.empty()) call.emplace(options.call, source);
    if (call && options.verbose) fmt::print(stderr, "{}\n", call->main_text());
    program.emplace(source);
  } catch (const frontend::Refusal& refusal) {
    fmt::print(stderr, "{}\n{}", refusal.what(), frontend::excerpt(refusal.place));
    return exit_code::user;
  } catch (const frontend::CompilerError& error) {
    fmt::print(stderr, "{}", error.what());
    return exit_code::user;
  }
  const TemporaryFolder scratch;
  const std::string record_file = scratch.file("record");
  std::vector<std::string> variables{"TESSERA_CUDA_RECORD=" + record_file};
  if (traced) variables.push_back("TESSERA_CUDA_TRACE=1");
  if (!options.blocks.empty()) variables.push_back("TESSERA_CUDA_BLOCKS=" + options.blocks);
  if (!options.gpu.empty()) variables.push_back("TESSERA_CUDA_GPU=" + options.gpu);
  std::fflush(stdout);
  const frontend::Ending ending =
      frontend::run_program(program->path(), call ? call->arguments() : options.arguments, variables,
                            options.json == "-" || options.page == "-");
  Record record = frontend::read_record(record_file);
  // A program that queries the error of a launch, and still succeeds, knows of it.
  if (!call && ending.signal == 0 && ending.code == 0)
    std::erase_if(record.findings, [](const Json& finding) {
      return finding.value("what", "") == "launch error" && !finding.contains("queried");
    });
  for (const frontend::Warning& warning : program->warnings())
    record.findings.push_back({{"record", "finding"},
                               {"what", "compiler"},
                               {"serious", false},
                               {"text", warning.text},
                               {"file", warning.file},
                               {"line", warning.line},
                               {"remedy", warning.remedy}});
  std::vector<frontend::CallResult> results;
  if (call && ending.signal == 0 && ending.code == 0) results = call->results();
  for (const frontend::CallResult& result : results)
    fmt::print(json == nullptr ? stdout : json, "{}", result.text());
  std::fflush(stdout);
  explain(record, options, traced);
  const int code = exit_code_of(record, ending, call ? &results : nullptr, options, traced);
  if (json != nullptr) write_json(options.json, to_json(record, code, ending, results));
  write_text(options.page, options.page.empty() ? "" : frontend::trace_page(record, options.files));
  if (!options.svg.empty())
    write_text(options.svg, frontend::costliest_svg(frontend::costs_of(frontend::groups_of(record))));
  if (ending.signal != 0)
    fmt::print(stderr, "the program was ended by signal {} ({})\n", ending.signal, strsignal(ending.signal));
  return code;
}

// Throws Error for options of --call without it.
void require_call(const Options& options) {
  const frontend::CallOptions& call = options.call;
  if (!call.call.empty()) {
    if (!options.arguments.empty()) throw Error("a program that --call makes takes no arguments behind --");
    return;
  }
  if (!call.values.empty())
    throw Error(call.values[0] + ": only --call takes numbers; the program's arguments stand behind --");
  const std::pair<const char*, const std::vector<std::string>&> flags[] = {
      {"--in", call.in}, {"--out", call.out}, {"--expect", call.expect}, {"--save", call.save}};
  for (const auto& [flag, given] : flags)
    if (!given.empty()) throw Error(std::string(flag) + " needs --call 'NAME(ARGUMENTS)'");
}

// The program's arguments follow "--".
bool read(OptionParser& parser, const Command& command, Options& options) {
  const auto end = std::ranges::find(command.words, "--");
  if (end != command.words.end()) options.arguments.assign(end + 1, command.words.end());
  if (!parser.read({command.words.begin(), end})) return false;
  std::erase_if(options.files, [&](const std::string& word) {
    const bool value = word.find('=') != word.npos && !std::filesystem::exists(word);
    if (value) options.call.values.push_back(word);
    return value;
  });
  require_call(options);
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
  OptionParser parser("run", "tessera run FILE.cu… [NAME=NUMBER…] [FLAGS] [-- ARGUMENTS]", about_run);
  declare(parser, options);
  return read(parser, command, options) ? run_files(options, false) : exit_code::passed;
}

int trace_own_files(const Command& command) {
  Options options;
  OptionParser parser("trace", "tessera trace FILE.cu… [NAME=NUMBER…] [FLAGS] [-- ARGUMENTS]",
                      about_own_trace);
  declare(parser, options, ", and the tables although there are errors");
  parser.pair("--why", options.why, "what of two kernels' accesses differs, in words", "KERNEL KERNEL");
  parser.value("--page", options.page,
               "the source with what its lines cost, and drawings of their requests, as one HTML page",
               "FILE");
  parser.value("--svg", options.svg, "a drawing of the costliest request alone", "FILE");
  parser.value(
      "--blocks", options.blocks,
      "traces so many blocks of each launch, evenly spread; all: each one. Else all of the first launch of a "
      "line, unless that is large, and some of later ones",
      "N");
  parser.flag("--strict", options.strict, "exit code 4 for every finding");
  if (!read(parser, command, options)) return exit_code::passed;
  if (!options.blocks.empty() && options.blocks != "all")
    options.blocks =
        std::to_string(count_named("--blocks", options.blocks, 1, std::numeric_limits<int>::max()));
  return run_files(options, true);
}

}  // namespace tessera::cli
