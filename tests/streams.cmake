# SPDX-License-Identifier: Apache-2.0
# A worker program with made-up devices in place of GPUs.
add_executable(tessera_worker_with_streams ${PROJECT_SOURCE_DIR}/tessera/cli/worker.cpp streams/worker_streams.cpp)
target_link_libraries(tessera_worker_with_streams PRIVATE tessera_compile tessera::tessera)
set_target_properties(tessera_worker_with_streams PROPERTIES ENABLE_EXPORTS ON RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_dependencies(test_run tessera_worker_with_streams)
