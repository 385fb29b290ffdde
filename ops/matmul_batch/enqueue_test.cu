// SPDX-License-Identifier: Apache-2.0
// Batches and groups in a stream give the bits of the calls on host memory, also within graphs, without
// synchronizing and without further allocations.
#include "tessera/matmul_batch.hpp"
#include "ops/matmul/api/enqueue_testing.cuh"

namespace tessera::matmul_batch {
namespace {

using on_gpu::DeviceCopy;

class BatchOnGpu : public on_gpu::OnGpu {
 protected:
  static bool has_hopper() { return find_device("cuda").compute_capability == 90; }
};

constexpr std::int64_t batch = 9, m = 70, n = 96, k = 130;

template <class T, class Out = T, class TB = T>
void expect_host_bits(cudaStream_t stream, Options host, bool shared_b, bool scales) {
  using Added = std::conditional_t<std::is_same_v<Out, std::int8_t>, float, Out>;
  const auto a = on_gpu::drawn<T>(batch * m * k, 1);
  const auto b = on_gpu::drawn<TB>((shared_b ? 1 : batch) * k * n, 2);
  const auto c = on_gpu::drawn<Out>(batch * m * n, 3);
  const auto scale = on_gpu::drawn<float>(batch * (m + n), 4);
  const auto bias = on_gpu::drawn<Added>(n, 5);
  const DeviceCopy<T> device_a(a);
  const DeviceCopy<TB> device_b(b);
  const DeviceCopy<Out> device_c(c);
  const DeviceCopy<float> device_scale(scale);
  const DeviceCopy<Added> device_bias(bias);
  host.request = on_gpu::on_gpu();
  Options device_options = host;
  if (scales) {
    host.scale_a = {scale.data(), true, m};
    host.scale_b = {scale.data() + 7, true};
    host.bias = matmul::bias_of_columns(bias.data());
    device_options.scale_a = {device_scale.get(), true, m};
    device_options.scale_b = {device_scale.get() + 7, true};
    device_options.bias = matmul::bias_of_columns(device_bias.read());
  }
  const std::int64_t of_b = shared_b ? 1 : batch;
  std::vector<Out> wanted = c;
  const Outcome outcome = multiply_batch<T, Out, TB>({a.data(), batch, m, k}, {b.data(), of_b, k, n},
                                                     {wanted.data(), batch, m, n}, host);
  const ConstBatchView<T> a_view{device_a.read(), batch, m, k};
  const ConstBatchView<TB> b_view{device_b.read(), of_b, k, n};
  const BatchView<Out> c_view{device_c.get(), batch, m, n};
  const Plan plan = enqueue(stream, a_view, b_view, c_view, device_options);
  cuda::check(cudaStreamSynchronize(stream));
  EXPECT_EQ(plan.variant->name, outcome.plan.variant->name);
  on_gpu::expect_same_bits(device_c.fetched(), wanted, plan.variant->name + ", a batch");
  // Runs with a workspace of exactly workspace_bytes().
  const std::size_t bytes = workspace_bytes(a_view, b_view, c_view, device_options);
  const on_gpu::GuardedMemory workspace(bytes);
  const DeviceCopy<Out> again(c);
  enqueue(stream, a_view, b_view, BatchView<Out>{again.get(), batch, m, n}, device_options,
          {bytes == 0 ? nullptr : workspace.get(), bytes});
  on_gpu::expect_same_bits(again.fetched(), wanted, plan.variant->name + ", in an exact workspace");
  workspace.expect_guards_intact();
}

TEST_F(BatchOnGpu, GivesTheBitsOfTheCallOnHostMemory) {
  const Options added{.alpha = 2, .beta = -1};
  for (const bool shared : {false, true})
    for (const Options& o : {Options{}, added}) {
      expect_host_bits<float>(stream(), o, shared, false);
      expect_host_bits<double>(stream(), o, shared, false);
      if (!has_hopper()) continue;
      expect_host_bits<bf16>(stream(), o, shared, true);
      expect_host_bits<f16, float>(stream(), o, shared, false);
      expect_host_bits<e4m3, bf16, e5m2>(stream(), o, shared, true);
      expect_host_bits<std::int8_t, std::int32_t>(stream(), o, shared, false);
    }
}

struct Size {
  std::int64_t m, n, k;
};

// Products of unequal sizes on the host and on the GPU, empty ones among them.
template <class T, class Out, class TB>
struct Trial {
  std::vector<std::vector<T>> a;
  std::vector<std::vector<TB>> b;
  std::vector<std::vector<Out>> c;
  std::vector<float> scale = on_gpu::drawn<float>(600, 9);
  std::vector<DeviceCopy<T>> device_a;
  std::vector<DeviceCopy<TB>> device_b;
  std::vector<DeviceCopy<Out>> device_c;
  DeviceCopy<float> device_scale{scale};
  std::vector<Product<T, Out, TB>> host, device_options;

  explicit Trial(bool scales) {
    const Size sizes[] = {{33, 65, 17}, {0, 5, 5},     {128, 128, 300}, {1, 1, 1},
                          {5, 6, 0},    {300, 40, 64}, {64, 200, 130}};
    for (const Size& s : sizes) {
      const auto seed = static_cast<std::uint64_t>(a.size());
      a.push_back(on_gpu::drawn<T>(s.m * s.k, seed));
      b.push_back(on_gpu::drawn<TB>(s.k * s.n, seed + 100));
      c.push_back(on_gpu::drawn<Out>(s.m * s.n, seed + 200));
      device_a.emplace_back(a.back());
      device_b.emplace_back(b.back());
      device_c.emplace_back(c.back());
      host.push_back({{a.back().data(), s.m, s.k}, {b.back().data(), s.k, s.n}, {c.back().data(), s.m, s.n}});
      device_options.push_back({{device_a.back().get(), s.m, s.k},
                                {device_b.back().get(), s.k, s.n},
                                {device_c.back().get(), s.m, s.n}});
      if (!scales) continue;
      host.back().scale_a = {scale.data() + seed, true};
      device_options.back().scale_a = {device_scale.get() + seed, true};
      if (seed % 2 != 0) continue;
      host.back().scale_b = {scale.data()};
      device_options.back().scale_b = {device_scale.get()};
    }
  }

  void expect_host_bits(const std::string& how) const {
    for (std::size_t i = 0; i < host.size(); ++i)
      on_gpu::expect_same_bits(device_c[i].fetched(), c[i], how + ", product " + std::to_string(i));
  }
};

template <class T, class Out = T, class TB = T>
void expect_group(cudaStream_t stream, Options options, bool scales) {
  options.request = on_gpu::on_gpu();
  Trial<T, Out, TB> trial(scales);
  const std::size_t bytes = group_workspace_bytes<T, Out, TB>(trial.device_options, options);
  const on_gpu::GuardedMemory workspace(bytes);
  const std::string how = enqueue_group<T, Out, TB>(stream, trial.device_options, options,
                                                    {bytes == 0 ? nullptr : workspace.get(), bytes});
  cuda::check(cudaStreamSynchronize(stream));
  const GroupOutcome outcome = multiply_group<T, Out, TB>(trial.host, options);
  EXPECT_EQ(how, outcome.how);
  trial.expect_host_bits(how);
  workspace.expect_guards_intact();
}

TEST_F(BatchOnGpu, GroupsGiveTheBitsOfTheCallOnHostMemory) {
  expect_group<float>(stream(), {.alpha = 2}, false);
  expect_group<double>(stream(), {.beta = 1}, false);
  if (!has_hopper()) GTEST_SKIP() << "no tensor cores of Hopper";
  expect_group<bf16>(stream(), {.alpha = 2, .beta = -1}, false);
  expect_group<bf16, float>(stream(), {.activation = Activation::relu}, true);
  expect_group<e4m3, bf16, e5m2>(stream(), {}, true);
  expect_group<std::int8_t, std::int32_t>(stream(), {.alpha = 3}, false);
  expect_group<float>(stream(), {.compute = Compute::tf32}, true);
}

TEST_F(BatchOnGpu, AGroupIsCapturedAndReplayed) {
  if (!has_hopper()) GTEST_SKIP() << "no tensor cores of Hopper";
  Trial<bf16, bf16, bf16> trial(false);
  Options options;
  options.request = on_gpu::on_gpu();
  enqueue_group<bf16>(stream(), trial.device_options, options);
  wait();
  // The list that is passed to the call is destroyed after it.
  const cuda::Graph graph(stream(), [&] {
    const auto list = trial.device_options;
    enqueue_group<bf16>(stream(), list, options);
  });
  for (const std::uint64_t seed : {21, 22}) {
    for (std::size_t i = 0; i < trial.a.size(); ++i) {
      const auto fresh = on_gpu::drawn<bf16>(static_cast<std::int64_t>(trial.a[i].size()), seed + i);
      std::copy(fresh.begin(), fresh.end(), trial.a[i].begin());
      trial.device_a[i].set(fresh);
    }
    graph.launch(stream());
    graph.launch(stream());
    wait();
    const GroupOutcome outcome = multiply_group<bf16>(trial.host, options);
    trial.expect_host_bits(outcome.how);
  }
}

TEST_F(BatchOnGpu, RepeatedCallsNeitherSynchronizeNorAllocate) {
  if (!has_hopper()) GTEST_SKIP() << "no tensor cores of Hopper";
  const Trial<bf16, bf16, bf16> trial(false);
  const DeviceCopy<bf16> a(on_gpu::drawn<bf16>(batch * m * k, 1)), b(on_gpu::drawn<bf16>(k * n, 2));
  const DeviceCopy<bf16> c(on_gpu::drawn<bf16>(batch * m * n, 3));
  Options options;
  options.request = on_gpu::on_gpu();
  const auto put = [&] {
    enqueue_group<bf16>(stream(), trial.device_options, options);
    matmul_batch::enqueue<bf16>(stream(), {a.get(), batch, m, k}, {b.get(), 1, k, n}, {c.get(), batch, m, n},
                                options);
  };
  for (int warm = 0; warm < 3; ++warm) (void)on_gpu::comes_back_at_once(stream(), put);
  const std::size_t before = on_gpu::free_bytes();
  for (int round = 0; round < 20; ++round) {
    EXPECT_TRUE(on_gpu::comes_back_at_once(stream(), put)) << "round " << round;
    EXPECT_EQ(on_gpu::free_bytes(), before) << "round " << round;
  }
}

TEST_F(BatchOnGpu, ReportsErrors) {
  const DeviceCopy<float> a(on_gpu::drawn<float>(batch * m * k, 1)), b(on_gpu::drawn<float>(k * n, 2));
  std::vector<float> host(batch * m * n);
  EXPECT_EQ(on_gpu::complaint_of([&] {
              Options options;
              options.request.device = "cuda";
              matmul_batch::enqueue<float>(stream(), {a.get(), batch, m, k}, {b.get(), 1, k, n},
                                           {host.data(), batch, m, n}, options);
            }),
            "C lies in host memory, but the work is for cuda:0");
  const Product<float> product{{a.get(), m, k}, {b.get(), k, n}, {host.data(), m, n}};
  Options options;
  options.request.device = "cuda";
  EXPECT_EQ(on_gpu::complaint_of([&] { enqueue_group<float>(stream(), std::span(&product, 1), options); }),
            "C lies in host memory, but the work is for cuda:0");
}

}  // namespace
}  // namespace tessera::matmul_batch
