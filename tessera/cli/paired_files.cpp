// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/paired_files.hpp"
#include <filesystem>
#include <map>
#include <optional>
#include "tessera/cli/file_names.hpp"
#include "tessera/core/error.hpp"

namespace tessera::cli {
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
