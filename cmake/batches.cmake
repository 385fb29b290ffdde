# SPDX-License-Identifier: Apache-2.0
# Most of what a small file costs is its headers and what they instantiate. So C++ files of one folder, with the same flags, are
# compiled several in one unit, which halves their time. The price: a change compiles its neighbours, too, and files
# of one folder see each other's anonymous namespaces. The preset `dev` compiles each file by itself.
option(TESSERA_BATCHES "Compile C++ files in batches" ON)
set(TESSERA_BATCH_SIZE 8)

# The folders where that is done. Elsewhere too many files share names that are theirs alone: those of rungs bear the same
# names on purpose.
set(TESSERA_BATCHED "^tessera/(core|cuda|formula|io|lab|simt|tune)/")

# Files with a name of their own that another file of their folder has as well: they have batches of their own, ...
set(TESSERA_APART
  tessera/lab/result_json.cpp tessera/lab/resume.cpp
)
# ... or none, nor has what Highway compiles once for each instruction set.
set(TESSERA_ALONE
  tessera/core/contraction.cpp tessera/core/expression.cpp tessera/core/intake.cpp tessera/core/lanes.cpp tessera/core/operation.cpp
  tessera/core/part.cpp
  tessera/cuda/in_order.cu tessera/cuda/nvml.cpp tessera/cuda/part.cpp tessera/cuda/tensor_map.cpp
  tessera/formula/open_steps.cpp tessera/formula/polynomial.cpp tessera/formula/running_error.cpp
  tessera/lab/trace_result.cpp tessera/lab/trial.cpp
  tessera/simt/block_requests.cpp tessera/simt/block_trace.cpp
)

function(tessera_is_alone out file text)
  file(STRINGS ${file} highway REGEX "#include <hwy/" LIMIT_COUNT 1)
  if(highway OR text IN_LIST TESSERA_ALONE OR NOT text MATCHES "${TESSERA_BATCHED}")
    set(${out} TRUE PARENT_SCOPE)
  else()
    set(${out} FALSE PARENT_SCOPE)
  endif()
endfunction()

# The units of one batch after another: neighbours in the list's order, as many in each as in the others, or one more.
function(tessera_write_batches out name)
  cmake_path(GET name EXTENSION LAST_ONLY extension)
  cmake_path(REMOVE_EXTENSION name LAST_ONLY)
  list(LENGTH ARGN files)
  math(EXPR batches "(${files} + ${TESSERA_BATCH_SIZE} - 1) / ${TESSERA_BATCH_SIZE}")
  set(units "")
  set(begin 0)
  foreach(batch RANGE 1 ${batches})
    math(EXPR end "${batch} * ${files} / ${batches}")
    math(EXPR length "${end} - ${begin}")
    list(SUBLIST ARGN ${begin} ${length} members)
    list(TRANSFORM members REPLACE "(.+)" "#include \"\\1\"\n")
    list(JOIN members "" lines)
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
  if(made OR NOT file MATCHES "\\.cpp$|/tessera/cuda/[a-z_]+\\.cu$")
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
      set_source_files_properties(${units} TARGET_DIRECTORY ${target} PROPERTIES COMPILE_OPTIONS "${flags_${key}}")
      list(APPEND kept ${units})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES SOURCES "${kept}")
endfunction()
