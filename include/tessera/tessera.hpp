// SPDX-License-Identifier: Apache-2.0
// Included by programs that look up operations by name: arrays, files, the registry, and running a problem
// with a verified result. Typed calls: matmul.hpp, filter.hpp …
#pragma once
#include "tessera/core/array/array.hpp"
#include "tessera/load.hpp"
#include "tessera/core/operation/operation.hpp"
#include "tessera/core/array/shared_array.hpp"
#include "tessera/io/npy.hpp"
#include "tessera/call.hpp"
#include "tessera/run/enqueue.hpp"
#include "tessera/run/run.hpp"
#include "tessera/run/multi_device/multi_device.hpp"
