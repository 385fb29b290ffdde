// SPDX-License-Identifier: Apache-2.0
// The processors' summit, for the rungs of both operations and for the check of large results.
#pragma once
#include "gather.hpp"

namespace tessera::lightfield {

// Views of any strides; a result whose pixels lie side by side.
void sum_views(const Gather<std::uint8_t>& p, int threads);
void sum_views(const Gather<std::uint16_t>& p, int threads);
void sum_views(const Gather<float>& p, int threads);

template <template <class> class Problem>
void sum_of(const Arguments& arguments, int threads) {
  switch (arguments.element()) {
    case Element::u8:
      return sum_views(Problem<std::uint8_t>::of(arguments), threads);
    case Element::u16:
      return sum_views(Problem<std::uint16_t>::of(arguments), threads);
    default:
      return sum_views(Problem<float>::of(arguments), threads);
  }
}

}  // namespace tessera::lightfield
