// SPDX-License-Identifier: Apache-2.0
// Included by programs that look up operations by name: arrays, files, the registry, and running a problem
// with a verified result. The typed calls of an operation are in tessera/ops/NAME.hpp.
#pragma once
#include "tessera/core/array.hpp"
#include "tessera/core/load.hpp"
#include "tessera/core/operation.hpp"
#include "tessera/core/shared_array.hpp"
#include "tessera/io/npy.hpp"
#include "tessera/run/call.hpp"
#include "tessera/run/enqueue.hpp"
#include "tessera/run/run.hpp"
#include "tessera/run/multi_device/multi_device.hpp"
