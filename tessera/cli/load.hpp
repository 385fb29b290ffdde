// SPDX-License-Identifier: Apache-2.0
// `--load FILE.so`, which any verb takes, before it or after it, as often as wanted.
#pragma once
#include <string>
#include <vector>

namespace tessera::cli {

// Loads what --load names, else TESSERA_LOAD (files between colons); returns the other words.
std::vector<std::string> without_loads(const std::vector<std::string>& words);

}  // namespace tessera::cli
