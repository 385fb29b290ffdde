// SPDX-License-Identifier: Apache-2.0
// How much of a variant's workspace, from its beginning, must be zeros before a run. All of it, where nobody
// says so; but what is large is mostly written before it is read, and clearing it would take longer than a
// short run.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include "tessera/core/variant.hpp"

namespace tessera {

// The names are of a variant for GPUs: its executor's twin is handed zeros throughout.
void register_zeroed_front(const std::string& operation, const std::string& variant, std::size_t bytes);
std::optional<std::size_t> zeroed_front_of(const Variant& variant);

}  // namespace tessera
