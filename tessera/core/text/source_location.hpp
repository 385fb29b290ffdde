// SPDX-License-Identifier: Apache-2.0
// The caller's place in the source. std::source_location would do, but clang 14 lacks it, while g++ 12 gives
// a column by nothing else. nvcc, whose kernels ask too, has neither the column nor that library.
#pragma once

#if defined(__CUDACC__)
#define TESSERA_ANYWHERE __host__ __device__
#else
#define TESSERA_ANYWHERE
#if !__has_builtin(__builtin_COLUMN)
#include <source_location>
#endif
#endif

namespace tessera {

struct SourceLocation {
  const char* file;
  int line;
  int column = 0;  // 0: unknown

#if defined(__CUDACC__)
  TESSERA_ANYWHERE static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                                           int line = __builtin_LINE()) {
    return {file, line};
  }
#elif __has_builtin(__builtin_COLUMN)
  static constexpr SourceLocation current(const char* file = __builtin_FILE(), int line = __builtin_LINE(),
                                          int column = __builtin_COLUMN()) {
    return {file, line, column};
  }
#else
  static constexpr SourceLocation current(const char* file = __builtin_FILE(), int line = __builtin_LINE(),
                                          std::source_location place = std::source_location::current()) {
    return {file, line, static_cast<int>(place.column())};
  }
#endif
};

}  // namespace tessera
