# SPDX-License-Identifier: Apache-2.0
# An operation whose rungs are wrong on purpose, in a program and a test of its own: what a user sees
# of a wrong result, and that nothing wrong passes.
file(GLOB faults CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/faults/twice/*.cpp)
file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/faults/twice/*.simt.cu)
foreach(kernel ${kernels})
  get_filename_component(name ${kernel} NAME_WE)
  set(unit ${PROJECT_BINARY_DIR}/faults/twice/${name}.plain.cpp)
  file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${kernel}\"\n" @ONLY)
  list(APPEND faults ${unit})
endforeach()
add_library(tessera_faults OBJECT ${faults})
target_include_directories(tessera_faults PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/faults/twice)
target_link_libraries(tessera_faults PRIVATE tessera_compile tessera::tessera)

tessera_test(faults faults_test.cpp)
target_link_libraries(test_faults PRIVATE $<TARGET_OBJECTS:tessera_faults>)

add_executable(tessera_with_faults ${PROJECT_SOURCE_DIR}/tessera/cli/main.cpp $<TARGET_OBJECTS:tessera_cli> $<TARGET_OBJECTS:tessera_faults>)
target_link_libraries(tessera_with_faults PRIVATE tessera_compile tessera::tessera fmt::fmt)
set_target_properties(tessera_with_faults PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
tessera_script(wrong_results ${TESSERA_PYTHON} tests/faults_test.py $<TARGET_FILE:tessera_with_faults>)
