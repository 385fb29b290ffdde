// SPDX-License-Identifier: Apache-2.0
// What a program includes that finds operations by their names: arrays, files, the registry, and from
// a problem to a checked answer. The typed calls of an operation are in tessera/ops/NAME.hpp.
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
