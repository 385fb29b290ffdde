# SPDX-License-Identifier: Apache-2.0
# The program with made-up devices in place of GPUs.
add_executable(tessera_with_lanes $<TARGET_OBJECTS:tessera_cli> lanes/lanes.cpp)
target_link_libraries(tessera_with_lanes PRIVATE tessera_compile tessera::tessera fmt::fmt)
set_target_properties(tessera_with_lanes PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_executable(tessera_worker_with_lanes ${PROJECT_SOURCE_DIR}/tessera/cli/worker.cpp lanes/lanes.cpp)
target_link_libraries(tessera_worker_with_lanes PRIVATE tessera_compile tessera::tessera)
set_target_properties(tessera_worker_with_lanes PROPERTIES ENABLE_EXPORTS ON RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
tessera_script(protected_program ${TESSERA_PYTHON} tests/protected_test.py $<TARGET_FILE:tessera_with_lanes> $<TARGET_FILE:tessera_worker_with_lanes>)
tessera_script(resident_program ${TESSERA_PYTHON} tests/resident_test.py $<TARGET_FILE:tessera_with_lanes> $<TARGET_FILE:tessera_program>)
