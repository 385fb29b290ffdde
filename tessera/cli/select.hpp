// SPDX-License-Identifier: Apache-2.0
// What a user names, looked up: operations, devices, variants, elements. Every name that does not
// exist is an Error with the nearest that does.
#pragma once
#include <optional>
#include <string>
#include <vector>
#include "tessera/core/operation.hpp"

namespace tessera::cli {

const Operation& operation_named(const std::string& word);
Element element_named(const Operation& operation, const std::string& word);  // "": the default

// "cpu", "simt:threads=1", "cuda:0-3", a list of these, or "all" that are usable. "auto" or "": a GPU
// if one is usable, else the processors. Throws Error of kind no_device when one named is not usable.
std::vector<Device> devices_named(const std::string& words);

bool names_several(const std::string& words);  // whether they may mean several devices
// The devices of a list, or "all": GPUs and the processors, without the executor, which is for looking at
// kernels.
std::vector<Device> computing_devices(const std::string& words);

// Why nothing runs there: this build lacks it, or the machine does. Nothing: it is usable.
Reason unusable(Where where);

// The variants, wherever they run, that "NAME" or "LADDER/NAME" may mean. Throws Error when none
// is called so, and of kind no_device when this build has left it out.
std::vector<const Variant*> variants_named(const Operation& operation, const std::string& word);
// Of these, the one that runs on `where`; null: none. Throws Error when two ladders have one.
const Variant* variant_on(const std::vector<const Variant*>& candidates, Where where);

std::string full_name(const Variant& variant);  // "gpu/shared_tiles"

}  // namespace tessera::cli
