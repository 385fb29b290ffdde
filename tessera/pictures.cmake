# SPDX-License-Identifier: Apache-2.0
# The libraries of picture formats. Without one, its format's files are refused with the reason.
function(tessera_picture_format name header library function)
  find_path(TESSERA_${name}_INCLUDE ${header})
  find_library(TESSERA_${name} ${library})
  set(found "")
  if(TESSERA_${name}_INCLUDE AND TESSERA_${name})
    # Older ones lack what is called here.
    file(STRINGS ${TESSERA_${name}_INCLUDE}/${header} found REGEX ${function} LIMIT_COUNT 1)
  endif()
  if(found)
    string(TOLOWER ${name} small)
    set_source_files_properties(io/picture_${small}.cpp PROPERTIES COMPILE_DEFINITIONS TESSERA_HAS_${name}
                                COMPILE_OPTIONS -idirafter${TESSERA_${name}_INCLUDE})
    target_link_libraries(tessera_objects PRIVATE ${TESSERA_${name}})
  else()
    message(STATUS "tessera: no lib${library}, or one without ${function}: ${name} files cannot be read or written")
  endif()
  set(TESSERA_PICTURE_${name} "${found}" PARENT_SCOPE)
endfunction()
tessera_picture_format(PNG png.h png png_get_eXIf_1)
tessera_picture_format(JPEG jpeglib.h jpeg jpeg_read_icc_profile)
tessera_picture_format(TIFF tiffio.h tiff TIFFOpenOptionsAlloc)
