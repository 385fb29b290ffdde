// SPDX-License-Identifier: Apache-2.0
// The library's version (the build reads it here), and the symbol by which a separately compiled unit and the
// program that loads it agree on the same types.
#pragma once
#include <cstddef>

namespace tessera {

inline constexpr int version_major = 0, version_minor = 2, version_patch = 0;

// The version, and the sizes of shared types, as part of a symbol's name: a unit that needs `current` of one
// Interface finds no such symbol in a program built with another, and the loader refuses it before any of its
// code runs.
template <int major_version, int minor_version, int patch_version, std::size_t... sizes>
struct Interface {
  static const Interface current;
};

template <class... Shared>
using InterfaceOf = Interface<version_major, version_minor, version_patch, sizeof(Shared)...>;

}  // namespace tessera
