// SPDX-License-Identifier: Apache-2.0
// An older path, for programs that use it.
#pragma once
#include "tessera/image_view.hpp"
