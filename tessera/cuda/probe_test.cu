// SPDX-License-Identifier: Apache-2.0
// Times, clock and power on a real device; skipped, with the backend's own reason, where there is none.
#include <gtest/gtest.h>
#include <algorithm>
#include <string>
#include "tessera/core/device/device.hpp"
#include "tessera/cuda/resources.hpp"

namespace tessera {
namespace {

constexpr long long some_cycles = 400'000;

__global__ void spin(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) continue;
}

class Probing : public testing::Test {
 protected:
  void SetUp() override {
    backend_ = find_backend(Where::cuda);
    ASSERT_NE(backend_, nullptr);
    if (backend_->devices().empty()) GTEST_SKIP() << backend_->unusable();
    device_ = &backend_->devices().front();
    run_.device = device_;
    run_.stream = backend_->make_stream(*device_);
    launch(1);
    backend_->synchronize(run_);
  }
  void TearDown() override {
    if (device_ != nullptr) backend_->release_stream(*device_, run_.stream);
  }
  void launch(long long cycles) { spin<<<1, 1, 0, static_cast<cudaStream_t>(run_.stream)>>>(cycles); }

  Backend* backend_ = nullptr;
  const Device* device_ = nullptr;
  tessera::Run run_;
};

// A kernel of so many cycles takes them at the clock that was read.
TEST_F(Probing, MeasuresTheClockDuringTheWork) {
  for (const bool hide : {false, true}) {
    (void)backend_->read(
        run_, [&] { launch(100 * some_cycles); }, hide);
    const Reading reading = backend_->read(
        run_, [&] { launch(100 * some_cycles); }, hide);
    EXPECT_FALSE(reading.gave_up);
    ASSERT_TRUE(reading.clock_mhz);
    EXPECT_NEAR(reading.seconds * *reading.clock_mhz * 1e6, 100.0 * some_cycles, 0.03 * 100 * some_cycles);
  }
}

TEST_F(Probing, MeasuresTheClockOfAShortRun) {
  const Reading reading = backend_->read(
      run_, [&] { launch(1); }, true);
  EXPECT_LT(reading.seconds, 1e-4);
  ASSERT_TRUE(reading.clock_mhz);
  EXPECT_GT(*reading.clock_mhz, 100);
  EXPECT_LT(*reading.clock_mhz, 5000);
}

TEST_F(Probing, HiddenLaunchesTakeNoTime) {
  const auto many = [&] {
    for (int i = 0; i < 50; ++i) launch(1);
  };
  double hidden = 1, plain = 1;
  for (int i = 0; i < 5; ++i) {
    hidden = std::min(hidden, backend_->read(run_, many, true).seconds);
    plain = std::min(plain, backend_->seconds(run_, many));
  }
  EXPECT_LE(hidden, plain * 1.05);
}

TEST_F(Probing, AbandonsWorkThatSynchronizes) {
  const auto waits = [&] {
    launch(some_cycles);
    cuda::check(cudaStreamSynchronize(static_cast<cudaStream_t>(run_.stream)));
  };
  EXPECT_TRUE(backend_->read(run_, waits, true).gave_up);
  EXPECT_FALSE(backend_->read(run_, waits, false).gave_up);
}

TEST_F(Probing, WorkThatThrowsLeavesNothingWaiting) {
  EXPECT_THROW((void)backend_->read(
                   run_, [] { throw Error("on purpose"); }, true),
               Error);
  backend_->synchronize(run_);
}

TEST_F(Probing, PowerAndEnergyAreReportedOrTheReasonIs) {
  const Reading reading = backend_->read(
      run_, [&] { launch(some_cycles); }, true);
  const std::string unavailable_reason = backend_->unavailable_reason(*device_);
  EXPECT_EQ(reading.power_w.has_value(), unavailable_reason.empty()) << unavailable_reason;
  if (reading.power_w) EXPECT_GT(*reading.power_w, 1);
  if (const auto joules = backend_->joules(*device_)) EXPECT_GT(*joules, 0);
}

TEST_F(Probing, CeilingsAreOfTheOrderOfAGpu) {
  const Ceilings found = backend_->measure_ceilings(*device_);
  ASSERT_TRUE(found.bytes_per_second);
  EXPECT_GT(*found.bytes_per_second, 5e10);
  for (const Element element : {Element::f32, Element::f64, Element::i32})
    EXPECT_GT(found.flops_per_second.at(element), 5e10) << name_of(element);
  EXPECT_GE(found.flops_per_second.at(Element::f32), 0.9 * found.flops_per_second.at(Element::i32));
}

}  // namespace
}  // namespace tessera
