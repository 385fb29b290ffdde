// SPDX-License-Identifier: Apache-2.0
// Files in which the program keeps results of measuring, tuning and compiling on this machine.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

namespace tessera {

// Returns $XDG_CACHE_HOME/tessera, else ~/.cache/tessera; std::nullopt if neither is an absolute path.
std::optional<std::string> cache_folder();

// Returns the text of a file of that folder; std::nullopt if there is none.
std::optional<std::string> read_cached(const std::string& name);

// Writes the file whole or not at all; makes the folder. Returns the reason for a failure, or "": a cache
// that cannot be written must not end a run. `lasting`: see AtomicFile::commit().
std::string write_cached(const std::string& name, const std::string& text, bool lasting = true);

// Results computed once and kept for other runs, a file for each key. Beyond `most` files the older half is
// deleted.
struct CacheFolder {
  std::string name;  // within the cache folder
  std::size_t most = 512;
};

// Returns the result stored for this key; std::nullopt if there is none, or its file is damaged.
std::optional<std::string> find_cached(const CacheFolder& folder, const std::string& key);

// Does nothing if the file cannot be written.
void store_cached(const CacheFolder& folder, const std::string& key, const std::string& result);

}  // namespace tessera
