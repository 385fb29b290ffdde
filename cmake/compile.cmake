# SPDX-License-Identifier: Apache-2.0
# One policy for everything that is compiled: warnings are errors, and no compiler fuses a product
# and a sum by itself, so that every build computes the same bits. (-Wrestrict of g++ 12 mistakes
# every std::string + literal for an overlap: its bug 105651.)
add_library(tessera_compile INTERFACE)
target_compile_features(tessera_compile INTERFACE cxx_std_20)
target_include_directories(tessera_compile INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
# CMake 3.25 knows no CUDA_STANDARD 20 for nvcc. Results name these flags, hence their name.
set(TESSERA_NVCC_OPTIONS -std=c++20 -fmad=false --Werror=all-warnings --expt-relaxed-constexpr)
target_compile_options(tessera_compile INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;$<IF:$<BOOL:$<TARGET_PROPERTY:TESSERA_NAMES_MAY_HIDE>>,-Wno-shadow,-Wshadow>;-Wconversion;-Wno-sign-conversion;-Wno-restrict;-Werror>
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off;-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>
  "$<$<COMPILE_LANGUAGE:CUDA>:${TESSERA_NVCC_OPTIONS}>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Werror,-ffp-contract=off,-Wno-missing-field-initializers>")
# Where the flags allow fma for all code, g++ 12 fuses in spite of -ffp-contract=off when it makes one vector
# of a sum and a difference.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_RELEASE}" MATCHES "-march=|-mfma")
  target_compile_options(tessera_compile INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-tree-slp-vectorize>)
endif()
# The compiler collects its garbage seldom. Not so with a compiler cache, for which all builds have the same commands.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  target_compile_options(tessera_compile INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-expand=200;--param=ggc-min-heapsize=400000>")
endif()
# For code that gains little from more, or whose time nobody waits for: most of the executor's kernels run as fast, some a fifth
# slower, and compile in 40 to 60 % of the time that -O3 takes.
set(TESSERA_QUICK_FLAGS -O1)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND TESSERA_QUICK_FLAGS -finline-functions -finline-small-functions -findirect-inlining -fpartial-inlining)
endif()
if(TESSERA_SANITIZE)
  # In instrumented code g++ 12 takes members of std::optional for uninitialised, and ignores annotations of
  # loops, of which it warns without a name: the usual build judges warnings.
  target_compile_options(tessera_compile INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${TESSERA_SANITIZE};-fno-omit-frame-pointer;-Wno-maybe-uninitialized;-Wno-error>)
  target_link_options(tessera_compile INTERFACE -fsanitize=${TESSERA_SANITIZE})
endif()
