// SPDX-License-Identifier: Apache-2.0
// The name of this header before include/tessera held it; kept for programs written then.
#pragma once
#include "tessera/integrate.hpp"
#include "tessera/integrate_device.hpp"
#include "tessera/integrate_variants.hpp"
