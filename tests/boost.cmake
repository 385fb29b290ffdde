# SPDX-License-Identifier: Apache-2.0
# One integral beside Boost's own rule, where its headers are: times for whoever asks, right values for the test.
find_path(TESSERA_BOOST_QUADRATURE boost/math/quadrature/tanh_sinh.hpp)
if(TESSERA_BOOST_QUADRATURE)
  add_executable(beside_boost beside_boost.cpp)
  target_include_directories(beside_boost SYSTEM PRIVATE ${TESSERA_BOOST_QUADRATURE})
  target_link_libraries(beside_boost PRIVATE tessera_compile tessera::tessera nlohmann_json::nlohmann_json)
  if(TESSERA_HAS_MARCH_NATIVE)  # Boost's rule is compiled here, and the library chooses when it runs
    target_compile_options(beside_boost PRIVATE -march=native -ffp-contract=fast)
  endif()
  set_target_properties(beside_boost PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  tessera_script(boost_integral beside_boost --seconds 0.1)
endif()
