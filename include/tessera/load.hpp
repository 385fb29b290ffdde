// SPDX-License-Identifier: Apache-2.0
// Included by programs that load rungs and operations from shared objects.
#pragma once
#include <string>
#include <vector>

namespace tessera {

// Opens the files, whose rungs and operations register themselves. Must come before any pointer to a Variant
// or an Operation is taken: the registry moves. Throws Error with the reason if a file cannot be used;
// earlier registrations stay.
void load(const std::vector<std::string>& files);

// Returns the file that is being opened right now; empty: none, registrations are this program's own.
const std::string& file_being_loaded();

// Reports a refused registration: throws Error, or, during load(), leaves `text` for load() to throw, because
// exceptions must not pass through the system's loader.
void refuse_registration(const std::string& text);

}  // namespace tessera
