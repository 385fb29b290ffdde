// SPDX-License-Identifier: Apache-2.0
// Tests enqueue() on a made-up kind of GPU: memory, streams, workspaces and refusals.
#include "tessera/run/enqueue.hpp"
#include <gtest/gtest.h>
#include <cstring>
#include <thread>
#include <vector>
#include "tessera/core/device/streams.hpp"

namespace tessera {
namespace {

constexpr std::size_t capacity = 1024, front = 64, kept_bytes = 512;

// Two devices, whose memories are parts of host memory.
alignas(256) char memories[2][1 << 16];
char streams[2];

class MadeUpGpu final : public HostBackend {
 public:
  MadeUpGpu() : devices_(2, host_device(Where::cuda)) { devices_[1].index = 1; }
  Where where() const override { return Where::cuda; }
  bool shares_host_memory() const override { return false; }
  const std::vector<Device>& devices() override { return devices_; }

 private:
  std::vector<Device> devices_;
};

struct Lending {
  int borrowed = 0, back = 0, kept = 0;
  std::size_t kept_zeros = 0;
  std::size_t bytes = 0;
  bool capturing = false;
};
Lending lending;

class MadeUpOrder final : public StreamOrderedMemory {
 public:
  std::optional<int> holder_of(const void* address) override {
    for (int i = 0; i < 2; ++i)
      if (address >= memories[i] && address < memories[i] + sizeof memories[i]) return i;
    return std::nullopt;
  }
  std::optional<std::string> refuses_stream(const Device& device, void* stream) override {
    if (stream == nullptr || stream == &streams[device.index]) return std::nullopt;
    return "the stream is of another device than " + device.label();
  }
  bool is_capturing(const Run&) override { return lending.capturing; }
  void* keep(const Run& run, std::size_t zeros, std::size_t bytes) override {
    if (bytes > kept_bytes) return nullptr;
    ++lending.kept;
    lending.kept_zeros = zeros;
    return memories[run.device->index] + sizeof memories[0] / 4;
  }
  void* borrow(const Run& run, std::size_t bytes) override {
    ++lending.borrowed;
    lending.bytes = bytes;
    return memories[run.device->index] + sizeof memories[0] / 2;
  }
  void give_back(const Run&, void*) noexcept override { ++lending.back; }
};

// The state that the variant saw when it ran.
struct Seen {
  int runs = 0;
  void* stream = nullptr;
  char* workspace = nullptr;
  std::size_t bytes = 0;
  std::vector<char> held;
};
Seen seen;
bool breaks = false;

void add(const Arguments& device_arguments, const Tuning&, Run& run) {
  if (breaks) throw Error("it broke");
  auto* const workspace = static_cast<char*>(run.workspace);
  seen = {seen.runs + 1,
          run.stream,
          workspace,
          run.workspace_bytes,
          {workspace, workspace + run.workspace_bytes}};
  std::memset(run.workspace, 0x77, run.workspace_bytes);
  const auto a = device_arguments.view<const float, 1>("A"), d = device_arguments.view<const float, 1>("D");
  const auto c = device_arguments.view<float, 1>("C");
  for (std::int64_t i = 0; i < c.extent[0]; ++i) c(i) = 2 * a(i) + (d.data != nullptr ? d(i) : 0);
}

void double_it(const Arguments& device_arguments, const Tuning&, Run&) {
  const auto a = device_arguments.view<const float, 1>("A");
  const auto c = device_arguments.view<float, 1>("C");
  for (std::int64_t i = 0; i < c.extent[0]; ++i) c(i) = 2 * a(i);
}

Variant variant(const char* idea, bool baseline) {
  Choice choice;
  choice.prepare[Element::f32] = without_plan(add, [](const Arguments&, const Tuning&) { return capacity; });
  choice.refuses = [](const Arguments& arguments, const Tuning&, const Device&) -> Reason {
    if (arguments.array("A").strides[0] != 1) return "A has gaps";
    return std::nullopt;
  };
  Variant out;
  out.idea = idea;
  out.where = Where::cuda;
  out.baseline = baseline;
  out.choices.push_back(std::move(choice));
  return out;
}

// Planned ahead: needs less workspace than it may use, and leaves zeros at the front.
int plans = 0;
std::size_t planned_bytes = 256;

PreparedRun planned(const Arguments& arguments, const Tuning&, const Device&) {
  ++plans;
  return {.launch =
              [n = arguments.dim("n")](std::span<void* const> arrays, Run& run) {
                const auto* const a = static_cast<const float*>(arrays[0]);
                const auto* const d = static_cast<const float*>(arrays[1]);
                auto* const c = static_cast<float*>(arrays[2]);
                auto* const workspace = static_cast<char*>(run.workspace);
                seen = {seen.runs + 1, run.stream, workspace, run.workspace_bytes, {}};
                for (std::int64_t i = 0; i < n; ++i) c[i] = 2 * a[i] + (d != nullptr ? d[i] : 0);
              },
          .workspace_bytes = planned_bytes,
          .zeroed_bytes = front};
}

Operation operation(const char* name, bool returns_values) {
  using namespace parameter;
  Operation out;
  out.name = name;
  out.summary = "twice A, and D";
  out.signature.parameters = {input("A", {"n"}, "a vector"), optional_input("D", {"n"}, "another")};
  if (returns_values) out.signature.parameters.push_back(value("sum", "what it tells"));
  out.signature.parameters.push_back(output("C", {"n"}, "the result"));
  out.elements = {Element::f32};
  out.output = "C";
  return out;
}

class Enqueue : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_backend(std::make_unique<MadeUpGpu>());
    register_stream_ordered_memory(Where::cuda, std::make_unique<MadeUpOrder>());
    register_operation(operation("doubling", false));
    register_operation(operation("telling", true));
    register_variant(variant("all of its workspace is to be zeros", false),
                     SourceLocation{"ops/doubling/gpu_01_all.cu", 1});
    Variant zeroed = variant("the front is", false);
    zeroed.choices[0].prepare[Element::f32] = without_plan(
        add, [](const Arguments&, const Tuning&) { return capacity; }, front);
    register_variant(std::move(zeroed), SourceLocation{"ops/doubling/gpu_02_front.cu", 1});
    register_variant(variant("somebody else's", true), SourceLocation{"ops/doubling/gpu_00_other.cu", 1});
    Variant ahead = variant("it is planned ahead", false);
    ahead.choices[0].prepare[Element::f32] = planned;
    register_variant(std::move(ahead), SourceLocation{"ops/doubling/gpu_01_ahead.cu", 1});
    Variant plain = variant("it needs no workspace", false);
    plain.choices[0].prepare[Element::f32] = without_plan(double_it);
    register_variant(std::move(plain), SourceLocation{"ops/doubling/gpu_01_plain.cu", 1});
    register_variant(variant("one that tells", false), SourceLocation{"ops/telling/gpu_01_all.cu", 1});
  }
  void SetUp() override {
    lending = {};
    seen = {};
    breaks = false;
    for (int i = 0; i < 8; ++i) in_[i] = static_cast<float>(i), added_[i] = 100;
    std::memset(space_, 0xee, 2 * capacity);
  }

  const Operation& doubling_ = *find_operation("doubling");
  float* const in_ = reinterpret_cast<float*>(memories[0]);
  float* const added_ = in_ + 16;
  float* const out_ = in_ + 32;
  char* const space_ = memories[0] + 4096;

  static ArrayView vector(float* data, std::int64_t step = 1) { return {data, Element::f32, {8}, {step}}; }
  Arguments device_arguments(std::map<std::string, ArrayView> inputs, float* out,
                             const char* name = "doubling") const {
    Arguments arguments(find_operation(name)->signature, Element::f32, std::move(inputs), {});
    arguments.set_array("C", vector(out));
    return arguments;
  }
  Arguments device_arguments() const { return device_arguments({{"A", vector(in_)}}, out_); }
  Plan plan(const Arguments& arguments, const char* name = "front") const {
    return choose_in_place(doubling_, arguments, {.device = "cuda", .variant = name, .cached = false});
  }
  std::string complaint(const Arguments& arguments, void* stream = nullptr, const Workspace& workspace = {},
                        const std::string& in_place = {}) const {
    const int before = seen.runs;
    try {
      enqueue(plan(arguments), arguments, stream, workspace, in_place);
      EXPECT_EQ(seen.runs, before + 1);
      return "none";
    } catch (const Error& error) {
      EXPECT_EQ(seen.runs, before) << "refused, but done";
      EXPECT_EQ(lending.borrowed, lending.back);
      return error.what();
    }
  }
};

TEST_F(Enqueue, RunsOnTheStreamWithAWorkspaceOfTheCallers) {
  const Arguments arguments = device_arguments({{"A", vector(in_)}, {"D", vector(added_)}}, out_);
  const Plan chosen = plan(arguments);
  ASSERT_EQ(workspace_bytes(chosen, arguments), capacity);
  enqueue(chosen, arguments, &streams[0], {space_, capacity});
  EXPECT_EQ(out_[3], 106);
  EXPECT_EQ(seen.stream, &streams[0]);
  EXPECT_EQ(seen.workspace, space_);
  EXPECT_EQ(seen.bytes, capacity);
  EXPECT_EQ(lending.borrowed, 0);
  for (std::size_t i = 0; i < capacity; ++i) ASSERT_EQ(seen.held[i], i < front ? 0 : '\xee') << i;
  EXPECT_EQ(space_[capacity], '\xee');
  // The caller says that the workspace need not be cleared.
  enqueue(chosen, arguments, nullptr, {space_, capacity, true});
  for (const char byte : seen.held) ASSERT_EQ(byte, 0x77);
  // A variant that does not say how much of it must be zero gets all of it cleared.
  enqueue(plan(arguments, "all"), arguments, nullptr, {space_, 2 * capacity});
  for (const char byte : seen.held) ASSERT_EQ(byte, 0);
}

TEST_F(Enqueue, AllocatesAMissingWorkspace) {
  const Arguments arguments = device_arguments();
  enqueue(plan(arguments), arguments, nullptr);
  EXPECT_EQ(lending.borrowed, 1);
  EXPECT_EQ(lending.back, 1);
  EXPECT_EQ(lending.bytes, capacity);
  for (std::size_t i = 0; i < front; ++i) ASSERT_EQ(seen.held[i], 0);
  // A borrowed workspace is cleared whatever the caller says.
  enqueue(plan(arguments), arguments, nullptr, {.zeroed = true});
  for (std::size_t i = 0; i < front; ++i) ASSERT_EQ(seen.held[i], 0);
  breaks = true;
  EXPECT_THROW(enqueue(plan(arguments), arguments, nullptr), Error);
  EXPECT_EQ(lending.borrowed, lending.back);
}

TEST_F(Enqueue, RunsOnTheDeviceThatHoldsTheResult) {
  EXPECT_EQ(device_holding(in_).label(), "cuda:0");
  EXPECT_EQ(device_holding(memories[1] + 5).label(), "cuda:1");
  EXPECT_EQ(device_holding(this).label(), "cpu");
  EXPECT_EQ(choose_in_place(doubling_, device_arguments()).device.index, 0);
  auto* const second = reinterpret_cast<float*>(memories[1]);
  const Arguments arguments = device_arguments({{"A", vector(second)}}, second + 8);
  const Plan chosen = choose_in_place(doubling_, arguments);
  EXPECT_EQ(chosen.device.index, 1);
  enqueue(chosen, arguments, &streams[1]);
  EXPECT_EQ(seen.workspace, memories[1] + sizeof memories[1] / 2);
}

// A copy would have no gaps; without a copy the arrays' own strides count.
TEST_F(Enqueue, KeepsTheStridesOfTheArrays) {
  const Arguments gaps = device_arguments({{"A", vector(in_, 2)}}, out_);
  EXPECT_EQ(complaint(gaps), "no variant of doubling can compute this on cuda:0; front: A has gaps");
  EXPECT_NO_THROW((void)choose(doubling_, gaps, {.device = "cuda", .cached = false}));
  EXPECT_THROW(enqueue(plan(device_arguments()), gaps, nullptr), Error) << "a Plan made for others";
}

TEST_F(Enqueue, ReportsErrors) {
  float host[8] = {};
  auto* const second = reinterpret_cast<float*>(memories[1]);
  auto* const odd = reinterpret_cast<float*>(memories[0] + 2);
  EXPECT_EQ(complaint(device_arguments({{"A", vector(host)}}, out_)),
            "A lies in host memory, but the work is for cuda:0");
  EXPECT_EQ(complaint(device_arguments({{"A", vector(second)}}, out_)),
            "A lies in the memory of cuda:1, but the work is for cuda:0");
  EXPECT_EQ(complaint(device_arguments({{"A", vector(nullptr)}}, out_)), "A has no data");
  EXPECT_EQ(complaint(device_arguments({{"A", vector(odd)}}, out_)), "A is not aligned to its elements");
  EXPECT_EQ(complaint(device_arguments({{"A", vector(in_)}}, in_ + 7)),
            "C overlaps A in memory; outputs must not alias other arrays");
  EXPECT_EQ(complaint(device_arguments(), &streams[1]), "the stream is of another device than cuda:0");
  EXPECT_EQ(complaint(device_arguments(), nullptr, {space_, capacity - 1}),
            "the workspace has 1023 bytes, 1024 are needed");
  alignas(256) static char on_host[capacity];
  EXPECT_EQ(complaint(device_arguments(), nullptr, {on_host, capacity}),
            "the workspace lies in host memory, but the work is for cuda:0");
  EXPECT_EQ(complaint(device_arguments(), nullptr, {nullptr, capacity}), "the workspace has no data");
  EXPECT_EQ(complaint(device_arguments(), nullptr, {space_ + 8, capacity}),
            "the workspace is not aligned to 256 bytes");
  EXPECT_EQ(complaint(device_arguments(), nullptr, {in_, capacity}), "the workspace overlaps A");
  EXPECT_EQ(complaint(device_arguments()), "none");
}

TEST_F(Enqueue, AcceptsANamedInPlaceInput) {
  const auto both = [this](float* d) {
    return device_arguments({{"A", vector(in_)}, {"D", vector(d)}}, added_);
  };
  EXPECT_EQ(complaint(both(added_)), "C overlaps D in memory; outputs must not alias other arrays");
  EXPECT_EQ(complaint(both(added_ + 1), nullptr, {}, "D"),
            "C overlaps D in memory; outputs must not alias other arrays");
  EXPECT_EQ(complaint(both(added_), nullptr, {}, "A"),
            "C overlaps D in memory; outputs must not alias other arrays");
  EXPECT_EQ(complaint(both(added_), nullptr, {}, "D"), "none");
  EXPECT_EQ(added_[3], 106);
}

TEST_F(Enqueue, RefusesOperationsThatReturnHostValues) {
  const Arguments telling = device_arguments({{"A", vector(in_)}}, out_, "telling");
  EXPECT_THROW(enqueue(choose_in_place(*find_operation("telling"), telling), telling, nullptr), Error);
  const Arguments arguments = device_arguments();
  EXPECT_THROW(enqueue(plan(arguments, "other"), arguments, nullptr), Error);
  EXPECT_EQ(seen.runs, 0);
}

TEST_F(Enqueue, PreparedCallsTakeOtherAddresses) {
  const Arguments arguments = device_arguments({{"A", vector(in_)}, {"D", vector(added_)}}, out_);
  for (const char* name : {"front", "all"}) {  // not planned ahead: the whole run, with other addresses
    const PreparedCall call(plan(arguments, name), arguments);
    void* const arrays[] = {added_, in_, in_ + 100};
    call.enqueue(&streams[0], arrays);
    EXPECT_EQ(in_[100 + 3], 203) << name;
    EXPECT_EQ(lending.kept, 0) << name;
    EXPECT_EQ(lending.borrowed, lending.back) << name;
    for (std::size_t i = 0; i < front; ++i) ASSERT_EQ(seen.held[i], 0) << name;
    void* const others[] = {in_, in_, in_ + 120};
    call.enqueue(&streams[0], others);
    EXPECT_EQ(in_[120 + 3], 9) << name;
  }
  plans = 0;
  const PreparedCall call(plan(arguments, "ahead"), arguments);
  for (int i = 0; i < 3; ++i) {
    void* const arrays[] = {in_ + i, nullptr, in_ + 100};
    call.enqueue(&streams[0], arrays);
    EXPECT_EQ(in_[100 + 3], 2 * (i + 3));
    EXPECT_EQ(seen.stream, &streams[0]);
  }
  EXPECT_EQ(plans, 1);
}

// Each call has arguments of its own while it runs.
TEST_F(Enqueue, SeveralThreadsShareAPreparedCall) {
  const Arguments arguments = device_arguments();
  const PreparedCall call(plan(arguments, "plain"), arguments);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      float* const own = in_ + 256 + 64 * t;
      for (int i = 0; i < 2000; ++i) {
        own[0] = static_cast<float>(i);
        void* const arrays[] = {own, nullptr, own + 16};
        call.enqueue(&streams[0], arrays);
        EXPECT_EQ(own[16], 2 * i);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Enqueue, PlannedCallsKeepTheirWorkspace) {
  const Arguments arguments = device_arguments();
  const Plan ahead = plan(arguments, "ahead");
  std::memset(memories[0] + sizeof memories[0] / 4, 0x11, kept_bytes);
  enqueue(ahead, arguments, nullptr);
  EXPECT_EQ(lending.kept, 1);
  EXPECT_EQ(lending.borrowed, 0);
  EXPECT_EQ(lending.kept_zeros, front);
  EXPECT_EQ(*seen.workspace, 0x11) << "nothing is cleared";
  EXPECT_EQ(workspace_bytes(ahead, arguments), planned_bytes);
  // A workspace that is too large to keep is borrowed, and its front cleared.
  planned_bytes = kept_bytes + 1;
  enqueue(ahead, arguments, nullptr);
  EXPECT_EQ(lending.borrowed, 1);
  EXPECT_EQ(lending.back, 1);
  planned_bytes = 256;
}

// Memory that a graph allocates for itself is unknown until it runs.
TEST_F(Enqueue, AcceptsUnknownMemoryWhileCapturing) {
  float host[8] = {};
  lending.capturing = true;
  EXPECT_EQ(complaint(device_arguments({{"A", vector(host)}}, out_)), "none");
  EXPECT_EQ(complaint(device_arguments({{"A", vector(reinterpret_cast<float*>(memories[1]))}}, out_)),
            "A lies in the memory of cuda:1, but the work is for cuda:0");
}

}  // namespace
}  // namespace tessera
