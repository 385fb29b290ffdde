# SPDX-License-Identifier: Apache-2.0
# What a stranger's find_package(tessera) finds: library, headers, program.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS tessera_objects tessera EXPORT tessera-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tessera_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY tessera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh" PATTERN "cli" EXCLUDE)
# Typed calls: ops/NAME/*.hpp becomes tessera/ops/*.hpp.
file(GLOB typed CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ops/*/*.hpp)
install(FILES ${typed} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera/ops)

target_include_directories(tessera INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                                             $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
install(EXPORT tessera-targets NAMESPACE tessera:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
configure_package_config_file(cmake/tessera-config.cmake.in ${PROJECT_BINARY_DIR}/tessera-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tessera-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tessera-config.cmake ${PROJECT_BINARY_DIR}/tessera-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
