# SPDX-License-Identifier: Apache-2.0
# Most of what a small file costs is its headers and what they instantiate. So files of one folder, with the same flags, are
# compiled several in one unit, which halves their time. The price: a change compiles its neighbours, too, and files
# of one folder see each other's anonymous namespaces. The preset `dev` compiles each file by itself.
option(TESSERA_BATCHES "Compile small files in batches" ON)
set(TESSERA_BATCH_SIZE 8)
set(TESSERA_KERNEL_BATCH_SIZE 5)  # nvcc takes long for each
# g++ frees what it no longer needs whenever its memory has doubled, which a unit of several files reaches again and again.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(TESSERA_BATCH_FLAGS $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=500000>)
endif()
set(TESSERA_RUNG "/[a-z]+_[0-9][0-9]_[a-z0-9_]+(\\.simt|\\.sm[0-9]+)?\\.")

# Files with a name of their own that another file of their folder has as well: they have batches of their own, ...
set(TESSERA_APART
  ops/integrate/rules/cubature.cpp ops/integrate/rules/explore.cpp ops/integrate/rules/extremes.cpp ops/integrate/rules/far_peaks.cpp ops/integrate/rules/formula_integrand.cpp
  ops/integrate/rules/gauss_kronrod_product.cpp ops/integrate/rules/met_regions.cpp ops/integrate/rules/sensitivity.cpp ops/integrate/rules/tanh_sinh.cpp ops/integrate/rules/turning_points.cpp
  ops/matmul/checksums.cpp ops/matmul/conclusion.cpp ops/matmul/matmul.cpp ops/matmul/resident.cpp ops/matmul/sections.cpp ops/matmul/tile_plan.cpp
  tessera/cli/compare.cpp tessera/cli/devices.cpp tessera/cli/operate.cpp tessera/cli/plan.cpp tessera/cli/sweep.cpp
  tessera/bench/result_json.cpp tessera/bench/resume.cpp
  tessera/report/heat_map.cpp tessera/report/ladder_table.cpp tessera/report/row_words.cpp tessera/report/rows_table.cpp tessera/report/shared_run.cpp tessera/report/style.cpp tessera/report/trace_charts.cpp
)
# ... or none. (Nor is what Highway compiles once for each instruction set, nor what nvcc compiles in ops/ besides rungs.)
set(TESSERA_ALONE
  tessera/cuda/cuda_test.cu tessera/cuda/probe_test.cu tessera/io/kept_test.cpp tessera/io/line_file_test.cpp tessera/io/picture_grid_test.cpp tessera/io/picture_png_test.cpp
  tests/products/each_test.cpp tests/products/long_test.cpp tests/products/many_test.cpp tests/products/single_test.cpp tessera/io/picture_test.cpp tessera/io/picture_tiff_test.cpp tessera/bench/measure_test.cpp tessera/bench/rotation_test.cpp tessera/run/watch_test.cpp tessera/tune/tuner_test.cpp
  ops/integrate/rules/formula_features.cpp ops/integrate/rules/formula_needles.cpp ops/integrate/rules/formula_waves.cpp ops/integrate/rules/gauss_kronrod.cpp ops/integrate/rules/hidden_regions.cpp ops/integrate/rules/later_peaks.cpp
  ops/integrate/rules/product.cpp ops/integrate/rules/quasi_random.cpp ops/integrate/rules/regions.cpp ops/integrate/rules/soft_window.cpp ops/integrate/rules/standing.cpp ops/integrate/rules/tail.cpp
  ops/integrate/rules/variable.cpp ops/integrate/rules/vegas.cpp ops/integrate/rules/vegas_cpu.cpp
  ops/integrate/gpu_00_cub.cu ops/integrate/gpu_00_cub_circle.cu ops/integrate/gpu_01_one_thread.simt.cu ops/integrate/gpu_02_strips_per_thread.simt.cu
  ops/integrate/gpu_03_grid_stride.simt.cu ops/integrate/gpu_04_warp_sums.simt.cu ops/integrate/gpu_05_one_launch.simt.cu ops/integrate/gpu_08_regions.simt.cu
  ops/integrate_batch/gpu_01_thread_per_integral.simt.cu ops/integrate_batch/gpu_02_warp_per_integral.simt.cu
  ops/integrate/gpu_10_vegas.simt.cu ops/integrate/gpu_11_vegas_compiled.cu ops/matmul/gpu_11_warp_tiles.cu ops/matmul/gpu_00_cublas.cu ops/matmul_batch/gpu_00_cublas.cu ops/resize/gpu_00_npp.cu ops/filter/gpu_00_npp.cu
  ops/matmul/distributed.cpp ops/matmul/division.cpp ops/matmul/elements.cpp ops/matmul/low_bound.cpp ops/matmul/low_precision.cpp ops/matmul/low_suspects.cpp ops/matmul/rounding.cpp ops/matmul/warp_plan.cpp
  ops/integrate/cpu_03_simd_fast_roots.cpp ops/integrate/strips_told.cpp
  tessera/cli/distributed.cpp tessera/cli/sweep_split.cpp tessera/cli/together.cpp tessera/cli/trace.cpp
  tessera/core/contraction.cpp tessera/core/expression.cpp tessera/core/intake.cpp tessera/core/lanes.cpp tessera/core/operation.cpp tessera/core/part.cpp
  tessera/cuda/in_order.cu tessera/cuda/nvml.cpp tessera/cuda/part.cpp tessera/cuda/tensor_map.cpp
  ops/integrate_batch/solved_zeros.cpp tessera/dist/tiles.cpp
  tessera/formula/open_steps.cpp tessera/formula/polynomial.cpp tessera/formula/running_error.cpp
  tessera/bench/trace_result.cpp tessera/bench/trial.cpp
  tessera/report/table.cpp tessera/report/timeline_chart.cpp tessera/report/two_way_table.cpp tessera/report/why.cpp
  tessera/run/checkpoint.cpp tessera/run/known_tunings.cpp tessera/run/overlap.cpp tessera/run/resident_ranks.cpp tessera/run/tuned.cpp tessera/run/verify.cpp
  tessera/simt/block_requests.cpp tessera/simt/block_trace.cpp
)

function(tessera_is_alone out file text)
  file(STRINGS ${file} highway REGEX "#include <hwy/" LIMIT_COUNT 1)
  set(${out} FALSE PARENT_SCOPE)
  if(highway OR text IN_LIST TESSERA_ALONE)
    set(${out} TRUE PARENT_SCOPE)
  elseif(NOT text MATCHES "_test\\.(cpp|cu)$")
    # A processor's rungs by themselves, for what is inlined into their loops depends on how much a unit holds; of what nvcc
    # compiles in ops/, only rungs.
    set(rung FALSE)
    if(text MATCHES "${TESSERA_RUNG}")
      set(rung TRUE)
    endif()
    if(text MATCHES "\\.cpp$" AND rung OR text MATCHES "^ops/.+\\.cu$" AND NOT rung)
      set(${out} TRUE PARENT_SCOPE)
    endif()
  endif()
endfunction()

# What a unit says to compile a rung or a test. Others beside it bear the same names (of Configs, kernels, fixtures), so it gets
# a namespace of its own in its layer's or operation's: `namespace tessera::matmul {` of cpu_01_naive.cpp opens
# tessera::matmul::unit_cpu_01_naive. First come all headers of the unit, for which that would be wrong.
function(tessera_own_names out_headers out_file file)
  cmake_path(GET file PARENT_PATH folder)
  file(STRINGS ${PROJECT_SOURCE_DIR}/${file} included REGEX "^#include ")
  set(headers "")
  foreach(line ${included})
    string(REGEX REPLACE ".*[\"<](.+)[\">].*" "\\1" header "${line}")
    if(EXISTS ${PROJECT_SOURCE_DIR}/${folder}/${header})
      string(REPLACE "${header}" "${folder}/${header}" line "${line}")
    endif()
    list(APPEND headers "${line}\n")
  endforeach()
  file(STRINGS ${PROJECT_SOURCE_DIR}/${file} opened REGEX "^namespace tessera(::[a-z_]+)* {$" LIMIT_COUNT 1)
  string(REGEX REPLACE ".*[ :]([a-z_]+) {$" "\\1" name "${opened}")
  cmake_path(GET file STEM own)
  set(${out_headers} "${headers}" PARENT_SCOPE)
  set(${out_file} "#define ${name} ${name}::unit_${own}\n#include \"${file}\"\n#undef ${name}\n" PARENT_SCOPE)
endfunction()

function(tessera_batch_lines out)
  set(headers "")
  set(files "")
  foreach(file ${ARGN})
    if(file MATCHES "${TESSERA_RUNG}cu$|_test\\.(cpp|cu)$")
      tessera_own_names(own_headers own_file ${file})
      list(APPEND headers ${own_headers})
      string(APPEND files "${own_file}")
    else()
      string(APPEND files "#include \"${file}\"\n")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES headers)
  list(JOIN headers "" headers)
  set(${out} "${headers}${files}" PARENT_SCOPE)
endfunction()

# The units of one batch after another: neighbours in the list's order, as many in each as in the others, or one more.
function(tessera_write_batches out name)
  cmake_path(GET name EXTENSION LAST_ONLY extension)
  cmake_path(REMOVE_EXTENSION name LAST_ONLY)
  list(LENGTH ARGN files)
  set(size ${TESSERA_BATCH_SIZE})
  if(name MATCHES "/ops/" AND extension STREQUAL ".cu")
    set(size ${TESSERA_KERNEL_BATCH_SIZE})
  endif()
  math(EXPR batches "(${files} + ${size} - 1) / ${size}")
  set(units "")
  set(begin 0)
  foreach(batch RANGE 1 ${batches})
    math(EXPR end "${batch} * ${files} / ${batches}")
    math(EXPR length "${end} - ${begin}")
    list(SUBLIST ARGN ${begin} ${length} members)
    tessera_batch_lines(lines ${members})
    set(unit ${PROJECT_BINARY_DIR}/batches/${name}_${batch}${extension})
    file(CONFIGURE OUTPUT ${unit} CONTENT "${lines}" @ONLY)
    list(APPEND units ${unit})
    set(begin ${end})
  endforeach()
  set(${out} "${units}" PARENT_SCOPE)
endfunction()

# Which batches of its target a file may be in: those of its folder and flags; none if it has definitions or folders of
# headers of its own.
function(tessera_batch_of out target source)
  set(${out} "" PARENT_SCOPE)
  get_target_property(folder ${target} SOURCE_DIR)
  get_filename_component(file "${source}" ABSOLUTE BASE_DIR ${folder})
  cmake_path(IS_PREFIX PROJECT_BINARY_DIR ${file} NORMALIZE made)
  if(made OR NOT file MATCHES "\\.(cpp|cu)$")
    return()
  endif()
  foreach(property COMPILE_DEFINITIONS INCLUDE_DIRECTORIES COMPILE_OPTIONS)
    get_source_file_property(${property} ${file} TARGET_DIRECTORY ${target} ${property})
  endforeach()
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE text)
  tessera_is_alone(alone ${file} ${text})
  if(alone OR COMPILE_DEFINITIONS OR INCLUDE_DIRECTORIES)
    return()
  endif()
  cmake_path(GET text PARENT_PATH key)
  cmake_path(GET text EXTENSION LAST_ONLY extension)
  if(text IN_LIST TESSERA_APART)
    string(APPEND key "_apart")
  endif()
  if(COMPILE_OPTIONS)
    string(MD5 sum "${COMPILE_OPTIONS}")
    string(SUBSTRING ${sum} 0 4 sum)
    string(APPEND key "_${sum}")
    set(flags "${COMPILE_OPTIONS}")
  else()
    set(flags "")
  endif()
  set(${out} ${key}${extension} PARENT_SCOPE)
  set(${out}_text ${text} PARENT_SCOPE)
  set(${out}_flags "${flags}" PARENT_SCOPE)
endfunction()

# Puts the files of a target into batches.
function(tessera_batch target)
  if(NOT TESSERA_BATCHES)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(kept "")
  set(keys "")
  foreach(source ${sources})
    tessera_batch_of(key ${target} "${source}")
    if(key)
      list(APPEND keys ${key})
      list(APPEND files_${key} ${key_text})
      set(flags_${key} "${key_flags}")
      set(source_${key} ${source})
    else()
      list(APPEND kept ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES keys)
  foreach(key ${keys})
    list(LENGTH files_${key} count)
    if(count EQUAL 1)
      list(APPEND kept ${source_${key}})
    else()
      tessera_write_batches(units ${target}/${key} ${files_${key}})
      set_source_files_properties(${units} TARGET_DIRECTORY ${target} PROPERTIES
                                  COMPILE_OPTIONS "${flags_${key}};${TESSERA_BATCH_FLAGS}")
      list(APPEND kept ${units})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES SOURCES "${kept}")
endfunction()
