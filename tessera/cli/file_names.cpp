// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/file_names.hpp"
#include <glob.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include "tessera/core/error.hpp"

namespace tessera::cli {
namespace {

constexpr const char *name_field = "{name}", *index_field = "{index}";

bool has(const std::string& pattern, const std::string& field) {
  return pattern.find(field) != std::string::npos;
}

std::string replaced(std::string text, const std::string& field, const std::string& value) {
  for (std::size_t at = text.find(field); at != std::string::npos; at = text.find(field, at + value.size()))
    text.replace(at, field.size(), value);
  return text;
}

// One name for a file, however it is typed.
std::string place_of(const std::string& path) {
  std::error_code none;
  const auto real = std::filesystem::weakly_canonical(std::filesystem::absolute(path, none), none);
  return none ? path : real.string();
}

// Pipes and devices take whatever comes.
bool can_be_lost(const std::string& path) {
  std::error_code none;
  return !path.empty() && path != "-" &&
         (!std::filesystem::exists(path, none) || std::filesystem::is_regular_file(path, none));
}

}  // namespace

std::vector<std::string> several(const std::string& word) {
  std::vector<std::string> out;
  if (word.starts_with('@')) {
    std::ifstream list(word.substr(1));
    if (!list) throw Error(word.substr(1) + ": cannot be read");
    for (std::string line; std::getline(list, line);) {
      if (line.ends_with('\r')) line.pop_back();  // of a list written on Windows
      if (!line.empty()) out.push_back(line);
    }
    if (out.empty()) throw Error(word.substr(1) + ": names no file");
    return out;
  }
  if (word.find_first_of("*?[") == std::string::npos || std::filesystem::exists(word)) return out;
  glob_t found = {};
  if (::glob(word.c_str(), 0, nullptr, &found) == 0)
    out.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (out.empty()) throw Error("'" + word + "' means no file");
  return out;
}

// A field is what stands between braces; one brace alone is a letter of the name.
void demand_known_fields(const std::string& pattern) {
  for (std::size_t end = 0, at = 0; (at = pattern.find('{', end)) != std::string::npos; end = at + 1) {
    const std::size_t last = pattern.find_first_of("{}/", at + 1);
    if (last == std::string::npos || pattern[last] != '}') continue;
    const std::string field = pattern.substr(at, last + 1 - at);
    if (field != name_field && field != index_field)
      throw Error("-o " + pattern + ": " + field + " is no field; there are " + name_field + " and " +
                  index_field);
  }
}

std::string named_after(const std::string& pattern, const std::string& input) {
  return replaced(pattern, name_field, std::filesystem::path(input).stem().string());
}

std::string name_for(const std::string& pattern, const std::string& input, std::size_t index) {
  if (!has(pattern, name_field) && !has_index(pattern))
    throw Error("-o " + pattern + " would be written for every file; put {name} or {index} into it");
  return named_after(replaced(pattern, index_field, std::to_string(index)), input);
}

bool has_index(const std::string& pattern) { return has(pattern, index_field); }

std::string numbered(const std::string& pattern, std::int64_t index, std::int64_t count) {
  std::string digits = std::to_string(index);
  digits.insert(0, std::to_string(count - 1).size() - digits.size(), '0');
  return replaced(pattern, index_field, digits);
}

void demand_apart(const std::vector<std::string>& inputs,
                  const std::vector<std::vector<std::string>>& outputs) {
  std::map<std::string, std::size_t> read, written;
  for (std::size_t i = 0; i < inputs.size(); ++i) read.emplace(place_of(inputs[i]), i);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    for (const std::string& output : outputs[i]) {
      const std::string at = place_of(output);
      if (const auto other = read.find(at); other != read.end() && other->second != i)
        throw Error(output + ", made from " + inputs[i] + ", is one of the files to be read");
      if (const auto [other, fresh] = written.emplace(at, i); !fresh)
        throw Error(inputs[other->second] + " and " + inputs[i] + " would both be written to " + output +
                    "; {index} in -o tells them apart");
    }
}

void demand_files_of_their_own(const std::vector<FlagFile>& files, const std::vector<std::string>& inputs,
                               const std::vector<std::string>& outputs) {
  std::map<std::string, std::string> others;  // what each place is
  for (const std::string& input : inputs)
    if (can_be_lost(input)) others.emplace(place_of(input), "is one of the files to be read");
  for (const std::string& output : outputs)
    if (can_be_lost(output)) others.emplace(place_of(output), "is what -o names");
  for (const auto& [flag, file] : files) {
    if (!can_be_lost(file)) continue;
    const auto [other, fresh] = others.emplace(place_of(file), std::string("is what ") + flag + " names");
    if (!fresh) throw Error(std::string(flag) + " " + file + " " + other->second + "; nothing was written");
  }
}

namespace {

std::string stem_of(const std::string& path) { return std::filesystem::path(path).stem().string(); }

std::string count(std::size_t files) { return std::to_string(files) + (files == 1 ? " file" : " files"); }

// Nothing where no name is the same, or names do not tell the files apart.
std::optional<std::vector<std::string>> by_name(const std::string& flag,
                                                const std::vector<std::string>& files,
                                                const std::vector<std::string>& inputs) {
  std::map<std::string, std::string> named;
  for (const std::string& file : files)
    if (!named.emplace(stem_of(file), file).second) return std::nullopt;
  std::vector<std::string> out;
  std::string without;
  for (const std::string& input : inputs)
    if (const auto found = named.find(stem_of(input)); found != named.end()) out.push_back(found->second);
    else if (without.empty()) without = input;
  if (out.empty()) return std::nullopt;
  if (!without.empty())
    throw Error("--" + flag + ": none of its " + count(files.size()) + " is called as " + without +
                " is, though others are called as their inputs");
  return out;
}

}  // namespace

std::vector<std::string> paired_files(const std::string& flag, const std::string& word,
                                      const std::vector<std::string>& inputs) {
  std::vector<std::string> out;
  if (word.find("{name}") != word.npos) {
    for (const std::string& input : inputs) out.push_back(named_after(word, input));
    return out;
  }
  const std::vector<std::string> files = several(word);
  if (files.size() < 2) return std::vector<std::string>(inputs.size(), files.empty() ? word : files.front());
  if (auto named = by_name(flag, files, inputs)) return *named;
  if (files.size() == inputs.size()) return files;
  throw Error(
      "--" + flag + " " + word + " means " + count(files.size()) + " for " + count(inputs.size()) +
      " to be read, none called alike: one serves all; else give as many, in the same order, or {name}");
}

}  // namespace tessera::cli
