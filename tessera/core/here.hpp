// SPDX-License-Identifier: Apache-2.0
// The caller's place in the source. std::source_location would do, were it in clang 14.
#pragma once

// A kernel asks for its place too.
#if defined(__CUDACC__)
#define TESSERA_ANYWHERE __host__ __device__
#else
#define TESSERA_ANYWHERE
#endif

namespace tessera {

struct Here {
  const char* file;
  int line;
  TESSERA_ANYWHERE static constexpr Here current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

}  // namespace tessera
