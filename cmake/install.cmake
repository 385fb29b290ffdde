# SPDX-License-Identifier: Apache-2.0
# What a stranger's find_package(tessera) finds: library, headers, program.
include(CMakePackageConfigHelpers)
# `cmake --install` takes all components; `make deb` makes a package of each.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)
set(program COMPONENT program)
# CUDA files of the user are linked by the names without a version.
set(library LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ${program})

if(TARGET tessera_thread)
  install(TARGETS tessera_thread EXPORT tessera-targets ${library})
endif()
install(TARGETS tessera_library tessera EXPORT tessera-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} ${library})
# For CUDA files: the runtime, and what stands for CUDA's headers.
install(TARGETS tessera_cuda ${library})
install(DIRECTORY tessera/frontend/include/ ${PROJECT_BINARY_DIR}/library/cuda_headers/ DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera/cuda ${program})
# What the program alone does not need, and `make demo` does not build.
foreach(part tessera_traced tessera_mpi tessera_c)
  if(TARGET ${part})
    set(component program)
    if(part STREQUAL tessera_mpi)
      set(component mpi)
    endif()
    if(NOT part STREQUAL tessera_c)
      target_link_options(${part} PRIVATE -Wl,-soname,$<TARGET_FILE_NAME:${part}>)
    endif()
    install(TARGETS ${part} EXPORT ${part}-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL COMPONENT ${component} NAMELINK_COMPONENT dev)
    install(CODE "if(NOT EXISTS \"$<TARGET_FILE:${part}>\")
  message(STATUS \"not built, and so not installed: $<TARGET_FILE_NAME:${part}> (cmake --build FOLDER --target ${part})\")
endif()")
  endif()
endforeach()
if(TARGET tessera_c)
  install(FILES include/tessera/tessera.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera)
  install(EXPORT tessera_c-targets NAMESPACE tessera:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
endif()
install(TARGETS tessera_program tessera_worker RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} ${program})
# Public headers: those of include/tessera and of the programs' checks, what they include, and no others. An entry header
# names what it needs of an operation "ops/…"; there, headers include each other by relative paths: installed, ops/ lies in
# include/tessera.
function(tessera_public_headers out)
  set(found "")
  set(open ${ARGN})
  while(open)
    list(POP_FRONT open header)
    if(header IN_LIST found)
      continue()
    endif()
    list(APPEND found ${header})
    get_filename_component(folder ${header} DIRECTORY)
    file(STRINGS ${PROJECT_SOURCE_DIR}/${header} lines REGEX "^#include \"")
    foreach(line ${lines})
      string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" name "${line}")
      if(name MATCHES "^ops/" AND NOT folder STREQUAL "include/tessera")
        message(FATAL_ERROR "${header} is a public header: it must include ${name} by a path relative to itself")
      endif()
      foreach(place ${folder}/${name} ${name} include/${name})
        cmake_path(NORMAL_PATH place)
        if(EXISTS ${PROJECT_SOURCE_DIR}/${place})
          list(APPEND open ${place})
          break()
        endif()
      endforeach()
    endforeach()
  endwhile()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

file(GLOB_RECURSE public RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS include/tessera/*.hpp)
tessera_public_headers(public ${public} tessera/simt/tracer/traced_copies.hpp tessera/run/conformance.hpp)
# CUDA files of the user are traced with it, so that the program needs it, too.
tessera_public_headers(of_program tessera/simt/tracer/traced_copies.hpp)
list(JOIN public "\n" lines)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/public_headers.txt CONTENT "${lines}\n" @ONLY)
foreach(header ${public})
  get_filename_component(folder ${header} DIRECTORY)
  string(REGEX REPLACE "^include/" "" folder ${folder})
  string(REGEX REPLACE "^ops" "tessera/ops" folder ${folder})
  set(component dev)
  if(header IN_LIST of_program)
    set(component program)
  endif()
  install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT ${component})
endforeach()

target_compile_features(tessera INTERFACE cxx_std_20)
# CMake 3.25 knows no C++20 for nvcc.
target_compile_options(tessera INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;--expt-relaxed-constexpr>")
target_include_directories(tessera INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                                             $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                             $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
install(EXPORT tessera-targets NAMESPACE tessera:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
configure_package_config_file(cmake/tessera-config.cmake.in ${PROJECT_BINARY_DIR}/tessera-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tessera-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tessera-config.cmake ${PROJECT_BINARY_DIR}/tessera-config-version.cmake
              cmake/own_kernels.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)

if(NOT TESSERA_STATIC)
  include(cmake/packages.cmake)
endif()
