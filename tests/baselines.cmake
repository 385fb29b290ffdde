# SPDX-License-Identifier: Apache-2.0
# The plug-ins that could be built, loaded by the program.
if(TARGET gsl)
  tessera_script(baseline_gsl ${TESSERA_PYTHON} tests/baselines_test.py $<TARGET_FILE:tessera_program> $<TARGET_FILE:gsl> Gsl)
endif()
if(TARGET fast_math)
  tessera_script(baseline_fast_math ${TESSERA_PYTHON} tests/baselines_test.py $<TARGET_FILE:tessera_program> $<TARGET_FILE:fast_math> FastMath)
endif()
# Its times count, not its picture; where the library is not installed, the reason is told.
if(TARGET liblqr)
tessera_script(liblqr $<TARGET_FILE:tessera_program> --load $<TARGET_FILE:liblqr> bench seamcarve images=1 rows=61 columns=83 channels=3
               --width 80 --device cpu --variant liblqr,banded --reps 2 --no-verify)
set_tests_properties(liblqr PROPERTIES PASS_REGULAR_EXPRESSION "(faster than|as fast as) liblqr|liblqr was not found")
endif()
# What OpenCV computes, where its definition is the same, to the last bit.
if(TARGET opencv)
  foreach(case laplacian:u8:reflect_101:9 laplacian_ksize3:u16:reflect:9 laplacian8:f32:replicate:9 sharpen:u8:reflect:9 scharr_x:u16:replicate:9 gaussian:u8:reflect_101:1
          gaussian:u8:replicate:3 gaussian:u8:reflect_101:5 gaussian:u8:reflect:7 gaussian:u8:reflect_101:9 gaussian:u8:replicate:11)
    string(REPLACE ":" ";" words ${case})
    list(GET words 0 kernel)
    list(GET words 1 element)
    list(GET words 2 border)
    list(GET words 3 size)
    set(sized "")
    if(kernel STREQUAL "gaussian")
      set(sized --size ${size})
    endif()
    tessera_script(opencv_${kernel}_${size} $<TARGET_FILE:tessera_program> --load $<TARGET_FILE:opencv> bench filter images=1 height=61 width=83
                   channels=3 --kernel ${kernel} ${sized} --element ${element} --border ${border} --device cpu --variant opencv --reps 2)
    set_tests_properties(opencv_${kernel}_${size} PROPERTIES PASS_REGULAR_EXPRESSION "opencv [^\n]* ok\n")
  endforeach()
endif()
