// SPDX-License-Identifier: Apache-2.0
// Where the program keeps what it has learnt of this machine.
#pragma once
#include <optional>
#include <string>

namespace tessera {

// $XDG_CACHE_HOME/tessera, else ~/.cache/tessera; nothing where neither is an absolute path.
std::optional<std::string> cache_folder();

// The text of a file of that folder; nothing where there is none.
std::optional<std::string> read_cached(const std::string& name);

// Whole or not at all; makes the folder. Returns why it could not, or "". A cache that cannot be kept
// must not end the request that would have filled it. `lasting` as of AtomicFile: waiting for a disk takes
// longer than most of what is kept.
std::string write_cached(const std::string& name, const std::string& text, bool lasting = true);

}  // namespace tessera
