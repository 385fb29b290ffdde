# SPDX-License-Identifier: Apache-2.0
# CUDA's headers whose declarations stand in another of tessera/frontend/include: each includes that one.
set(TESSERA_FORWARDING_HEADERS ${CMAKE_CURRENT_BINARY_DIR}/cuda_headers)
function(tessera_forward_headers to)
  foreach(name ${ARGN})
    file(CONFIGURE OUTPUT ${TESSERA_FORWARDING_HEADERS}/${name}.h CONTENT "#pragma once\n#include \"${to}\"\n" @ONLY)
  endforeach()
endfunction()
tessera_forward_headers(GL/glut.h GL/freeglut GL/gl GL/glext GL/glx)
tessera_forward_headers(cuda_runtime.h device_atomic_functions sm_20_atomic_functions sm_20_intrinsics sm_30_intrinsics
  sm_60_atomic_functions)
tessera_forward_headers(cuda_runtime_api.h cuda cuda_device_runtime_api cuda_profiler_api)
tessera_forward_headers(driver_types.h builtin_types device_types)
tessera_forward_headers(texture_calls.h channel_descriptor)
tessera_forward_headers(thrust/device_vector.h thrust/adjacent_difference thrust/binary_search thrust/copy thrust/count
  thrust/device_free thrust/device_malloc thrust/device_ptr thrust/equal thrust/execution_policy thrust/extrema
  thrust/fill thrust/find thrust/for_each thrust/functional thrust/gather thrust/generate thrust/host_vector
  thrust/inner_product thrust/iterator/constant_iterator thrust/iterator/counting_iterator thrust/logical thrust/pair
  thrust/reduce thrust/remove thrust/replace thrust/reverse thrust/scan thrust/sequence thrust/sort
  thrust/system/cuda/execution_policy thrust/transform thrust/transform_reduce thrust/unique thrust/version)
tessera_forward_headers(vector_types.h device_launch_parameters)
