// SPDX-License-Identifier: Apache-2.0
// A plan counts the bytes of elements. In memory there are gaps between them, and kernels want workspaces:
// how much only who carries a plan out can say.
#pragma once
#include <functional>
#include <vector>
#include "tessera/dist/plan.hpp"

namespace tessera::dist {

using Planning = std::function<Plan(const std::vector<Device>&)>;
// The bytes that each device takes in truth.
using Trying = std::function<std::vector<std::int64_t>(const Plan&)>;

// Plans until what was tried fits all devices' memory; that plan was tried last. What lies beyond is kept for
// plans with that tile and panel alone: others have other gaps. Throws what the two throw, and Error where
// nothing fits.
void plan_to_fit(std::vector<Device> devices, const Planning& planning, const Trying& trying);

}  // namespace tessera::dist
