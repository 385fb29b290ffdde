# SPDX-License-Identifier: Apache-2.0
# libFuzzer comes with clang; g++ has none. Without clang the test says so and is skipped.
find_program(TESSERA_CLANG clang++)
if(NOT TESSERA_CLANG)
  message(STATUS "tessera: no clang++, so the fuzzers are not built")
  return()
endif()
add_custom_target(fuzzers ALL)

# A fuzzer made of files of the library, run for some seconds from the inputs that are kept, or that it makes.
function(tessera_fuzzer name seconds seeds)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/tessera/ OUTPUT_VARIABLE fuzzed)
  # Headers are read once for all files but those whose unnamed namespaces share names with others'.
  set(alone ${fuzzed})
  list(FILTER alone INCLUDE REGEX "/parse\\.cpp$|/picture_(jpeg|png|tiff)\\.cpp$")
  set(together ${fuzzed})
  list(REMOVE_ITEM together ${alone})
  list(TRANSFORM together REPLACE "(.+)" "#include \"\\1\"\n")
  list(JOIN together "" together)
  set(unit ${PROJECT_BINARY_DIR}/tests/${name}_fuzz.cpp)
  file(CONFIGURE OUTPUT ${unit} CONTENT "${together}" @ONLY)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/tests/${name}_fuzz
    COMMAND ${TESSERA_CLANG} -std=c++20 -O1 -g1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
            -DFMT_HEADER_ONLY -I${PROJECT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/include ${unit} ${alone} ${TESSERA_FUZZED_WITH} -o ${PROJECT_BINARY_DIR}/tests/${name}_fuzz
    DEPENDS ${unit} ${fuzzed} VERBATIM)
  add_custom_target(fuzzer_${name} DEPENDS ${PROJECT_BINARY_DIR}/tests/${name}_fuzz)
  add_dependencies(fuzzers fuzzer_${name})
  tessera_script(${name}_fuzz ${PROJECT_BINARY_DIR}/tests/${name}_fuzz -runs=100000 -max_total_time=${seconds} -seed=1
                 -malloc_limit_mb=1000 ${PROJECT_BINARY_DIR}/tests/${name}_found ${seeds})
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/tests/${name}_found ${seeds})
endfunction()

tessera_fuzzer(npy 20 ${PROJECT_SOURCE_DIR}/tests/fuzz/npy io/npy_fuzz.cpp io/file_kind.cpp io/npy.cpp io/atomic_file.cpp core/array/array.cpp core/array/element.cpp)
tessera_fuzzer(formula 6 ${PROJECT_SOURCE_DIR}/tests/fuzz/formula formula/formula_fuzz.cpp formula/parse.cpp core/text/suggest.cpp formula/distance.cpp formula/tree.cpp formula/operators.cpp formula/compile.cpp)
# By hand for longer: build/tests/picture_fuzz -max_total_time=3600 build/tests/picture_found build/tests/picture_seeds
get_directory_property(formats DIRECTORY ${PROJECT_SOURCE_DIR}/tessera DEFINITION TESSERA_PICTURE_FORMATS)
set(TESSERA_FUZZED_WITH ${formats})
tessera_fuzzer(picture 8 ${PROJECT_BINARY_DIR}/tests/picture_seeds io/picture_fuzz.cpp io/file_kind.cpp io/picture.cpp io/picture_jpeg.cpp io/picture_png.cpp
               io/picture_pnm.cpp io/picture_tiff.cpp io/atomic_file.cpp core/array/array.cpp core/array/element.cpp)
