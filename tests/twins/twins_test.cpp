// SPDX-License-Identifier: Apache-2.0
// A contributor copies a rung and changes it, names included or not: each file keeps its own kernel.
#include <gtest/gtest.h>
#include "tessera/core/operation/operation.hpp"

namespace tessera {
namespace {

TEST(Twins, KernelsOfOneNameInTwoFilesStayApart) {
  const Signature nothing;
  const Arguments arguments(nothing, Element::f32, {}, {});
  for (const Variant* variant : ladder_of("twins"))
    EXPECT_EQ(variant->choices[0].refuses(arguments, {}, Device{}), variant->name) << variant->file;
  EXPECT_EQ(ladder_of("twins").size(), 2u);
}

}  // namespace
}  // namespace tessera
