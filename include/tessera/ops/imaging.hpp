// SPDX-License-Identifier: Apache-2.0
// The name of this header before include/tessera held it; kept for programs written then.
#pragma once
#include "tessera/image_view.hpp"
