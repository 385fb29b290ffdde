// SPDX-License-Identifier: Apache-2.0
// What a protected call finds wrong in parts, where, and what it does about it: the result has the bits that
// it would have had.
#include "tessera/run/watch.hpp"
#include <gtest/gtest.h>
#include <cstring>
#include <limits>
#include "tessera/run/inputs.hpp"
#include "tessera/run/spread.hpp"

namespace tessera {
namespace {

const Operation& product() { return *find_operation("matmul"); }

Case sized(std::int64_t m, std::int64_t n, std::int64_t k, Arguments::Words words = {}) {
  return {.dims = {{"m", m}, {"n", n}, {"k", k}}, .words = std::move(words)};
}

std::vector<char> bytes_of_result(const Arguments& arguments) {
  const Array packed = packed_copy(arguments.array("C"));
  return {packed.as<char>(), packed.as<char>() + packed.view().bytes()};
}

class Protected {
 public:
  Protected(Element element, const Case& chosen, const char* device = "cpu:threads=1")
      : device_(device), inputs_(product(), element, chosen, 3) {}

  Arguments& arguments() { return inputs_.arguments(); }

  // On two such devices, each with its half. The result has the bits of the call alone.
  Together run(const std::string& faults) {
    inputs_.poison();
    (void)tessera::run(product(), inputs_.arguments(), {.device = device_, .cached = false});
    const auto wanted = bytes_of_result(inputs_.arguments());
    inputs_.poison();
    const Spread spread{.devices = {find_device(device_), find_device(device_)},
                        .request = {.cached = false},
                        .split = parse_split("1:1"),
                        .protect = true,
                        .faults = parse_faults(faults)};
    Together out = run_together(product(), inputs_.arguments(), spread);
    EXPECT_TRUE(bytes_of_result(inputs_.arguments()) == wanted) << faults;
    return out;
  }

 private:
  std::string device_;
  Inputs inputs_;
};

// The one that there is.
const Finding& found_by(const Together& together, std::size_t device) {
  EXPECT_EQ(together.shares[1 - device].findings.size(), 0u);
  EXPECT_EQ(together.shares[device].findings.size(), 1u);
  static const Finding none;
  return together.shares[device].findings.empty() ? none : together.shares[device].findings[0].finding;
}

TEST(Watch, AWrongBitIsLocatedAndItsElementCorrected) {
  for (const char* device : {"cpu:threads=1", "simt:threads=1"})
    for (const char* fault : {"flip:1@1", "flip:1@1:22", "flip:1@1:31"}) {
      Protected call(Element::f32, sized(64, 48, 40), device);
      const Finding& found = found_by(call.run(fault), 1);
      EXPECT_TRUE(found.settled && found.right) << fault;
      EXPECT_EQ(found.rows, 1) << fault;
      EXPECT_EQ(found.cols, 1) << fault;
      ASSERT_EQ(found.element.size(), 2u);
      EXPECT_GE(found.element[0], 32);  // its half
      EXPECT_EQ(found.mended, Finding::Mended::element);
    }
}

TEST(Watch, SeveralWrongElementsMeanThatThePartIsComputedAgain) {
  for (const Element element : {Element::f32, Element::f64, Element::bf16}) {
    Protected call(element, sized(128, 96, 64));
    const Together together = call.run("strew:0@1:3");
    const Finding& found = found_by(together, 0);
    EXPECT_TRUE(found.settled && found.right);
    EXPECT_GT(found.rows + found.cols, 2);
    EXPECT_TRUE(found.element.empty());
    EXPECT_EQ(found.mended, Finding::Mended::part);
    EXPECT_EQ(together.shares[0].wrong, 0u);
  }
}

TEST(Watch, ColumnsThatChangedPlacesAreFound) {
  Protected call(Element::f32, sized(128, 96, 64));
  const Together together = call.run("swap:1@1");
  const Finding& found = found_by(together, 1);
  EXPECT_EQ(found.cols, 2);
  EXPECT_EQ(found.mended, Finding::Mended::part);
  EXPECT_TRUE(found.right);
}

TEST(Watch, SecondsAreToldAndEveryPartIsChecked) {
  Protected call(Element::f64, sized(128, 96, 64));
  const Together together = call.run("");
  for (const Share& share : together.shares) {
    EXPECT_EQ(share.settled, share.tiles);
    EXPECT_EQ(share.host_checks, 0u);
    EXPECT_GT(share.check_seconds, 0);
    EXPECT_GT(share.product_seconds, 0);
    EXPECT_TRUE(share.findings.empty());
  }
}

TEST(Watch, WhatHasNoChecksumsTheHostChecks) {
  Protected call(Element::i32, sized(64, 48, 40));
  const Together together = call.run("flip:0@1");
  EXPECT_EQ(together.shares[0].settled, 0u);
  EXPECT_EQ(together.shares[0].wrong, 1u);
  EXPECT_EQ(together.shares[1].host_checks, together.shares[1].tiles);
}

TEST(Watch, InputsThatAreNoNumbersLoseNoDevice) {
  Protected call(Element::f32, sized(64, 48, 40));
  call.arguments().view<float, 2>("A")(3, 4) = std::numeric_limits<float>::quiet_NaN();
  call.arguments().view<float, 2>("B")(9, 30) = std::numeric_limits<float>::infinity();
  const Together together = call.run("");
  for (const Share& share : together.shares) {
    EXPECT_TRUE(share.lost.empty());
    EXPECT_EQ(share.wrong, 0u);
    EXPECT_GT(share.host_checks, 0u);
  }
}

// Every partial sum is rounded the same way: more than chance would have it, and right all the same.
TEST(Watch, DataWhoseRoundingsAreAllAlikeLosesNoDevice) {
  Protected call(Element::f32, sized(64, 48, 20000));
  for (const char* name : {"A", "B"}) {
    const auto matrix = call.arguments().view<float, 2>(name);
    for (std::int64_t i = 0; i < matrix.rows(); ++i)
      for (std::int64_t j = 0; j < matrix.cols(); ++j) matrix(i, j) = 0.1F;
  }
  for (const Share& share : call.run("").shares) {
    EXPECT_TRUE(share.lost.empty());
    EXPECT_EQ(share.wrong, 0u);
  }
}

// A device that errs in the same way again and again.
class Erring final : public Checksums {
 public:
  explicit Erring(std::uint64_t step) : step_(step) {}
  ChecksumVerdict look(const Tile&, const Arguments&, const Run&) override {
    ChecksumVerdict out;
    out.rows = {1};
    out.cols = {2, 3};
    out.mark = mark_ += step_;
    return out;
  }
  void forget() override {}

 private:
  std::uint64_t step_, mark_ = 0;
};

TEST(Watch, WhatStaysWrongIsHandedBackAndWhatRepeatsIsLookedAtByOthers) {
  const MakeChecksums usual = *find_checksums("matmul", Where::cpu);
  Inputs inputs(product(), Element::f32, sized(16, 16, 16), 3);
  const Division division = (*find_division("matmul"))(inputs.arguments());
  const Device device = find_device("cpu:threads=1");
  for (const std::uint64_t step : {0, 1}) {
    register_checksums("matmul", Where::cpu,
                       [step](const Arguments&, const Device&) { return std::make_unique<Erring>(step); });
    Watch watch(product(), inputs.arguments(), division, device);
    Placed placed(choose_on(device, product(), inputs.arguments(), {.cached = false}), inputs.arguments());
    const Finding found = watch.look(division.whole(), placed);
    EXPECT_EQ(found.settled, step == 1);
    EXPECT_FALSE(found.right);
    EXPECT_EQ(found.rows, 1);
    EXPECT_EQ(found.cols, 2);
    EXPECT_EQ(found.mended, Finding::Mended::part);
  }
  register_checksums("matmul", Where::cpu, usual);
}

}  // namespace
}  // namespace tessera
