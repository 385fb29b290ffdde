# SPDX-License-Identifier: Apache-2.0
# The plug-ins that could be built, loaded by the program.
if(TARGET gsl)
  tessera_script(plugin_gsl ${TESSERA_PYTHON} tests/plugins_test.py $<TARGET_FILE:tessera_program> $<TARGET_FILE:gsl> Gsl)
endif()
if(TARGET fast_math)
  tessera_script(plugin_fast_math ${TESSERA_PYTHON} tests/plugins_test.py $<TARGET_FILE:tessera_program> $<TARGET_FILE:fast_math> FastMath)
endif()
