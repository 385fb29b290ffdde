// SPDX-License-Identifier: Apache-2.0
// The tables of weights on a device: copied when they are first needed there, and kept.
#pragma once
#include <cstdint>
#include "tessera/core/device.hpp"

namespace tessera::resize {

// The same entries, known by `id`, where the run can read them; on a device with memory of its own, until
// many other tables were asked for.
const std::int32_t* table_there(const Run& run, std::uint64_t id, const std::int32_t* table,
                                std::int64_t entries);

}  // namespace tessera::resize
