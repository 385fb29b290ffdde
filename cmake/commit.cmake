# SPDX-License-Identifier: Apache-2.0
# Run at every build: writes the commit into ${OUT}, which changes only when the commit does.
execute_process(COMMAND git describe --always WORKING_DIRECTORY ${SOURCE}
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
# Unlike `describe --dirty` this also sees files that git does not know: they are compiled too.
execute_process(COMMAND git status --porcelain WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE changes ERROR_QUIET)
if(changes)
  string(APPEND commit "-dirty")
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define TESSERA_GIT \"${commit}\"\n")
