// SPDX-License-Identifier: Apache-2.0
// The style and script of a report: one palette for light and dark, the rules of the drawings, those of the
// page, and the script for sorting and tooltips.
#pragma once
#include <string>

namespace tessera::report {

enum class Colours { light, variables };  // literal values, or CSS variables that a page defines

std::string chart_style(Colours colours);
std::string page_style();  // with the palette, for screens light and dark, narrow ones, and paper
std::string page_script();

inline constexpr int heat_steps = 7;  // classes heat0 (least) to heat6, with text in ink0 to ink6

}  // namespace tessera::report
