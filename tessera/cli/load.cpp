// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/load.hpp"
#include <cstdlib>
#include <string_view>
#include "tessera/cli/words.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/load.hpp"

namespace tessera::cli {

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

}  // namespace tessera::cli
