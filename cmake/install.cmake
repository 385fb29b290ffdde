# SPDX-License-Identifier: Apache-2.0
# What a stranger's find_package(tessera) finds: library, headers, program.
include(CMakePackageConfigHelpers)

install(TARGETS tessera_library tessera EXPORT tessera-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET tessera_traced)
  install(TARGETS tessera_traced LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET tessera_mpi)
  install(TARGETS tessera_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(TARGETS tessera_program tessera_worker RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY tessera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh" REGEX "/elementary/[a-z_]+-inl[.]h$" PATTERN "cli" EXCLUDE)
# Typed calls: tessera/ops/NAME.hpp includes what ops/NAME offers to programs and to writers of kernels,
# which are those of its headers that say "Installed:".
file(GLOB folders RELATIVE ${PROJECT_SOURCE_DIR}/ops CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ops/*)
foreach(folder ${folders})
  file(GLOB typed RELATIVE ${PROJECT_SOURCE_DIR}/ops ${PROJECT_SOURCE_DIR}/ops/${folder}/*.hpp
       ${PROJECT_SOURCE_DIR}/ops/${folder}/*/*.hpp)
  set(lines "#pragma once\n")
  foreach(header ${typed})
    file(STRINGS ${PROJECT_SOURCE_DIR}/ops/${header} says REGEX "^// Installed:")
    if(says)
      string(APPEND lines "#include \"${header}\"\n")
      get_filename_component(place ${header} DIRECTORY)
      install(FILES ${PROJECT_SOURCE_DIR}/ops/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera/ops/${place})
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/ops/${folder}.hpp CONTENT "${lines}" @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/ops/${folder}.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera/ops)
endforeach()

target_compile_features(tessera INTERFACE cxx_std_20)
# CMake 3.25 knows no C++20 for nvcc.
target_compile_options(tessera INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;--expt-relaxed-constexpr>")
target_include_directories(tessera INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                                             $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
install(EXPORT tessera-targets NAMESPACE tessera:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
configure_package_config_file(cmake/tessera-config.cmake.in ${PROJECT_BINARY_DIR}/tessera-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tessera-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tessera-config.cmake ${PROJECT_BINARY_DIR}/tessera-config-version.cmake
              cmake/own_kernels.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
