// SPDX-License-Identifier: Apache-2.0
// The caller's place in the source. std::source_location would do, were it in clang 14.
#pragma once

namespace tessera {

struct Here {
  const char* file;
  int line;
  static constexpr Here current(const char* file = __builtin_FILE(),
                                int line = __builtin_LINE()) {
    return {file, line};
  }
};

}  // namespace tessera
