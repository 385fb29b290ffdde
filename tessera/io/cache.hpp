// SPDX-License-Identifier: Apache-2.0
// Files in which the program keeps results of measuring, tuning and compiling on this machine.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

namespace tessera {

// Returns $XDG_CACHE_HOME/tessera, else ~/.cache/tessera; std::nullopt if neither is an absolute path.
std::optional<std::string> cache_folder();

// Results that are computed once and kept for other runs, one file for each key. If there are more than
// `most` files, the older half is deleted.
struct CacheFolder {
  std::string name;  // within the cache folder
  std::size_t most = 512;
};

// Returns the result stored for this key; std::nullopt if there is none, or its file is damaged.
std::optional<std::string> find_cached(const CacheFolder& folder, const std::string& key);

// Returns the reason for a failure, or "": a cache that cannot be written must not end a run.
std::string store_cached(const CacheFolder& folder, const std::string& key, const std::string& result);

// Deletes the older half of a folder's files if there are more than `most`.
void drop_oldest(const std::string& folder, std::size_t most);

}  // namespace tessera
