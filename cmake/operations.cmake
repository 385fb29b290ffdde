# SPDX-License-Identifier: Apache-2.0
# Every folder of ops/ is an operation; every file in it whose suffix this build can serve is
# compiled: a new variant is one new file.
#
#   .cpp            C++                              always
#   .simt.cu        written against Thread           by the C++ compiler for the executor, plain and
#                                                    traced, and by nvcc for the GPU
#   .cu             CUDA                             with CUDA
#   .sm90.cu        PTX of one architecture          with CUDA, for that architecture alone
#   _test.cpp       tests                            with the tests
#   -inl.h          device code that kernels include, and that is also handed to NVRTC as text: in a
#                   _source.cpp, #include "ops/NAME/FILE-inl.h.text" is a string literal

# Reading headers takes longer than most of our files: compiled units of several files each. A unit holds one file of a folder at
# most, because files of one folder use the same names; a file's folder is the first below tessera/ or ops/.
function(tessera_units out)
  set(most 0)
  foreach(file ${ARGN})
    string(REGEX MATCH "(tessera|ops)/[^/]+" folder ${file})
    set(place ${most})
    if(TESSERA_UNITY)
      set(place "0${count_${folder}}")
    endif()
    math(EXPR place "${place} + 1")
    set(count_${folder} ${place})
    if(place GREATER most)
      set(most ${place})
    endif()
    list(APPEND unit_${place} ${file})
  endforeach()
  set(units "")
  foreach(place RANGE 1 ${most})
    list(JOIN unit_${place} "|" unit)
    list(APPEND units "${unit}")
  endforeach()
  set(${out} "${units}" PARENT_SCOPE)
endfunction()

# Files that the compiler reads several times, once for each instruction set, stay alone.
function(tessera_unite target)
  set(together "")
  foreach(file ${ARGN})
    file(STRINGS ${PROJECT_SOURCE_DIR}/${file} alone REGEX "foreach_target" LIMIT_COUNT 1)
    if(NOT alone)
      list(APPEND together ${file})
    endif()
  endforeach()
  tessera_units(units ${together})
  set(count 0)
  foreach(files ${units})
    math(EXPR count "${count} + 1")
    string(REPLACE "|" ";" files "${files}")
    list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/)
    set_source_files_properties(${files} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${count})
  endforeach()
endfunction()

# Units that include kernel files: for the executor, plain and traced, by the C++ compiler, and for GPUs by nvcc.
function(tessera_kernel_units out suffix)
  tessera_units(units ${ARGN})
  set(written "")
  foreach(files ${units})
    list(LENGTH written count)
    math(EXPR count "${count} + 1")
    set(unit ${PROJECT_BINARY_DIR}/simt/kernels_${count}.${suffix})
    string(REPLACE "|" "\"\n#include \"" files "${files}")
    file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${files}\"\n" @ONLY)
    list(APPEND written ${unit})
  endforeach()
  set(${out} "${written}" PARENT_SCOPE)
endfunction()

# The executor's build of kernel files.
function(tessera_add_simt target kind)
  # A large frame must touch the gap below its stack, not step over it.
  set(flags -fstack-clash-protection)
  if(kind STREQUAL "plain" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "Release")
    list(APPEND flags ${TESSERA_QUICK_FLAGS})
  endif()
  tessera_kernel_units(units ${kind}.cpp ${ARGN})
  target_sources(${target} PRIVATE ${units})
  set_source_files_properties(${units} TARGET_DIRECTORY ${target} PROPERTIES COMPILE_OPTIONS "${flags}")
  target_link_libraries(${target} PRIVATE tessera_compile)
endfunction()

function(tessera_add_plain target)
  add_library(tessera_plain OBJECT)
  target_compile_options(tessera_plain PRIVATE -fno-semantic-interposition)
  tessera_add_simt(tessera_plain plain ${ARGN})
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:tessera_plain>)
endfunction()

# The same, with a call before every access: a library of its own, which the tracer loads. Always optimised
# alike, so that what is counted does not depend on the kind of build.
function(tessera_add_traced)
  if(TESSERA_TRACING_ABSENT)
    return()
  endif()
  add_library(tessera_traced MODULE)
  tessera_add_simt(tessera_traced traced ${ARGN})
  target_link_libraries(tessera_traced PRIVATE tessera_library)
  target_compile_options(tessera_traced PRIVATE ${TESSERA_TRACED_FLAGS})
endfunction()

# For code made for one architecture: a spilled register, or an array in local memory, ends the build.
set(TESSERA_NO_SPILLS -Xptxas=-warn-spills,-warn-lmem-usage,-Werror)

# The same for plain CUDA files with kernels of our own (a place 00 is others') where code is made for Hopper alone, as by
# itself: what registers suffice for was found there.
function(tessera_forbid_spills target file)
  set(others ${CMAKE_CUDA_ARCHITECTURES})
  list(FILTER others EXCLUDE REGEX "^90a|-virtual$")
  if(NOT others AND file MATCHES "\\.cu$" AND NOT file MATCHES "_00_")
    set_source_files_properties(${PROJECT_SOURCE_DIR}/${file} TARGET_DIRECTORY ${target}
                                PROPERTIES COMPILE_OPTIONS ${TESSERA_NO_SPILLS})
  endif()
endfunction()

# A library of its own for the files that need one architecture.
function(tessera_add_architecture target architecture)
  if(ARGN)
    add_library(tessera_sm${architecture} OBJECT ${ARGN})
    set_target_properties(tessera_sm${architecture} PROPERTIES CUDA_ARCHITECTURES ${architecture}a-real)
    target_link_libraries(tessera_sm${architecture} PRIVATE tessera_compile)
    target_compile_options(tessera_sm${architecture} PRIVATE ${TESSERA_NO_SPILLS})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:tessera_sm${architecture}>)
  endif()
endfunction()

# Lists every rung file for the program, with the reason where this build lacks it.
function(tessera_write_catalogue target)
  set(lines "")
  foreach(file ${ARGN})
    set(absent "")
    if(file MATCHES "\\.cu$" AND NOT file MATCHES "\\.simt\\.cu$" AND NOT TESSERA_HAS_CUDA)
      set(absent "this build has no CUDA")
    endif()
    string(APPEND lines "  register_catalogue(\"${file}\", \"${absent}\");\n")
  endforeach()
  set(TESSERA_CATALOGUE "${lines}")
  configure_file(cmake/catalogue.cpp.in ${PROJECT_BINARY_DIR}/catalogue.cpp @ONLY)
  target_sources(${target} PRIVATE ${PROJECT_BINARY_DIR}/catalogue.cpp)
endfunction()

# Device code as string literals, a raw string for each file. (One may hold 64 KiB.)
function(tessera_write_texts)
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${file})
    file(READ ${file} text)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/texts/${file}.text CONTENT "R\"text(@text@)text\"\n" @ONLY)
  endforeach()
endfunction()

function(tessera_add_operations target)
  file(GLOB_RECURSE texts RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ops/*-inl.h)
  tessera_write_texts(${texts})
  file(GLOB_RECURSE sources RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ops/*.cpp ops/*.cu)
  list(FILTER sources EXCLUDE REGEX "_test\\.(cpp|cu)$")
  foreach(file ${sources})
    if(file MATCHES "/[a-z]+_[0-9]" AND NOT file MATCHES "/[a-z]+_[0-9][0-9]_[a-z0-9_]+(\\.simt|\\.sm[0-9]+)?\\.(cpp|cu)$")
      message(FATAL_ERROR "${file}: a rung's file is called LADDER_00_NAME.SUFFIX, in small letters")
    endif()
  endforeach()
  set(rungs ${sources})
  list(FILTER rungs INCLUDE REGEX "/[a-z]+_[0-9][0-9]_")
  tessera_write_catalogue(${target} ${rungs})
  set(sm90 "")
  set(kernels "")
  foreach(file ${sources})
    if(file MATCHES "\\.simt\\.cu$")
      list(APPEND kernels ${file})
    elseif(file MATCHES "\\.sm90\\.cu$")
      list(APPEND sm90 ${PROJECT_SOURCE_DIR}/${file})
    elseif(file MATCHES "\\.cpp$" OR TESSERA_HAS_CUDA)
      target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/${file})
      tessera_forbid_spills(${target} ${file})
      if(file MATCHES "_source\\.cpp$")
        set_source_files_properties(${PROJECT_SOURCE_DIR}/${file} TARGET_DIRECTORY ${target}
                                    PROPERTIES INCLUDE_DIRECTORIES ${PROJECT_BINARY_DIR}/texts)
      endif()
    endif()
  endforeach()
  if(TESSERA_UNITY)
    set(host ${sources})
    list(FILTER host INCLUDE REGEX "\\.cpp$")
    list(FILTER host EXCLUDE REGEX "_source\\.cpp$")
    tessera_unite(${target} ${host} ${TESSERA_HOST_FILES})
  endif()
  tessera_add_plain(${target} ${kernels})
  tessera_add_traced(${kernels})
  if(TESSERA_HAS_CUDA)
    tessera_kernel_units(units cu ${kernels})
    target_sources(${target} PRIVATE ${units})
    tessera_add_architecture(${target} 90 ${sm90})
  endif()
endfunction()
