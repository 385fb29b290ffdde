// SPDX-License-Identifier: Apache-2.0
// Why a variant has no choice with a tuning that was asked for, and what it has instead.
#pragma once
#include <optional>
#include "tessera/core/variant.hpp"

namespace tessera {

// "has no choice with tile=7; it has tile=4, 8, 16, 32". With an element, of the choices that compute it:
// "has no choice with tile=5 for bf16; it has tile=1, 2". A name that none has is told with the nearest.
std::string no_choice_with(const Variant& variant, const Tuning& wanted, std::optional<Element> element = {});

}  // namespace tessera
