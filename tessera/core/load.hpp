// SPDX-License-Identifier: Apache-2.0
// Rungs and operations that somebody brings along in shared objects, compiled elsewhere.
#pragma once
#include <string>
#include <vector>

namespace tessera {

// Opens the files, whose rungs and operations register themselves. Before anything holds a pointer to a
// Variant or an Operation: the registry moves. Throws Error when a file cannot be used, and says why;
// what was registered until then stays.
void load(const std::vector<std::string>& files);

// The file that is being opened right now; empty: none is, so what registers itself is this program's.
const std::string& file_being_loaded();

// How register_variant() says no: throws Error, or, because nothing may be thrown through the system's
// loader, leaves `text` for load() to throw.
void refuse_registration(const std::string& text);

}  // namespace tessera
