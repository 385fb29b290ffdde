// SPDX-License-Identifier: Apache-2.0
// What a file seems to be that is none of those that can be read: for messages.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera {

// "a PDF document", "text": told by the first bytes of a file, of which some hundred are enough. "": who
// knows.
std::string kind_of(std::span<const std::byte> beginning);

// ", but seems to be a PDF document", or "".
std::string but_seems(std::span<const std::byte> beginning);

// The first bytes of a file; nothing where it cannot be read, or is not a regular file.
std::optional<std::vector<std::byte>> beginning_of(const std::string& path);

}  // namespace tessera
