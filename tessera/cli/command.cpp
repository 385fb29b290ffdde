// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/command.hpp"
#include <fmt/format.h>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include "tessera/cli/ranks.hpp"
#include "tessera/cli/option_parser.hpp"
#include "tessera/bench/machine.hpp"
#include "tessera/load.hpp"
#include "tessera/report/table.hpp"

namespace tessera::cli {

const char* const exit_codes =
    "Exit codes:\n"
    "    0  success: every check passed\n"
    "    1  a wrong result\n"
    "    2  a usage error, or a file that cannot be read or written\n"
    "    3  something became slower\n"
    "    4  a memory or synchronization error in a kernel\n"
    "    5  the requested device is not usable, or everything was skipped\n"
    "    6  an internal error\n"
    "    7  a result that does not reach the requested tolerance\n"
    "  130  interrupted\n"
    "Every flag --some-flag has an environment variable, TESSERA_SOME_FLAG.";

namespace {

struct Verb {
  const char *name, *summary;
  int (*run)(const Command&);
};

constexpr Verb verbs[] = {
    {"list", "operations; or the ladder of one, and whether each rung runs here", list},
    {"devices", "what this machine offers, and how fast it is at most", devices},
    {"run", "CUDA files of one's own, without a GPU: compiles them and runs their program", run_own_files},
    {"verify", "every variant, choice, case and element against the reference", verify},
    {"check", "a matrix product that any library computed: is it right, and what is wrong with it", check},
    {"bench", "times variants in turn, and checks their results", bench},
    {"sweep", "times every configuration of variants: launch shapes, tunings", sweep},
    {"tune", "searches for the fastest configuration, which later calls then use", tune},
    {"code", "what the compiler made of each kernel: registers, spills, widths of its accesses", code},
    {"trace", "what kernels, or CUDA files of one's own, ask of memory, line by line; their races", trace},
    {"compare", "two results of bench: what became faster or slower", compare},
    {"report", "results as one HTML page, or a chart of it as SVG or PNG", report},
};

void print_help() {
  report::Table table({{"verb", report::Table::Align::left}, {"", report::Table::Align::left}});
  for (const Verb& verb : verbs) table.add({verb.name, verb.summary});
  for (const Operation& operation : operations()) table.add({operation.name, operation.summary});
  fmt::print(
      "Usage: tessera [--load FILE.so]… VERB [WORDS…]\n\n{}\n"
      "tessera VERB --help says more; tessera --version tells the version.\n"
      "--load brings rungs and operations of your own (docs/own-kernels.md).\n\n{}\n",
      table.text(), exit_codes);
}

void print_version() {
  const bench::Build build = bench::this_build();
  fmt::print("tessera {}{}\n", build.version.empty() ? "(version unknown)" : build.version,
             build.git.empty() ? "" : " (" + build.git + ")");
}

// Loads the files of --load, before or after the verb, otherwise of TESSERA_LOAD (separated by colons);
// returns the other words.
std::vector<std::string> without_loads(const std::vector<std::string>& words) {
  constexpr std::string_view flag = "--load", with_value = "--load=";
  std::vector<std::string> files, others;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with(with_value)) {
      files.push_back(words[i].substr(with_value.size()));
    } else if (words[i] == flag) {
      if (++i == words.size()) throw Error("--load needs a file");
      files.push_back(words[i]);
    } else {
      others.push_back(words[i]);
    }
  }
  if (const char* set = std::getenv(environment_variable("load").c_str()); set != nullptr && files.empty())
    files = split(set, ':');
  load(files);
  return others;
}

}  // namespace

int exit_code_of(Error::Kind kind) {
  switch (kind) {
    case Error::Kind::user:
      return exit_code::user;
    case Error::Kind::no_device:
      return exit_code::no_device;
    case Error::Kind::memory:
      return exit_code::memory;
    case Error::Kind::internal:
      break;
  }
  return exit_code::internal;
}

int command(const std::vector<std::string>& argv) {
  Ranks& ranks = Ranks::here();
  ranks.join(false);
  const std::vector<std::string> words = without_loads({argv.begin() + 1, argv.end()});
  if (words.empty()) throw Error("no command is given: see tessera --help");
  if (words[0] == "help" && words.size() > 1) return command({argv[0], words[1], "--help"});
  const std::string& word = words[0];
  const bool help = word == "--help" || word == "-h" || word == "help";
  if ((help || word == "--version") && !ranks.speaks()) return exit_code::passed;
  if (help) return print_help(), exit_code::passed;
  if (word == "--version") return print_version(), exit_code::passed;
  const Command rest{{words.begin() + 1, words.end()}, argv};
  for (const Verb& verb : verbs)
    if (word == verb.name) {
      ranks.require_alone("tessera " + word);
      return verb.run(rest);
    }
  if (const Operation* operation = find_operation(word)) return operate(*operation, rest);
  std::vector<std::string> known{"--help", "--load", "--version"};
  for (const Verb& verb : verbs) known.emplace_back(verb.name);
  for (const Operation& operation : operations()) known.push_back(operation.name);
  unknown(word.starts_with('-') ? "the flag" : "the verb or operation", word, known);
}

}  // namespace tessera::cli
