// SPDX-License-Identifier: Apache-2.0
// A GPU that fails amid a plan, on real GPUs: one that reports an error, and one that a kernel's trap has
// left unusable. Skipped, with the backend's own reason, where there are too few.
#include "tessera/core/lanes.hpp"
#include <gtest/gtest.h>
#include "tessera/core/part.hpp"
#include "tessera/core/poison.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/overlapped.hpp"

namespace tessera {
namespace {

// A GPU's lanes that fail when they are given their step of that number.
class FailingLanes final : public Lanes {
 public:
  FailingLanes(std::unique_ptr<Lanes> lanes, std::size_t step, bool poisoned)
      : lanes_(std::move(lanes)), step_(step), poisoned_(poisoned) {}

  const Device& device() const override { return lanes_->device(); }
  void* allocate(std::size_t bytes) override { return lanes_->allocate(bytes); }
  void free(void* address) noexcept override { lanes_->free(address); }
  std::shared_ptr<void> staging(std::size_t bytes) override { return lanes_->staging(bytes); }
  bool reaches(const void* data, std::size_t bytes) override { return lanes_->reaches(data, bytes); }
  bool sees(const Lanes& other) override {
    return lanes_->sees(static_cast<const FailingLanes&>(other).of());
  }
  MarkPtr mark(Lane lane) override { return lanes_->mark(lane); }
  void after(Lane lane, const Mark& mark) override { lanes_->after(lane, mark); }
  void copy(Lane lane, const Rows& to, const Rows& from, const RowShape& shape) override {
    lanes_->copy(lane, to, from, shape);
  }
  void copy_peer(const Rows& to, const Lanes& other, const Rows& from, const RowShape& shape) override {
    lanes_->copy_peer(to, static_cast<const FailingLanes&>(other).of(), from, shape);
  }
  void compute(std::function<void(void*)> enqueue) override {
    if (++given_ == step_ && poisoned_) (*find_poison(Where::cuda))(device());
    if (given_ == step_) throw Error(Error::Kind::no_device, "it fell off the bus");
    lanes_->compute(std::move(enqueue));
  }
  void synchronize() override { lanes_->synchronize(); }
  void start_clock() override { lanes_->start_clock(); }
  double seconds(const Mark& mark) override { return lanes_->seconds(mark); }

  const Lanes& of() const { return *lanes_; }
  std::size_t given() const { return given_; }

 private:
  std::unique_ptr<Lanes> lanes_;
  std::size_t step_, given_ = 0;
  bool poisoned_;
};

const Operation& product() { return *find_operation("matmul"); }

// A plan on these devices, the second of which fails at that step; 0: none does. Returns how many steps it
// took.
std::size_t plan_with(Inputs& inputs, const std::vector<Device>& devices, std::size_t step, bool poisoned) {
  const Division division = (*find_division("matmul"))(inputs.arguments());
  const Spread spread{.devices = devices, .request = {.cached = false}};
  std::vector<FailingLanes*> lanes;
  Overlapped call(product(), inputs.arguments(), division, spread, [&](const Device& device) {
    const bool fails = lanes.size() == 1;
    auto out =
        std::make_unique<FailingLanes>(find_lanes(Where::cuda)->open(device), fails ? step : 0, poisoned);
    lanes.push_back(out.get());
    return out;
  });
  (void)call.run();
  return lanes[1]->given();
}

void expect_the_second_lost_and_the_first_usable(Inputs& inputs, const std::vector<Device>& devices) {
  inputs.poison();
  const std::size_t steps = plan_with(inputs, devices, 0, false);
  EXPECT_TRUE(verify(product(), inputs.arguments()).passed);
  try {
    (void)plan_with(inputs, devices, steps - 1, false);
    FAIL() << "nothing failed";
  } catch (const LostDevice& lost) {
    EXPECT_EQ(lost.device, 1u);
  }
  inputs.poison();
  (void)run_together(product(), inputs.arguments(), {.devices = {devices[0]}, .request = {.cached = false}});
  EXPECT_TRUE(verify(product(), inputs.arguments()).passed) << "of the device that is left";
}

TEST(LanesOnGpu, AGpuThatReportsAnErrorAmidAPlanIsNamed) {
  Backend* const backend = find_backend(Where::cuda);
  if (backend->devices().empty()) GTEST_SKIP() << backend->unusable();
  Inputs inputs(product(), Element::f32, {{{"m", 1500}, {"n", 1400}, {"k", 5000}}}, 3);
  const Device& gpu = backend->devices().front();
  const int half = gpu.processors / 4 * 2;
  for (const auto& devices :
       {std::vector<Device>{gpu, gpu}, {as_part(gpu, 0, half), as_part(gpu, half, half)}})
    expect_the_second_lost_and_the_first_usable(inputs, devices);
}

// GPUs the second of which is poisoned by its step of that number.
class FailingMaker final : public LaneMaker {
 public:
  FailingMaker(std::unique_ptr<LaneMaker> maker, std::size_t step) : maker_(std::move(maker)), step_(step) {}
  std::unique_ptr<Lanes> open(const Device& device) override {
    return std::make_unique<FailingLanes>(maker_->open(device), device.index == 1 ? step_ : 0, true);
  }
  std::shared_ptr<void> pin(void* data, std::size_t bytes) override { return maker_->pin(data, bytes); }

 private:
  std::unique_ptr<LaneMaker> maker_;
  std::size_t step_;
};

// No GPU may be of use in this process from then on: one that sees another's memory may go with it. What is
// left then goes on in a process of its own. (The last of these tests: there is no way back.)
TEST(LanesOnGpu, AGpuThatATrapHasPoisonedIsNamedAndTheOtherGoesOn) {
  Backend* const backend = find_backend(Where::cuda);
  if (backend->devices().size() < 2) GTEST_SKIP() << "there are not two GPUs; " << backend->unusable();
  const std::vector<Device> devices{backend->devices()[0], backend->devices()[1]};
  Inputs inputs(product(), Element::f32, {{{"m", 1500}, {"n", 1400}, {"k", 5000}}}, 3);
  const std::size_t steps = plan_with(inputs, devices, 0, false);
  register_lanes(Where::cuda,
                 std::make_unique<FailingMaker>(register_lanes(Where::cuda, nullptr), steps - 1));
  inputs.poison();
  const Request request{.cached = false};
  const Together together =
      run_together(product(), inputs.arguments(), {.devices = devices, .request = request});
  EXPECT_TRUE(verify(product(), inputs.arguments()).passed);
  EXPECT_EQ(together.shares[0].lost, "");
  EXPECT_NE(together.shares[1].lost, "");
  // Both serve new processes.
  Inputs others(product(), Element::f64, {{{"m", 1500}, {"n", 1400}, {"k", 500}}}, 3);
  const Together safe =
      run_together(product(), others.arguments(), {.devices = devices, .request = request, .protect = true});
  EXPECT_TRUE(verify(product(), others.arguments()).passed);
  for (const Share& share : safe.shares) EXPECT_EQ(share.lost, "");
}

}  // namespace
}  // namespace tessera
