// SPDX-License-Identifier: Apache-2.0
// What was computed for a key once and is kept for other runs, in a file of its own in the cache folder.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

namespace tessera {

// A kind of such things. The folder does not grow for ever: beyond `most` files the older half is dropped.
struct KeptFolder {
  std::string name;  // within the cache folder
  std::size_t most = 512;
};

// What was kept for this very key; nothing where there is none, or the file is cut off or has changed.
std::optional<std::string> find_kept(const KeptFolder& folder, const std::string& key);

// Without a cache it only takes longer: a failure to keep is none.
void keep(const KeptFolder& folder, const std::string& key, const std::string& what);

// By which the linker tells the program, or library, that holds this function from any other, of the same
// version too; empty where it wrote none.
std::string build_id();

}  // namespace tessera
