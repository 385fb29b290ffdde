// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "driver_types.h"
