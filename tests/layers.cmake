# SPDX-License-Identifier: Apache-2.0
tessera_test(core tessera/core/element_test.cpp tessera/core/expression_test.cpp
             tessera/core/array_test.cpp tessera/core/arguments_test.cpp tessera/core/numbers_test.cpp tessera/core/condition_test.cpp tessera/core/variant_test.cpp
             tessera/core/child_test.cpp tessera/core/parallel_test.cpp tessera/core/part_test.cpp)
tessera_test(formula tessera/formula/chain_test.cpp tessera/formula/distance_test.cpp tessera/formula/elementary_test.cpp tessera/formula/emit_test.cpp
             tessera/formula/evaluate_test.cpp tessera/formula/parse_test.cpp tessera/formula/program_test.cpp
             tessera/formula/open_steps_test.cpp tessera/formula/running_error_test.cpp)
target_link_libraries(test_formula PRIVATE fmt::fmt ${CMAKE_DL_LIBS})
target_compile_definitions(test_formula PRIVATE TESSERA_TEST_CXX="${CMAKE_CXX_COMPILER}")
tessera_test(io tessera/io/atomic_file_test.cpp tessera/io/file_kind_test.cpp tessera/io/kept_test.cpp tessera/io/line_file_test.cpp tessera/io/npy_header_test.cpp tessera/io/npy_test.cpp tessera/io/picture_png_test.cpp tessera/io/picture_test.cpp tessera/io/picture_tiff_test.cpp tessera/io/picture_grid_test.cpp)
tessera_test(simt tessera/simt/executor_test.cpp tessera/simt/warp_test.cpp tessera/simt/mistakes_test.cpp)
# As the build compiles every kernel for the executor.
target_compile_options(test_simt PRIVATE -fstack-clash-protection)
tessera_test(nvrtc tessera/cuda/nvrtc_test.cpp)
set_tests_properties(nvrtc PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED .? ?8 tests")
tessera_test(dist tessera/dist/split_test.cpp tessera/dist/tiles_test.cpp tessera/dist/queue_test.cpp tessera/dist/queue_corners_test.cpp tessera/dist/plan_test.cpp tessera/dist/fitting_test.cpp tessera/dist/outlook_test.cpp ops/matmul/division_test.cpp tessera/run/spread_test.cpp tessera/run/engine_test.cpp tessera/run/overlapped_test.cpp tessera/dist/layout_test.cpp tessera/run/resident_test.cpp
             tessera/run/worker_test.cpp tessera/run/watch_test.cpp tessera/run/deal_test.cpp tessera/run/hand_on_lanes_test.cpp)
add_dependencies(test_dist tessera_worker)
tessera_test(divisions tests/divisions_test.cpp)
add_dependencies(test_divisions tessera_worker)
tessera_test(lab tessera/bench/lab_test.cpp tessera/bench/ceilings_test.cpp tessera/bench/compare_test.cpp tessera/bench/measure_test.cpp
             tessera/bench/rotation_test.cpp tessera/bench/estimate_test.cpp tessera/bench/occupancy_test.cpp
             tessera/report/formats_test.cpp tessera/report/table_test.cpp tessera/report/trace_table_test.cpp)
target_link_libraries(test_lab PRIVATE nlohmann_json::nlohmann_json)
tessera_test(tune tessera/tune/measured_test.cpp tessera/tune/predict_test.cpp tessera/tune/search_test.cpp
             tessera/tune/space_test.cpp tessera/tune/tuner_test.cpp tessera/run/known_tunings_test.cpp tessera/report/two_way_table_test.cpp)
target_link_libraries(test_tune PRIVATE nlohmann_json::nlohmann_json)
tessera_test(report tessera/report/svg_test.cpp tessera/report/drawing_test.cpp tessera/report/document_test.cpp
             tessera/report/page_test.cpp)
target_link_libraries(test_report PRIVATE nlohmann_json::nlohmann_json fmt::fmt)
tessera_test(cli tessera/cli/ranges_test.cpp tessera/cli/ranges.cpp tessera/cli/words.cpp tessera/cli/tune_words_test.cpp
             tessera/cli/tune_words.cpp tessera/cli/split_words_test.cpp tessera/cli/split_words.cpp tessera/cli/paired_files_test.cpp
             tessera/cli/paired_files.cpp tessera/cli/file_names.cpp)
target_link_libraries(test_cli PRIVATE CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json)
tessera_test(cpu ops/matmul/cpu_simd_test.cpp)
tessera_test(matmul ops/matmul/matmul_test.cpp ops/matmul/checking_test.cpp ops/matmul/checksums_test.cpp ops/matmul/checksums_scales_test.cpp ops/matmul/tile_plan_test.cpp ops/matmul/tile_waves_test.cpp
             ops/matmul/tile_parts_test.cpp ops/matmul/warp_layout_test.cpp ops/matmul/warp_plan_test.cpp)
tessera_test(tensor_cores ops/matmul/mma_layout_test.cpp ops/matmul/mma_plan_test.cpp)
# CUDA's kernels compiled as C++, with what stands for CUDA found first.
tessera_test(tensor_kernel ops/matmul/mma_kernel_test.cpp ops/matmul/warp_kernel_test.cpp ops/matmul/tensor_pack_test.cpp)
target_include_directories(test_tensor_kernel BEFORE PRIVATE emulated)
target_compile_options(test_tensor_kernel PRIVATE -Wno-unknown-pragmas)
tessera_test(low ops/matmul/low_test.cpp ops/matmul/epilogue_test.cpp ops/matmul/conclusion_test.cpp ops/matmul/multiply_test.cpp ops/matmul/resident_test.cpp ops/matmul/sections_test.cpp
             ops/matmul/far_test.cpp ops/matmul/reach_test.cpp)
tessera_test(matmul_batch ops/matmul_batch/matmul_batch_test.cpp ops/matmul_batch/batch_plan_test.cpp
             ops/matmul_batch/group_test.cpp ops/matmul_batch/call_test.cpp ops/matmul_batch/agreement_test.cpp)
tessera_test(integrate ops/integrate/integrate_test.cpp ops/integrate/option_use_test.cpp ops/integrate/sums_test.cpp ops/integrate/falling_error_test.cpp
             ops/integrate/compiled_source_test.cpp ops/integrate/regions_test.cpp ops/integrate/call_test.cpp)
tessera_test(quadrature ops/integrate/rules/rules_test.cpp ops/integrate/rules/formula_test.cpp ops/integrate/rules/honest_test.cpp ops/integrate/rules/claims_test.cpp ops/integrate/rules/swinging_test.cpp ops/integrate/rules/cubature_test.cpp ops/integrate/rules/genz_test.cpp ops/integrate/rules/gauss_kronrod_product_test.cpp
             ops/integrate/rules/vegas_test.cpp ops/integrate/vegas_source_test.cpp ops/integrate/vegas_device_test.cpp
             ops/integrate/automatic_test.cpp ops/integrate/far_tail_test.cpp ops/integrate/overlooked_test.cpp ops/integrate/rules/gaps_test.cpp ops/integrate/rules/hidden_test.cpp ops/integrate/rules/needles_test.cpp ops/integrate/rules/standing_test.cpp ops/integrate/rules/ends_test.cpp
             ops/integrate/rules/fading_test.cpp ops/integrate/rules/named_test.cpp ops/integrate/rules/small_heights_test.cpp ops/integrate/rules/soft_window_test.cpp
             ops/integrate/rules/unseen_test.cpp ops/integrate/rules/open_zones_test.cpp ops/integrate/rules/reasons_test.cpp
             ops/integrate/rules/far_peaks_test.cpp ops/integrate/rules/caps_test.cpp ops/integrate/rules/waves_test.cpp)
target_link_libraries(test_quadrature PRIVATE fmt::fmt ${CMAKE_DL_LIBS})
target_compile_definitions(test_quadrature PRIVATE TESSERA_TEST_CXX="${CMAKE_CXX_COMPILER}")
tessera_test(integrate_batch ops/integrate_batch/integrate_batch_test.cpp ops/integrate_batch/steps_test.cpp ops/integrate_batch/narrowness_test.cpp ops/integrate_batch/searched_test.cpp ops/integrate_batch/solved_zeros_test.cpp ops/integrate_batch/compiled_source_test.cpp)
target_link_libraries(test_integrate_batch PRIVATE fmt::fmt ${CMAKE_DL_LIBS})
target_compile_definitions(test_integrate_batch PRIVATE TESSERA_TEST_CXX="${CMAKE_CXX_COMPILER}")
if(TARGET gsl)
  tessera_script(gsl_batch $<TARGET_FILE:tessera_program> --load $<TARGET_FILE:gsl> bench integrate_batch "sqrt(x)*cos(k*x)*exp(-x*x)" 0 5
                 --parameters k=0.5:50 n=40 --relative 1e-9 --device cpu --reps 2)
  set_tests_properties(gsl_batch PROPERTIES PASS_REGULAR_EXPRESSION "gsl_native [^\n]* ok\n" FAIL_REGULAR_EXPRESSION "wrong")
endif()
tessera_test(filter ops/filter/filter_test.cpp ops/filter/factors_test.cpp ops/filter/simd_test.cpp ops/filter/words_test.cpp)
tessera_test(refocus ops/refocus/refocus_test.cpp ops/sharpest/sharpest_test.cpp)
tessera_test(resize ops/resize/resize_test.cpp ops/resize/simd_test.cpp ops/resize/packed_test.cpp)
tessera_test(seamcarve ops/seamcarve/seamcarve_test.cpp ops/seamcarve/reference_test.cpp)
tessera_test(conformance tests/conformance_test.cpp tessera/run/overlap_test.cpp)
# Each with a GPU that it makes up.
tessera_test(enqueued tessera/run/enqueue_test.cpp ops/integrate/relief_test.cpp)
if(TESSERA_HAS_CUDA)
  tessera_test(cuda tessera/cuda/cuda_test.cu tessera/cuda/lanes_test.cpp tessera/cuda/formula_test.cu tessera/cuda/probe_test.cu tessera/cuda/quick_root_test.cu ops/integrate/call_test.cu)
  tessera_test(enqueue ops/matmul/enqueue_test.cu ops/matmul_batch/enqueue_test.cu)
  set_tests_properties(enqueue PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED .? ?12 tests")
  add_executable(calls_on_device ${PROJECT_SOURCE_DIR}/examples/calls/device.cpp)
  target_link_libraries(calls_on_device PRIVATE tessera_compile tessera::tessera)
  # Under the name that it has once it is installed.
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/installed/tessera/ops/matmul.hpp CONTENT "#include \"ops/matmul/enqueue.hpp\"\n")
  target_include_directories(calls_on_device PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/installed)
  set_target_properties(calls_on_device PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  tessera_script(example_on_device calls_on_device)
  set_tests_properties(example_on_device PROPERTIES SKIP_RETURN_CODE 77)
endif()

tessera_test(twins tests/twins/twins_test.cpp)
foreach(twin gpu_01_left gpu_02_right)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/twins/${twin}.cpp
       CONTENT "#include \"${CMAKE_CURRENT_SOURCE_DIR}/twins/${twin}.simt.cu\"\n")
  target_sources(test_twins PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/twins/${twin}.cpp)
endforeach()
# Nothing is inlined away: what the linker merges shows.
target_compile_options(test_twins PRIVATE -O0)

tessera_script(program ${TESSERA_PYTHON} tests/cli_test.py $<TARGET_FILE:tessera_program>)
tessera_script(program_lab ${TESSERA_PYTHON} tests/cli_lab_test.py $<TARGET_FILE:tessera_program>)
tessera_script(devices_program ${TESSERA_PYTHON} tests/devices_test.py $<TARGET_FILE:tessera_program>)
tessera_script(devices_failures ${TESSERA_PYTHON} tests/devices_failures_test.py $<TARGET_FILE:tessera_program>)
tessera_script(devices_pictures ${TESSERA_PYTHON} tests/devices_pictures_test.py $<TARGET_FILE:tessera_program>)
tessera_script(plan_program ${TESSERA_PYTHON} tests/plan_test.py $<TARGET_FILE:tessera_program>)
tessera_script(integrate_program ${TESSERA_PYTHON} tests/integrate_test.py $<TARGET_FILE:tessera_program>)
tessera_script(integrate_study ${TESSERA_PYTHON} tests/integrate_study_test.py $<TARGET_FILE:tessera_program>)
tessera_script(report_files ${TESSERA_PYTHON} tests/report_test.py $<TARGET_FILE:tessera_program> ${PROJECT_BINARY_DIR}/report)
tessera_script(tools_files ${TESSERA_PYTHON} tests/tools_test.py $<TARGET_FILE:tessera_program>)
tessera_script(report_page ${TESSERA_PYTHON} tests/report_test.py $<TARGET_FILE:tessera_program> ${PROJECT_BINARY_DIR}/report browser)
set_tests_properties(report_page PROPERTIES SKIP_RETURN_CODE 77)
tessera_script(documents ${TESSERA_PYTHON} tests/docs_test.py $<TARGET_FILE:tessera_program>)
tessera_script(filter_program ${TESSERA_PYTHON} tests/filter_test.py $<TARGET_FILE:tessera_program>)
tessera_script(lightfield_program ${TESSERA_PYTHON} tests/lightfield_test.py $<TARGET_FILE:tessera_program>)
if(TARGET opencv)
  set(TESSERA_OPENCV_PLUGIN $<TARGET_FILE:opencv>)
endif()
tessera_script(resize_program ${TESSERA_PYTHON} tests/resize_test.py $<TARGET_FILE:tessera_program> ${TESSERA_OPENCV_PLUGIN})
tessera_script(images ${TESSERA_PYTHON} tests/images_test.py $<TARGET_FILE:tessera_program>)
tessera_script(pictures ${TESSERA_PYTHON} tests/pictures_test.py $<TARGET_FILE:tessera_program>)
tessera_script(edges ${TESSERA_PYTHON} tests/edges_test.py $<TARGET_FILE:tessera_program>)
tessera_script(rules ${TESSERA_PYTHON} tests/rules_test.py $<TARGET_FILE:tessera_program>)
tessera_script(headers ${TESSERA_PYTHON} tests/headers_test.py ${PROJECT_BINARY_DIR} ${CMAKE_CXX_COMPILER} ${CMAKE_CUDA_COMPILER})
# It compiles some 400 headers, each by itself.
set_tests_properties(headers PROPERTIES TIMEOUT 1200)
if(TESSERA_HAS_CUDA)
  tessera_script(older_gpus ${TESSERA_PYTHON} tests/older_gpus_test.py ${CMAKE_CUDA_COMPILER})
endif()
add_executable(npy_roundtrip npy_roundtrip.cpp)
target_link_libraries(npy_roundtrip PRIVATE tessera_compile tessera::tessera)
set_target_properties(npy_roundtrip PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
tessera_script(numpy ${TESSERA_PYTHON} tests/npy_numpy_test.py $<TARGET_FILE:npy_roundtrip>)
if(TESSERA_INSTALL AND NOT TESSERA_SANITIZE)
  tessera_script(install tests/install_test.sh ${PROJECT_BINARY_DIR})
  tessera_script(own_kernel ${TESSERA_PYTHON} tests/own_kernel_test.py ${PROJECT_BINARY_DIR})
  # Installing writes its list into the build folder.
  set_tests_properties(install own_kernel PROPERTIES RESOURCE_LOCK install)
endif()
include(example.cmake)
include(plugins.cmake)
include(boost.cmake)
include(tracing.cmake)
include(agreement.cmake)
include(faults.cmake)
include(lanes.cmake)
include(mpi.cmake)
include(fuzz.cmake)
include(products.cmake)
tessera_script(readme_tables ${TESSERA_PYTHON} tools/readme_tables --check)
