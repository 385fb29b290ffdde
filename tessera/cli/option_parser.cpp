// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/option_parser.hpp"
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include "tessera/cli/command.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/ranks.hpp"
#include "tessera/core/text/error.hpp"
#include "tessera/core/text/expression.hpp"
#include "tessera/core/text/suggest.hpp"
#include "tessera/report/table.hpp"

namespace tessera::cli {
namespace {

// A word such as "-(3+4)" is a number, not a flag, and "[0,1]" is one word, not two: this mark hides them
// from the parsing library.
constexpr char mark = '\x01';

std::string marked(const std::string& word) {
  const bool number = word.size() > 1 && word[0] == '-' &&
                      word.find_first_not_of("0123456789+-*/(). ") == std::string::npos &&
                      word.find_first_of("0123456789") != std::string::npos;
  return number || word.starts_with('[') ? mark + word : word;
}

// For positionals that may be formulas.
std::string marked_formula(const std::string& word) {
  const bool flag = word.starts_with("--") || word == "-o" || word == "-h" || word.starts_with("-o=");
  return word.size() > 1 && word[0] == '-' && !flag ? mark + word : marked(word);
}

bool is_number(const std::string& word) {
  return !word.empty() && word.find_first_not_of("0123456789.e") == std::string::npos;
}

std::string unmarked(const std::string& word) {
  return !word.empty() && word[0] == mark ? word.substr(1) : word;
}

// Returns "output" for "-o,--output", "device" for "--device,--devices".
std::string long_name(const std::string& names) {
  const std::size_t from = names.find("--") + 2;
  return names.substr(from, names.find(',', from) - from);
}

class Layout : public CLI::Formatter {
 public:
  explicit Layout(std::string usage) : usage_(std::move(usage)) { column_width(34); }
  std::string make_usage(const CLI::App*, std::string) const override { return "Usage: " + usage_ + "\n"; }
  std::string make_positionals(const CLI::App*) const override { return {}; }
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_size() == 0 ? "" : " " + option->get_type_name();
  }
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string out = "  " + make_option_name(option, is_positional) + make_option_opts(option);
    const std::size_t width = report::display_width(out);
    const std::size_t column = get_column_width();
    if (width >= column) out += "\n" + std::string(column, ' ');
    else out += std::string(column - width, ' ');
    return out + folded(make_option_desc(option), column) + "\n";
  }

 private:
  // Breaks at blanks, so that lines that begin at `column` fit the terminal.
  static std::string folded(const std::string& text, std::size_t column) {
    constexpr std::size_t usual = 100, least = 24;
    const std::size_t all = terminal_width() == 0 ? usual : terminal_width(),
                      most = std::max(all, column + least) - column;
    std::string out;
    std::size_t used = 0;
    for (const std::string& word : split(text, ' ')) {
      const auto width = report::display_width(word);
      if (used != 0 && used + 1 + width > most) {
        out += "\n" + std::string(column, ' ');
        used = 0;
      }
      out += (used == 0 ? "" : " ") + word;
      used += (used == 0 ? 0 : 1) + width;
    }
    return out;
  }

  std::string usage_;
};

}  // namespace

struct OptionParser::Hidden {
  CLI::App app;
  bool help_wanted = false, wide = false, expressions = false;
  std::vector<std::string> flags{"--help"};
  std::map<std::string, std::string> otherwise;  // values of flags that are given without one

  CLI::Option* known(CLI::Option* option, const std::string& names) {
    const std::string name = long_name(names);
    flags.push_back("--" + name);
    return option->envname(environment_variable(name))->transform(unmarked);
  }
};

OptionParser::OptionParser(std::string verb, std::string usage, std::string about)
    : hidden_(new Hidden{.app = CLI::App(std::move(about), std::move(verb)), .otherwise = {}}) {
  hidden_->app.formatter(std::make_shared<Layout>(std::move(usage)));
  hidden_->app.footer(exit_codes);
  hidden_->app.allow_extras();
  hidden_->app.set_help_flag();
  hidden_->app.add_flag("-h,--help", hidden_->help_wanted, "this text");
  flag("--wide", hidden_->wide, "tables with all their columns, however wide the terminal is");
}

OptionParser::~OptionParser() = default;

void OptionParser::flag(const std::string& names, bool& into, const std::string& help) {
  hidden_->known(hidden_->app.add_flag(names, into, help), names);
}

void OptionParser::value(const std::string& names, std::string& into, const std::string& help,
                         const std::string& type) {
  hidden_->known(hidden_->app.add_option(names, into, help), names)->type_name(type);
}

void OptionParser::value_or(const std::string& name, std::string& into, const std::string& otherwise,
                            const std::string& help, const std::string& type) {
  value(name, into, help, type);
  hidden_->otherwise[name] = otherwise;
}

void OptionParser::values(const std::string& names, std::vector<std::string>& into, const std::string& help,
                          const std::string& type) {
  hidden_->known(hidden_->app.add_option(names, into, help), names)->type_name(type)->allow_extra_args(false);
}

void OptionParser::pair(const std::string& names, std::vector<std::string>& into, const std::string& help,
                        const std::string& type) {
  hidden_->known(hidden_->app.add_option(names, into, help), names)->type_name(type)->expected(2);
}

void OptionParser::positionals(const std::string& name, std::vector<std::string>& into,
                               const std::string& help) {
  hidden_->app.add_option(name, into, help)->transform(unmarked);
}

void OptionParser::expressions() { hidden_->expressions = true; }

bool OptionParser::read(const std::vector<std::string>& words) {
  std::vector<std::string> reversed;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto left_out = hidden_->otherwise.find(words[i]);
    const bool value_follows = i + 1 < words.size() && is_number(words[i + 1]);
    if (left_out == hidden_->otherwise.end() || value_follows)
      reversed.push_back(hidden_->expressions ? marked_formula(words[i]) : marked(words[i]));
    else reversed.push_back(words[i] + "=" + left_out->second);
  }
  std::ranges::reverse(reversed);
  try {
    hidden_->app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    throw tessera::Error(error.what());
  }
  for (const CLI::Option* option : hidden_->app.get_options())
    if (!option->get_lnames().empty() && option->get_type_size() != 0 &&
        std::ranges::find(option->results(), "") != option->results().end())
      throw tessera::Error("--" + option->get_lnames()[0] + " '': its value is missing");
  report::fit_tables(hidden_->wide ? 0 : terminal_width());
  if (hidden_->help_wanted) {
    if (Ranks::here().speaks()) fmt::print("{}\n", hidden_->app.help());
    return false;
  }
  for (const std::string& word : hidden_->app.remaining()) {
    const std::string name = word.substr(0, word.find('='));
    if (name.starts_with('-') && nearest(name, hidden_->flags).empty())
      throw tessera::Error("the flag '" + name + "' is not known; tessera " + hidden_->app.get_name() +
                           " --help lists them");
    if (name.starts_with('-')) unknown("the flag", name, hidden_->flags);
    throw tessera::Error("'" + unmarked(word) + "' is one word too many");
  }
  return true;
}

void declare_flag(OptionParser& words, const Parameter& p, std::string& into, const std::string& help,
                  const std::string& type) {
  const std::string name = "--" + p.flag();
  if (p.options == std::vector<std::string>{"no", "yes"})
    words.value_or(name, into, "yes", help, "[=no|yes]");
  else words.value(name, into, help, type);
}

std::string environment_variable(const std::string& flag) {
  std::string out = "TESSERA_";
  for (const char c : flag)
    out += std::isalnum(static_cast<unsigned char>(c)) != 0
               ? static_cast<char>(std::toupper(static_cast<unsigned char>(c)))
               : '_';
  return out;
}

void unknown(const std::string& what, const std::string& word, const std::vector<std::string>& candidates) {
  throw tessera::Error(what + " '" + word + "' is not known" + suggestion(word, candidates));
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = std::min(text.find(at, from), text.size());
    out.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return out;
}

double number_named(const std::string& flag, const std::string& what, const std::string& word, double least,
                    double most) {
  double out = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), out);
  if (failed != std::errc() || end != word.data() + word.size() || !(out >= least && out <= most))
    throw Error(flag + " needs " + what + ", not '" + word + "'");
  return out;
}

std::int64_t count_named(const std::string& flag, const std::string& word, std::int64_t least,
                         std::int64_t most) {
  const std::int64_t out = evaluate(word);
  if (out < least || out > most)
    throw Error(flag + " " + word + " is not within " + std::to_string(least) + " to " +
                std::to_string(most));
  return out;
}

std::int64_t bytes_named(const std::string& flag, const std::string& word) {
  double value = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  const std::string unit(end, word.data() + word.size());
  constexpr std::string_view units = "KMGT";
  const std::size_t power = unit.empty() ? 0 : units.find(unit[0]) + 1;
  const bool known = unit.empty() || (unit.size() == 1 && units.find(unit[0]) != std::string_view::npos);
  constexpr double most = 9e18;
  const double bytes = value * std::pow(1024.0, static_cast<double>(power));
  if (failed != std::errc() || !known || !(bytes >= 1 && bytes <= most))
    throw Error(flag + " needs bytes such as 500M or 8G, not '" + word + "'");
  return static_cast<std::int64_t>(bytes);
}

}  // namespace tessera::cli
