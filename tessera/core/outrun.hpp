// SPDX-License-Identifier: Apache-2.0
// A variant that can compute some arguments, but takes longer for them than one below it: nobody who does not
// name it is given it there.
#pragma once
#include <functional>
#include <string>
#include "tessera/core/variant.hpp"

namespace tessera {

// Why one below is faster; nothing: none is.
using Outrun = std::function<Reason(const Arguments&, const Device&)>;

// The names are of a variant for GPUs.
void register_outrun(const std::string& operation, const std::string& variant, Outrun outrun);
Reason is_outrun(const Variant& variant, const Arguments& arguments, const Device& device);

}  // namespace tessera
