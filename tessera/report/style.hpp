// SPDX-License-Identifier: Apache-2.0
// How a report looks and the little that it does: one palette for light and dark, the rules of the
// drawings, those of the page, and the script that sorts and hovers.
#pragma once
#include <string>

namespace tessera::report {

enum class Colours { light, variables };  // as they are, or by name as a page defines them

std::string chart_style(Colours colours);
std::string page_style();  // with the palette, for screens light and dark, narrow ones, and paper
std::string page_script();

inline constexpr int heat_steps = 7;  // classes heat0 (least) to heat6, with text in ink0 to ink6

}  // namespace tessera::report
