# SPDX-License-Identifier: Apache-2.0
# libFuzzer comes with clang; g++ has none. Without clang the test says so and is skipped.
find_program(TESSERA_CLANG clang++)
if(NOT TESSERA_CLANG)
  message(STATUS "tessera: no clang++, so the fuzzers are not built")
  return()
endif()
set(fuzzed io/npy_fuzz.cpp io/npy.cpp io/npy_dict.cpp io/npy_header.cpp io/atomic_file.cpp core/array.cpp core/element.cpp)
list(TRANSFORM fuzzed PREPEND ${PROJECT_SOURCE_DIR}/tessera/)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/tests/npy_fuzz
  COMMAND ${TESSERA_CLANG} -std=c++20 -O1 -g1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
          -I${PROJECT_SOURCE_DIR} ${fuzzed} -o ${PROJECT_BINARY_DIR}/tests/npy_fuzz
  DEPENDS ${fuzzed} VERBATIM)
add_custom_target(fuzzers ALL DEPENDS ${PROJECT_BINARY_DIR}/tests/npy_fuzz)
tessera_script(npy_fuzz ${PROJECT_BINARY_DIR}/tests/npy_fuzz -runs=100000 -max_total_time=20 -seed=1
               ${PROJECT_BINARY_DIR}/tests/npy_found ${PROJECT_SOURCE_DIR}/tests/fuzz/npy)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/tests/npy_found)
