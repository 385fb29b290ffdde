// SPDX-License-Identifier: Apache-2.0
// An older path, for programs that use it.
#pragma once
#include "tessera/integrate.hpp"
#include "tessera/integrate_device.hpp"
#include "tessera/integrate_variants.hpp"
