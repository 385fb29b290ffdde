// SPDX-License-Identifier: Apache-2.0
// The library's version (the build reads it here), and the name by which a unit that was compiled
// elsewhere and the program that loads it know that they mean the same types.
#pragma once
#include <cstddef>

namespace tessera {

inline constexpr int version_major = 0, version_minor = 2, version_patch = 0;

// A version, and the sizes of what units hand to each other, as part of a symbol's name: whoever needs
// `here` of one Interface finds nothing in a program that was built with another, and the loader
// refuses it before any of its code runs.
template <int major_version, int minor_version, int patch_version, std::size_t... sizes>
struct Interface {
  static const Interface current;
};

template <class... Shared>
using InterfaceOf = Interface<version_major, version_minor, version_patch, sizeof(Shared)...>;

}  // namespace tessera
