# SPDX-License-Identifier: Apache-2.0
# What a stranger's find_package(tessera) finds: library, headers, program.
include(CMakePackageConfigHelpers)

if(TARGET tessera_thread)
  install(TARGETS tessera_thread EXPORT tessera-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(TARGETS tessera_library tessera EXPORT tessera-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET tessera_traced)
  install(TARGETS tessera_traced LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
# For CUDA files: the runtime, and what stands for CUDA's headers.
install(TARGETS tessera_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY tessera/frontend/include/ ${PROJECT_BINARY_DIR}/library/cuda_headers/ DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera/cuda)
if(TARGET tessera_mpi)
  install(TARGETS tessera_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET tessera_c)
  install(TARGETS tessera_c EXPORT tessera-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES include/tessera/tessera.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera)
endif()
install(TARGETS tessera_program tessera_worker RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
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
list(JOIN public "\n" lines)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/public_headers.txt CONTENT "${lines}\n" @ONLY)
foreach(header ${public})
  get_filename_component(folder ${header} DIRECTORY)
  string(REGEX REPLACE "^include/" "" folder ${folder})
  string(REGEX REPLACE "^ops" "tessera/ops" folder ${folder})
  install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
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

# `make deb`: program, library and headers in one package.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tessera)
set(CPACK_PACKAGE_CONTACT "The Tessera authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Matrix products, integrals and image operations, each a ladder of kernels")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# It compiles CUDA files of the user.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "g++")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "cmake")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
include(CPack)
