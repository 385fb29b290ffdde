// SPDX-License-Identifier: Apache-2.0
// A picture of a drawing, made by a browser of the machine: the library rasterises nothing itself.
#pragma once
#include <optional>
#include <string>

namespace tessera::report {

// Chromium, by any of its names on PATH, or what $TESSERA_BROWSER names; nothing where there is none.
std::optional<std::string> find_browser();

// Writes `to` as a PNG of the SVG text, two pixels a unit. Throws Error with the remedy where no browser
// is there or it fails.
void write_png(const std::string& svg, double width, double height, const std::string& to);

}  // namespace tessera::report
