# SPDX-License-Identifier: Apache-2.0
# Whether kernels can be traced in this build, and how they are compiled for it: g++ calls a function
# before each access, and the functions are our own (tessera/simt/tracer/hooks.cpp), not a sanitizer's. clang
# takes 16-byte copies apart and drops reads before writes, so its counts would be wrong.
set(TESSERA_TRACING_ABSENT "")
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(TESSERA_TRACING_ABSENT "the program was not built by g++, whose calls before each access tracing needs")
elseif(TESSERA_SANITIZE)
  set(TESSERA_TRACING_ABSENT "the program was built with sanitizers, which need those calls themselves")
endif()
set(TESSERA_TRACED_FLAGS -DTESSERA_TRACED -O2 -g1 -fsanitize=thread -Wno-tsan --param=tsan-instrument-func-entry-exit=0
    -fno-tree-vectorize -fno-tree-loop-distribute-patterns)
# Copies are calls of ours too, and return to where they stand in the source.
list(APPEND TESSERA_TRACED_FLAGS -U_FORTIFY_SOURCE -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset
     -fno-optimize-sibling-calls -include tessera/simt/tracer/traced_copies.hpp)
if(TESSERA_TRACING_ABSENT)
  message(STATUS "tessera: no tracing: ${TESSERA_TRACING_ABSENT}")
endif()
