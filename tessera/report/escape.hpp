// SPDX-License-Identifier: Apache-2.0
// Text from files on its way into HTML and SVG: names, messages and source lines are data, never
// markup, whatever they hold.
#pragma once
#include <string>
#include <string_view>

namespace tessera::report {

// Safe between tags and inside quoted attributes. What XML forbids (control characters, bytes that
// are no UTF-8) becomes U+FFFD.
std::string escaped(std::string_view text);

// "Shared tiles: f32!" → "shared-tiles-f32": an identifier of letters, digits and dashes.
std::string slug(std::string_view text);

// At most `most` characters, the last one "…" where text was cut.
std::string shortened(const std::string& text, std::size_t most);

}  // namespace tessera::report
