// SPDX-License-Identifier: Apache-2.0
// An operation's processor rung `simd`, by each instruction set that this machine has, against the rung
// `naive`.
#pragma once
#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <cstring>
#include <string>
#include <vector>
#include "tessera/run/conformance.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/run.hpp"

namespace tessera {

class EveryTarget : public testing::Test {
 protected:
  explicit EveryTarget(const std::string& operation) : operation_(find_operation(operation)) {}
  void TearDown() override { only(0); }

  // The bits must agree.
  void check(const Case& chosen, Element element = Element::u8) const {
    const std::vector<char> wanted = computed("naive", chosen, element);
    only(0);
    for (std::int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
      only(left & -left);
      const std::vector<char> got = computed("simd", chosen, element);
      ASSERT_EQ(got.size(), wanted.size());
      ASSERT_EQ(std::memcmp(got.data(), wanted.data(), got.size()), 0)
          << hwy::TargetName(left & -left) << " " << to_string(chosen);
      only(0);
    }
  }

 private:
  // The instruction set that counts from now on; 0: the best that there is.
  static void only(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }

  std::vector<char> computed(const std::string& variant, const Case& chosen, Element element) const {
    Inputs inputs(*operation_, element, chosen, 1);
    inputs.poison();
    (void)run(*operation_, inputs.arguments(), {.device = "cpu", .variant = variant, .cached = false});
    EXPECT_TRUE(inputs.padding_intact());
    const ArrayView& out = inputs.arguments().array(operation_->output);
    const auto* from = static_cast<const char*>(out.data);
    return {from, from + out.bytes()};
  }

  const Operation* operation_;
};

}  // namespace tessera
