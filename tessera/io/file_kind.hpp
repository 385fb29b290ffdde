// SPDX-License-Identifier: Apache-2.0
// Guesses the kind of a file that cannot be read, for messages.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera {

// Returns the kind of a file, such as "a PDF document" or "text", by its first bytes, of which a few hundred
// suffice. "": unknown.
std::string kind_of(std::span<const std::byte> beginning);

// Returns ", but seems to be a PDF document", or "".
std::string but_seems(std::span<const std::byte> beginning);

// Returns the first bytes of a file; std::nullopt if it cannot be read or is not a regular file.
std::optional<std::vector<std::byte>> beginning_of(const std::string& path);

}  // namespace tessera
