# SPDX-License-Identifier: Apache-2.0
# The tracer: the executor's side, the laboratory's, its tables.
target_sources(tessera_objects PRIVATE
  simt/across.cpp simt/block_checks.cpp simt/block_requests.cpp simt/block_trace.cpp simt/deeds.cpp simt/request.cpp
  simt/shadow.cpp simt/symbols.cpp simt/trace.cpp
  bench/trace.cpp bench/trace_arrays.cpp bench/trace_result.cpp
  report/trace_table.cpp report/why.cpp)

# What the compiler calls in traced kernels; also in those that a user brings along.
add_library(tessera_hooks STATIC simt/hooks.cpp)
add_library(tessera::tessera_hooks ALIAS tessera_hooks)
target_link_libraries(tessera_hooks PRIVATE $<BUILD_INTERFACE:tessera_compile>)

# Tells lines of source for addresses in traced kernels; without it they stay without lines.
find_path(TESSERA_LIBDW_INCLUDE elfutils/libdwfl.h)
find_library(TESSERA_LIBDW dw)
if(TESSERA_LIBDW_INCLUDE AND TESSERA_LIBDW)
  set_source_files_properties(simt/symbols.cpp PROPERTIES
    COMPILE_DEFINITIONS TESSERA_HAS_LIBDW)
  target_link_libraries(tessera_objects PRIVATE ${TESSERA_LIBDW})
else()
  message(STATUS "tessera: no libdw: traces without lines of source")
endif()
if(TESSERA_TRACING_ABSENT)
  set_source_files_properties(simt/trace.cpp simt/hooks.cpp PROPERTIES
    COMPILE_DEFINITIONS "TESSERA_TRACING_ABSENT=\"${TESSERA_TRACING_ABSENT}\"")
endif()

set_source_files_properties(bench/trace.cpp PROPERTIES COMPILE_DEFINITIONS "TESSERA_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
