# SPDX-License-Identifier: Apache-2.0
# Several ranks on this host, as many as its processors or more, and ScaLAPACK beside them. What is missing is
# said, and the test then counts as skipped.
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI QUIET COMPONENTS CXX)
set(checker "")
find_library(TESSERA_SCALAPACK NAMES scalapack-openmpi scalapack)
if(TARGET tessera_mpi AND TESSERA_SCALAPACK)
  add_executable(scalapack_check mpi/scalapack_check.cpp)
  target_link_libraries(scalapack_check PRIVATE tessera_compile tessera::tessera MPI::MPI_CXX ${TESSERA_SCALAPACK})
  set_target_properties(scalapack_check PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  set(checker $<TARGET_FILE:scalapack_check>)
else()
  message(STATUS "tessera: no MPI or no ScaLAPACK: ranks are not held against pdgemm")
endif()
set(launcher "")
if(TARGET tessera_mpi AND MPIEXEC_EXECUTABLE)
  set(launcher ${MPIEXEC_EXECUTABLE})
endif()
tessera_script(launcher ${TESSERA_PYTHON} tests/launcher_test.py $<TARGET_FILE:tessera_program>)
tessera_script(ranks ${TESSERA_PYTHON} tests/mpi_test.py $<TARGET_FILE:tessera_program> "${launcher}" "${checker}")
# Twice as many processes as a host may have processors are no company for measurements.
set_tests_properties(ranks PROPERTIES SKIP_RETURN_CODE 77 PROCESSORS 2)
