// SPDX-License-Identifier: Apache-2.0
// Converts options of typed calls on pictures to words of the command line.
#pragma once
#include <string>
#include "tessera/image_view.hpp"
#include "tessera/core/text/expression.hpp"

namespace tessera::imaging {

inline std::string word_of(double value) { return text_of(value); }
inline std::string word_of(bool yes) { return yes ? "yes" : "no"; }

inline std::string word_of(Border border) {
  constexpr const char* words[] = {"constant", "replicate", "reflect", "reflect_101", "wrap"};
  check_enumerator("border", border, Border::wrap);
  return words[static_cast<int>(border)];
}

}  // namespace tessera::imaging
