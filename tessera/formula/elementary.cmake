# SPDX-License-Identifier: Apache-2.0
# The elementary functions as text, for compilers at run time: the files that elementary.hpp includes, one after
# another. A raw string of C++ may hold 64 KiB, so each file is one of its own.
function(tessera_join_texts out)
  set(all "")
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    string(APPEND all "R\"text(${text})text\"\n")
  endforeach()
  set(${out} "${all}" PARENT_SCOPE)
endfunction()

set(files number exact exponential huge_angle trigonometric library)
list(TRANSFORM files REPLACE ".+" "${CMAKE_CURRENT_SOURCE_DIR}/formula/elementary/\\0-inl.h")
tessera_join_texts(elementary ${files})
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/elementary_source.cpp @ONLY CONTENT
"// Written by the build.
#include \"tessera/formula/emit.hpp\"
namespace tessera::formula {
std::string_view elementary_source() {
  static constexpr std::string_view text =
\"#define FORMULA_FN __device__ __forceinline__\\n\"
\"namespace formula {\\n\"
@elementary@\"}\\n\"
\"#undef FORMULA_FN\\n\";
  return text;
}
}  // namespace tessera::formula
")

# What kernels that NVRTC compiles share: roots without a branch, blocks that count each other.
tessera_join_texts(kernel_text ${CMAKE_CURRENT_SOURCE_DIR}/cuda/ptx/fast_sqrt-inl.h
                   ${CMAKE_CURRENT_SOURCE_DIR}/cuda/ptx/atomic_inc-inl.h)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/kernel_source.cpp @ONLY CONTENT
"// Written by the build.
#include \"tessera/formula/emit.hpp\"
namespace tessera::formula {
std::string_view kernel_source() {
  static constexpr std::string_view text =
@kernel_text@;
  return text;
}
}  // namespace tessera::formula
")
target_sources(tessera_library PRIVATE formula/emit.cpp ${PROJECT_BINARY_DIR}/elementary_source.cpp
                                       ${PROJECT_BINARY_DIR}/kernel_source.cpp)
