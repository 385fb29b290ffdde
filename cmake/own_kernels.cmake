# SPDX-License-Identifier: Apache-2.0
# For projects that find_package(tessera): kernels, rungs and operations of their own, compiled into
# shared objects for `tessera --load`.
#
#   tessera_add_kernels(NAME FILES…)    libNAME.so; what a file's suffix means is the same as in ops/:
#     .simt.cu   for the executor, plain and (by g++) traced; for GPUs too, where there is an nvcc
#     .cu        for GPUs; left out without nvcc
#     .cpp       C++

# A macro, because a language can be enabled at file scope only.
macro(tessera_add_kernels name)
  if(TESSERA_HAS_CUDA AND NOT CMAKE_CUDA_COMPILER)
    find_program(TESSERA_NVCC nvcc HINTS ENV CUDACXX ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda /opt/cuda PATH_SUFFIXES bin)
    if(TESSERA_NVCC)
      set(CMAKE_CUDA_COMPILER ${TESSERA_NVCC})
      if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
        set(CMAKE_CUDA_ARCHITECTURES ${TESSERA_CUDA_ARCHITECTURES})
      endif()
      enable_language(CUDA)
    endif()
  endif()
  _tessera_add_kernels(${name} ${ARGN})
endmacro()

# The files that tessera itself compiles for the executor, each a C++ unit that includes the kernel's.
function(_tessera_simt_unit target file kind)
  get_filename_component(stem ${file} NAME)
  string(REGEX REPLACE "\\.simt\\.cu$" ".${kind}.cpp" unit ${stem})
  set(unit ${CMAKE_CURRENT_BINARY_DIR}/${target}.simt/${unit})
  file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${file}\"\n" @ONLY)
  target_sources(${target} PRIVATE ${unit})
  get_filename_component(folder ${file} DIRECTORY)
  # A large frame must touch the gap below the executor's stacks.
  set_property(SOURCE ${unit} APPEND PROPERTY INCLUDE_DIRECTORIES ${folder})
  set_property(SOURCE ${unit} APPEND PROPERTY COMPILE_OPTIONS -fstack-clash-protection)
  if("${kind}" STREQUAL "traced")
    set_property(SOURCE ${unit} APPEND PROPERTY COMPILE_OPTIONS ${TESSERA_TRACED_FLAGS})
  endif()
endfunction()

function(_tessera_add_kernels target)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
  endif()
  add_library(${target} MODULE)
  target_include_directories(${target} PRIVATE $<TARGET_PROPERTY:tessera::tessera,INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_features(${target} PRIVATE cxx_std_20)
  # The arithmetic of the ladder: nothing is fused that does not say so.
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
    "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;-fmad=false;--expt-relaxed-constexpr;-Xcompiler=-ffp-contract=off>")
  # Functions that the program has too (of a header that both include, perhaps changed since) are
  # this object's own.
  target_link_options(${target} PRIVATE -Wl,-Bsymbolic-functions)
  set(traced "")
  foreach(given ${ARGN})
    get_filename_component(file ${given} ABSOLUTE)
    if(file MATCHES "\\.simt\\.cu$")
      _tessera_simt_unit(${target} ${file} plain)
      list(APPEND traced ${file})
    endif()
    if(file MATCHES "\\.cpp$" OR (file MATCHES "\\.cu$" AND CMAKE_CUDA_COMPILER))
      target_sources(${target} PRIVATE ${file})
    endif()
  endforeach()
  # Last, so that of a function that several units have the linker takes one without the calls.
  if(TESSERA_TRACED_FLAGS AND NOT TESSERA_TRACING_ABSENT AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    foreach(file ${traced})
      _tessera_simt_unit(${target} ${file} traced)
    endforeach()
  endif()
endfunction()
