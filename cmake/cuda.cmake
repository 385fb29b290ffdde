# SPDX-License-Identifier: Apache-2.0
# Finds CUDA by itself, also where nvcc is not on the PATH, and leaves it out by itself.
set(TESSERA_HAS_CUDA FALSE)
if(TESSERA_CUDA)
  find_program(TESSERA_NVCC nvcc HINTS ENV CUDACXX ENV CUDA_PATH ENV CUDA_HOME
               PATHS /usr/local/cuda /opt/cuda PATH_SUFFIXES bin)
  if(TESSERA_NVCC)
    set(TESSERA_HAS_CUDA TRUE)
  elseif(NOT TESSERA_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "TESSERA_CUDA is ON, but there is no nvcc on the PATH or in /usr/local/cuda")
  endif()
endif()

if(TESSERA_HAS_CUDA)
  set(CMAKE_CUDA_COMPILER ${TESSERA_NVCC})
  # A machine's own GPU if it has one; else PTX for every GPU since Turing, and Hopper's code.
  if(TESSERA_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES ${TESSERA_CUDA_ARCHITECTURES})
  else()
    execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                    OUTPUT_VARIABLE capabilities ERROR_QUIET RESULT_VARIABLE failed)
    if(failed EQUAL 0 AND capabilities MATCHES "([0-9]+)\\.([0-9])")
      set(CMAKE_CUDA_ARCHITECTURES "${CMAKE_MATCH_1}${CMAKE_MATCH_2}-real")
      string(REPLACE "90-real" "90a-real" CMAKE_CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}")
    else()
      set(CMAKE_CUDA_ARCHITECTURES "75-virtual;90a-real")
    endif()
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  message(STATUS "tessera: CUDA ${CMAKE_CUDA_COMPILER_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}")
else()
  message(STATUS "tessera: without CUDA")
endif()
