// SPDX-License-Identifier: Apache-2.0
// Looks up names given by the user: operations, devices, variants, elements. Every unknown name is an Error
// with the nearest known one.
#pragma once
#include <optional>
#include <string>
#include <vector>
#include "tessera/core/operation/operation.hpp"

namespace tessera::cli {

const Operation& operation_named(const std::string& word);
Element element_named(const Operation& operation, const std::string& word);  // "": the default

// Parses "cpu", "simt:threads=1", "cuda:0-3", a list of these, or "all" usable ones. "auto" or "": a GPU if
// one is usable, otherwise the CPU. Throws Error of kind no_device if a named one is not usable.
std::vector<Device> devices_named(const std::string& words);

bool names_several(const std::string& words);  // true: they may mean several devices
// Returns the devices of a list, or "all": GPUs and the CPU, without the executor, which is for inspecting
// kernels.
std::vector<Device> computing_devices(const std::string& words);

// Returns the reason why nothing runs there: this build lacks it, or the machine does. Nullopt: it is usable.
Reason unusable(Where where);

// Returns the variants, wherever they run, that "NAME" or "LADDER/NAME" may mean. Throws Error if there are
// none, of kind no_device if this build omits them.
std::vector<const Variant*> variants_named(const Operation& operation, const std::string& word);
// Returns the one of these that runs on `where`; null: none. Throws Error if two ladders have one.
const Variant* variant_on(const std::vector<const Variant*>& candidates, Where where);

std::string full_name(const Variant& variant);  // "gpu/shared_tiles"

}  // namespace tessera::cli
