# SPDX-License-Identifier: Apache-2.0
# Several ranks; and MPI, where it is found, in a library that the program loads when a launcher has started several of it.
target_sources(tessera_objects PRIVATE
  core/contraction.cpp
  dist/communicator.cpp dist/communicator_devices.cpp dist/distributed.cpp dist/distributed_file.cpp dist/distributed_operand.cpp dist/grid.cpp dist/mpi_launcher.cpp
  dist/mpi_library.cpp
  run/distributed.cpp run/distributed_report.cpp run/distributed_spread.cpp run/distributed_sum.cpp)
if(TESSERA_HAS_CUDA)
  target_sources(tessera_objects PRIVATE dist/nccl_communicator.cpp)
endif()
include(GNUInstallDirs)
set_source_files_properties(dist/mpi_library.cpp PROPERTIES
  COMPILE_DEFINITIONS "TESSERA_LIBRARY_FOLDER=\"../${CMAKE_INSTALL_LIBDIR}\"")
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI QUIET COMPONENTS CXX)
if(MPI_CXX_FOUND)
  add_library(tessera_mpi SHARED dist/mpi_communicator.cpp)
  target_link_libraries(tessera_mpi PRIVATE tessera_compile MPI::MPI_CXX)
  set_target_properties(tessera_mpi PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
else()
  message(STATUS "tessera: no MPI: a product is not shared among hosts")
endif()
