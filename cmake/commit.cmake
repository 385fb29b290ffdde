# SPDX-License-Identifier: Apache-2.0
# Run at every build: writes the commit into ${OUT}, which changes only when the commit does.
execute_process(COMMAND git describe --always --dirty WORKING_DIRECTORY ${SOURCE}
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define TESSERA_GIT \"${commit}\"\n")
