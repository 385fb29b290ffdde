// SPDX-License-Identifier: Apache-2.0
// Promises: options that only some variants keep. The others refuse every word but the default, so that no
// variant breaks a promise because its author does not know the option.
#pragma once
#include <string>
#include <string_view>
#include "tessera/core/operation/arguments.hpp"
#include "tessera/core/text/source_location.hpp"

namespace tessera {

// Declares the choice `option` of an operation as a promise.
void register_promise(std::string operation, std::string option);
// Says that the rung of the caller's file keeps a promise.
void keep_promise(std::string option, SourceLocation location = SourceLocation::current());

// Returns the first promise that the arguments ask for; empty: there is none. The bits must then not depend
// on what is chosen by sizes: the device, the rung, and parts for several devices.
std::string requested_promise(std::string_view operation, const Arguments& arguments);
// Returns the first promise that the arguments ask for and the rung of this file (Variant::file) does not
// keep; empty: there is none.
std::string broken_promise(std::string_view operation, std::string_view file, const Arguments& arguments);
// True for a promise that the arguments do not ask for. Findings of `tune` do not name it.
bool is_idle_promise(std::string_view operation, const Parameter& parameter, const Arguments& arguments);
// Returns the arguments that ask for no promise: those of a baseline, with which variants that keep one are
// compared.
Arguments without_promises(std::string_view operation, const Arguments& arguments);

}  // namespace tessera
