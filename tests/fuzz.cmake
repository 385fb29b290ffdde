# SPDX-License-Identifier: Apache-2.0
# libFuzzer comes with clang; g++ has none. Without clang the test says so and is skipped.
find_program(TESSERA_CLANG clang++)
if(NOT TESSERA_CLANG)
  message(STATUS "tessera: no clang++, so the fuzzers are not built")
  return()
endif()
add_custom_target(fuzzers ALL)

# A fuzzer made of files of the library, run for some seconds from the inputs that are kept.
function(tessera_fuzzer name seconds)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/tessera/ OUTPUT_VARIABLE fuzzed)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/tests/${name}_fuzz
    COMMAND ${TESSERA_CLANG} -std=c++20 -O1 -g1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
            -DFMT_HEADER_ONLY -I${PROJECT_SOURCE_DIR} ${fuzzed} -o ${PROJECT_BINARY_DIR}/tests/${name}_fuzz
    DEPENDS ${fuzzed} VERBATIM)
  add_custom_target(fuzzer_${name} DEPENDS ${PROJECT_BINARY_DIR}/tests/${name}_fuzz)
  add_dependencies(fuzzers fuzzer_${name})
  tessera_script(${name}_fuzz ${PROJECT_BINARY_DIR}/tests/${name}_fuzz -runs=100000 -max_total_time=${seconds} -seed=1
                 ${PROJECT_BINARY_DIR}/tests/${name}_found ${PROJECT_SOURCE_DIR}/tests/fuzz/${name})
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/tests/${name}_found)
endfunction()

tessera_fuzzer(npy 20 io/npy_fuzz.cpp io/npy.cpp io/npy_dict.cpp io/npy_header.cpp io/atomic_file.cpp core/array.cpp core/element.cpp)
tessera_fuzzer(formula 6 formula/formula_fuzz.cpp formula/parse.cpp core/nearest.cpp formula/polynomial.cpp formula/distance.cpp formula/tree.cpp formula/operators.cpp formula/compile.cpp)
