// SPDX-License-Identifier: Apache-2.0
// A part of a GPU: some of its multiprocessors, which are then a device of their own, as a slower GPU would
// be. Its memory and its link to the host are still the whole GPU's. Its name says which they are, so that
// nothing that was tuned or measured on the whole is taken for it.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include "tessera/core/device.hpp"

namespace tessera {

// Multiprocessors from `first` on, of so many.
struct Part {
  int first = 0, count = 0, all = 0;

  bool operator==(const Part&) const = default;
};

// What the device is a part of, as its name says; nothing: it is whole.
std::optional<Part> part_of(const Device& device);

// That part of a whole GPU, named for it. Throws Error where the GPU has no such multiprocessors.
Device as_part(Device gpu, int first, int count);

// Why a kind of device does not give a part of one of its devices; empty: it does.
using RefusesPart = std::function<std::string(const Device& part)>;

void register_parts(Where where, RefusesPart refuses);
// Throws Error where the device is a part that is not given.
void check_part(const Device& device);

}  // namespace tessera
