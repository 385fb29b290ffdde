// SPDX-License-Identifier: Apache-2.0
// How much of a result a device computes at least: a block of a kernel takes its time whether all of it is
// wanted or not.
#pragma once
#include <cstdint>
#include <optional>
#include "tessera/dist/tiles.hpp"
#include "tessera/run/choose.hpp"

namespace tessera {

// As many blocks as a device computes at a time, laid out over the result. 1 × 1 where blocks are no matter:
// for processors' variants, for GPUs, which do many blocks at a time, and where the variant does not say who
// writes what.
dist::Unit paid_unit(const Plan& plan, const Arguments& arguments, const Division& division);

// Into how many launches the whole can be cut so that each keeps all of the device's multiprocessors at work:
// smaller ones take as long. Nothing: the variant does not tell its launch.
std::optional<std::int64_t> full_launches(const Plan& plan, const Arguments& arguments);

}  // namespace tessera
