// SPDX-License-Identifier: Apache-2.0
// Products enqueued on a stream: bitwise identical to the call on host memory, within graphs, from several
// threads, with a workspace of exactly the required size; no synchronization and no repeated allocation.
#include "tessera/matmul.hpp"
#include "ops/matmul/gemm/checks.hpp"
#include "ops/matmul/gemm/gemm.hpp"
#include "ops/matmul/api/enqueue_testing.cuh"
#include "tessera/cuda/gpus.hpp"

namespace tessera::matmul {
namespace {

using on_gpu::DeviceCopy;

class EnqueueOnGpu : public on_gpu::OnGpu {};

struct Sizes {
  std::int64_t m, n, k;
};
// Whole tiles, odd sizes, a sum long enough to be split, a skinny product.
constexpr Sizes sizes[] = {{256, 384, 512}, {77, 93, 131}, {64, 128, 16384}, {3, 515, 700}};

// A product's arrays on the host and on the GPU; those that Options name among them.
template <class T, class Out, class TB>
struct Trial {
  using Added = std::conditional_t<std::is_same_v<Out, std::int8_t>, float, Out>;

  Sizes s;
  Order order_c = Order::rows;
  std::vector<T> a;
  std::vector<TB> b;
  std::vector<Out> c;
  std::vector<float> scale_a, scale_b;
  std::vector<Added> bias;
  DeviceCopy<T> device_a;
  DeviceCopy<TB> device_b;
  DeviceCopy<Out> device_c;
  DeviceCopy<float> device_scale_a, device_scale_b;
  DeviceCopy<Added> device_bias;

  explicit Trial(const Sizes& of, Order order = Order::rows)
      : s(of),
        order_c(order),
        a(on_gpu::drawn<T>(s.m * s.k, 1)),
        b(on_gpu::drawn<TB>(s.k * s.n, 2)),
        c(on_gpu::drawn<Out>(s.m * s.n, 3)),
        scale_a(on_gpu::drawn<float>(s.m, 4)),
        scale_b(on_gpu::drawn<float>(s.n, 5)),
        bias(on_gpu::drawn<Added>(s.m + s.n, 6)),
        device_a(a),
        device_b(b),
        device_c(c),
        device_scale_a(scale_a),
        device_scale_b(scale_b),
        device_bias(bias) {}

  // The matrices as stored.
  ConstMatrixView<T> a_at(const T* data, const Options& o) const {
    return o.transpose_a ? ConstMatrixView<T>{data, s.k, s.m} : ConstMatrixView<T>{data, s.m, s.k};
  }
  ConstMatrixView<TB> b_at(const TB* data, const Options& o) const {
    return o.transpose_b ? ConstMatrixView<TB>{data, s.n, s.k} : ConstMatrixView<TB>{data, s.k, s.n};
  }
  MatrixView<Out> c_at(Out* data) const { return {data, s.m, s.n, 0, order_c}; }

  Options host_options(Options o, bool scales, bool added) const {
    if (scales) o.scale_a = {scale_a.data(), true}, o.scale_b = {scale_b.data(), true};
    if (added) o.bias = bias_of_columns(bias.data());
    o.request = on_gpu::on_gpu();
    return o;
  }
  Options device_options(const Options& host) const {
    Options o = host;
    if (o.scale_a.data != nullptr)
      o.scale_a.data = device_scale_a.get(), o.scale_b.data = device_scale_b.get();
    if (o.bias.data != nullptr) o.bias.data = device_bias.get();
    return o;
  }

  Plan put(cudaStream_t stream, const Options& device_options, const Workspace& workspace = {}) const {
    return enqueue(stream, a_at(device_a.read(), device_options), b_at(device_b.read(), device_options),
                   c_at(device_c.get()), device_options, workspace);
  }
  std::size_t needed_workspace(const Options& device_options) const {
    return workspace_bytes(a_at(device_a.read(), device_options), b_at(device_b.read(), device_options),
                           c_at(device_c.get()), device_options);
  }
  // Within the bound of every element, against the reference.
  void expect_right(std::vector<Out> got, const Options& host, const std::string& what) const {
    std::vector<Out> before = c;
    Arguments arguments = Gemm::of(detail::any(a_at(a.data(), host)), detail::any(b_at(b.data(), host)),
                                   detail::any(c_at(got.data())), host)
                              .arguments();
    if (host.beta != 0) arguments.set_array("C0", view_of("C0", detail::any(c_at(before.data()))));
    const Verdict verdict = verify(matmul_operation(), arguments);
    EXPECT_TRUE(verdict.passed) << what << ": " << describe(verdict);
  }
  // By the call on host memory.
  std::vector<Out> wanted(const Options& host, std::string* variant = nullptr) const {
    std::vector<Out> out = c;
    const Outcome outcome = multiply(a_at(a.data(), host), b_at(b.data(), host), c_at(out.data()), host);
    if (variant != nullptr) *variant = outcome.plan.variant->name;
    return out;
  }
};

template <class T, class Out = T, class TB = T>
void expect_host_bits(cudaStream_t stream, const Options& given, bool scales = false, bool added = false) {
  for (const Sizes& s : sizes)
    for (const Order order : {Order::rows, Order::columns})
      for (const bool transposed : {false, true}) {
        Trial<T, Out, TB> trial(s, order);
        Options host = trial.host_options(given, scales, added);
        host.transpose_b = transposed;
        host.transpose_a = transposed && order == Order::columns;
        const Plan plan = trial.put(stream, trial.device_options(host));
        cuda::check(cudaStreamSynchronize(stream));
        const std::string what = plan.variant->name + " " + std::string(name_of(element_of<T>)) + " " +
                                 std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
        trial.expect_right(trial.device_c.fetched(), host, what);
        if (order == Order::columns) continue;  // the call on host memory gives the device rows
        std::string variant;
        on_gpu::expect_same_bits(trial.device_c.fetched(), trial.wanted(host, &variant), what);
        EXPECT_EQ(plan.variant->name, variant);
      }
}

TEST_F(EnqueueOnGpu, GivesTheBitsOfTheCallOnHostMemory) {
  const Options added{.alpha = 1.5, .beta = -0.5}, active{.activation = Activation::gelu};
  for (const Options& o : {Options{}, added}) {
    expect_host_bits<float>(stream(), o);
    expect_host_bits<double>(stream(), o);
    expect_host_bits<bf16>(stream(), o);
    expect_host_bits<f16, float>(stream(), o);
  }
  expect_host_bits<std::int32_t>(stream(), {.alpha = 3, .beta = 2});
  expect_host_bits<std::int8_t, std::int32_t>(stream(), {.alpha = 3, .beta = 2});
  // Epilogue passes over C; with scales, C0, which is C here, is read after the product.
  const Options all{.alpha = 1.5, .beta = -0.5, .activation = Activation::gelu};
  expect_host_bits<float>(stream(), all, true, true);
  expect_host_bits<float>(stream(), all, false, true);
  expect_host_bits<double>(stream(), all, false, true);
  expect_host_bits<std::int32_t>(stream(), {.alpha = 3, .beta = 2, .activation = Activation::relu}, false,
                                 true);
  if (find_device("cuda").compute_capability != 90) GTEST_SKIP() << "no tensor cores of Hopper";
  expect_host_bits<bf16>(stream(), active, true, true);
  expect_host_bits<float>(stream(), {.compute = Compute::tf32});
  expect_host_bits<e4m3, bf16, e5m2>(stream(), added, true, true);
  expect_host_bits<e5m2, float, e4m3>(stream(), {.accumulate = Accumulate::fast});
  expect_host_bits<std::int8_t, std::int8_t>(stream(), active, true, true);
}

TEST_F(EnqueueOnGpu, WritesNothingOutsideAnExactWorkspace) {
  for (const Sizes& s : sizes) {
    const Trial<bf16, bf16, bf16> few(s);
    const Trial<float, float, float> plain(s);
    const auto expect_exact = [&](const auto& trial) {
      const Options host = trial.host_options({}, false, false), device_options = trial.device_options(host);
      const auto wanted = trial.wanted(host);
      const std::size_t bytes = trial.needed_workspace(device_options);
      const on_gpu::GuardedMemory guarded(bytes);  // full of NaN
      const Workspace given{bytes == 0 ? nullptr : guarded.get(), bytes, false},
          kept{given.data, bytes, true};
      trial.put(stream(), device_options, given);
      for (int again = 0; again < 3; ++again) {
        wait();
        on_gpu::expect_same_bits(trial.device_c.fetched(), wanted,
                                 "with " + std::to_string(bytes) + " bytes");
        guarded.expect_guards_intact();
        trial.put(stream(), device_options, kept);
      }
      wait();
      if (bytes < 256) return;
      EXPECT_NE(on_gpu::complaint_of([&] {
                  trial.put(stream(), device_options, {guarded.get(), bytes - 1});
                }),
                "none");
    };
    expect_exact(few);
    expect_exact(plain);
  }
}

TEST_F(EnqueueOnGpu, IsCapturedAndLaunchedAgainWithOtherInputs) {
  const auto expect_captured = [&]<class T>(Trial<T, float, T> trial, bool own, bool scales) {
    const Sizes s = trial.s;
    const Options host = trial.host_options({.bias = {}}, scales, true),
                  device_options = trial.device_options(host);
    trial.put(stream(), device_options);  // loads code
    wait();
    const std::size_t bytes = trial.needed_workspace(device_options);
    const on_gpu::GuardedMemory guarded(bytes);
    const cuda::Graph graph(stream(), [&] {
      trial.put(stream(), device_options,
                own ? Workspace{bytes == 0 ? nullptr : guarded.get(), bytes} : Workspace{});
    });
    for (const std::uint64_t seed : {11, 12, 13}) {
      trial.a = on_gpu::drawn<T>(s.m * s.k, seed);
      trial.device_a.set(trial.a);
      graph.launch(stream());
      graph.launch(stream());
      wait();
      on_gpu::expect_same_bits(trial.device_c.fetched(), trial.wanted(host), own ? "own" : "borrowed");
    }
    guarded.expect_guards_intact();
  };
  for (const Sizes& s : sizes)
    for (const bool own : {true, false}) {
      expect_captured(Trial<bf16, float, bf16>(s), own, false);
      expect_captured(Trial<float, float, float>(s), own, true);  // a product and a pass
    }
}

// Three sets of arrays, none of them used to prepare the product.
template <class T, class Out>
void expect_prepared(cudaStream_t stream, const Options& given, bool own) {
  for (const Sizes& s : sizes) {
    std::optional<Prepared<T, Out>> product;
    Options host;
    {
      const Trial<T, Out, T> gone(s);
      host = gone.host_options(given, false, false);
      product.emplace(gone.a_at(gone.device_a.read(), host), gone.b_at(gone.device_b.read(), host),
                      gone.c_at(gone.device_c.get()), host);
    }
    const std::size_t bytes = product->workspace_bytes();
    const on_gpu::GuardedMemory guarded(bytes, 0);
    const Workspace workspace = own && bytes != 0 ? Workspace{guarded.get(), bytes, true} : Workspace{};
    const auto put = [&](const Trial<T, Out, T>& t) {
      product->enqueue(stream, t.device_a.read(), t.device_b.read(), t.device_c.get(), workspace);
    };
    std::vector<Trial<T, Out, T>> sets;
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      sets.emplace_back(s);
      sets.back().a = on_gpu::drawn<T>(s.m * s.k, 100 + seed);
      sets.back().device_a.set(sets.back().a);
    }
    for (const auto& t : sets) put(t);
    cuda::check(cudaStreamSynchronize(stream));
    const std::string what = product->plan().variant->name + (own ? ", own" : ", kept");
    for (const auto& t : sets) on_gpu::expect_same_bits(t.device_c.fetched(), t.wanted(host), what);
    // Within a graph that is launched twice: the same bits, because β is 0 then.
    if (given.beta != 0) continue;
    const cuda::Graph graph(stream, [&] {
      for (const auto& t : sets) put(t);
    });
    for (const auto& t : sets) cuda::check(cudaMemset(t.device_c.get(), 0xff, t.c.size() * sizeof(Out)));
    for (int again = 0; again < 3; ++again) graph.launch(stream);
    cuda::check(cudaStreamSynchronize(stream));
    for (const auto& t : sets)
      on_gpu::expect_same_bits(t.device_c.fetched(), t.wanted(host), what + ", graph");
    guarded.expect_guards_intact();
  }
}

TEST_F(EnqueueOnGpu, PreparedProductsTakeOtherAddresses) {
  for (const bool own : {true, false})
    for (const Options& o : {Options{}, Options{.alpha = 1.5, .beta = -0.5}}) {
      expect_prepared<float, float>(stream(), o, own);
      expect_prepared<double, double>(stream(), o, own);
      expect_prepared<bf16, bf16>(stream(), o, own);
      expect_prepared<f16, float>(stream(), o, own);
    }
  expect_prepared<float, float>(stream(), {.activation = Activation::gelu}, false);  // a pass follows
  const Trial<bf16, bf16, bf16> t(sizes[0]);
  const Options device_options = t.device_options(t.host_options({}, false, false));
  const Prepared<bf16> product(t.a_at(t.device_a.read(), device_options),
                               t.b_at(t.device_b.read(), device_options), t.c_at(t.device_c.get()),
                               device_options);
  EXPECT_NE(on_gpu::complaint_of([&] {
              product.enqueue(stream(), t.device_a.read() + 1, t.device_b.read(), t.device_c.get());
            }),
            "none");
}

// Two graphs captured from one stream have separate workspaces, so they may run concurrently.
TEST_F(EnqueueOnGpu, ConcurrentGraphsDoNotInterfere) {
  const Trial<bf16, bf16, bf16> one(sizes[2]), other(sizes[2]);
  const Options host = one.host_options({}, false, false);
  const std::vector<bf16> wanted = one.wanted(host);
  const auto capture = [&](const Trial<bf16, bf16, bf16>& t) {
    return cuda::Graph(stream(), [&] {
      for (int i = 0; i < 20; ++i) t.put(stream(), host);
    });
  };
  one.put(stream(), host);
  const cuda::Graph first = capture(one), second = capture(other);
  const cuda::Stream beside;
  wait();
  for (int again = 0; again < 20; ++again) first.launch(stream()), second.launch(beside.get());
  wait();
  beside.synchronize();
  on_gpu::expect_same_bits(one.device_c.fetched(), wanted, "the first");
  on_gpu::expect_same_bits(other.device_c.fetched(), wanted, "the second");
}

// The blocks of such a product wait for each other: those of products in several streams must not each occupy
// some of the multiprocessors that the others wait for.
TEST_F(EnqueueOnGpu, ConcurrentSplitKProductsEnd) {
  constexpr int rounds = 300;
  const Trial<bf16, bf16, bf16> trials[] = {Trial<bf16, bf16, bf16>({512, 512, 12288}),
                                            Trial<bf16, bf16, bf16>({512, 1024, 16384}),
                                            Trial<bf16, bf16, bf16>({64, 128, 16384})};
  std::vector<std::vector<bf16>> wanted;
  for (const auto& t : trials) {
    Options host = t.host_options({}, false, false);
    host.transpose_b = true;
    wanted.push_back(t.wanted(host));
  }
  std::vector<std::jthread> all;
  for (const auto& t : trials)
    all.emplace_back([&t] {
      Options host = t.host_options({}, false, false);
      host.transpose_b = true;
      const cuda::Stream own;
      for (int round = 0; round < rounds; ++round) t.put(own.get(), host);
      own.synchronize();
    });
  all.clear();
  for (std::size_t i = 0; i < wanted.size(); ++i)
    on_gpu::expect_same_bits(trials[i].device_c.fetched(), wanted[i], std::to_string(i));
}

TEST_F(EnqueueOnGpu, SeveralThreadsWithStreamsOfTheirOwn) {
  constexpr int threads = 4, rounds = 40;
  const Trial<bf16, bf16, bf16> one(sizes[1]);
  const Options host = one.host_options({}, false, false);
  const std::vector<bf16> wanted = one.wanted(host);
  std::atomic<int> wrong = 0, done = 0;
  std::vector<std::jthread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&] {
      try {
        const Trial<bf16, bf16, bf16> own(sizes[1]);
        const Trial<bf16, bf16, bf16> other(sizes[2]);  // so that what is lent changes hands
        const cuda::Stream stream;
        for (int round = 0; round < rounds; ++round) {
          own.put(stream.get(), host);
          other.put(stream.get(), host);
        }
        own.put(stream.get(), host);
        stream.synchronize();
        const std::vector<bf16> got = own.device_c.fetched();
        if (std::memcmp(got.data(), wanted.data(), got.size() * sizeof(bf16)) != 0) ++wrong;
        ++done;
      } catch (const Error&) {  // counted below
      }
    });
  all.clear();
  EXPECT_EQ(done, threads);
  EXPECT_EQ(wrong, 0);
}

TEST_F(EnqueueOnGpu, RepeatedCallsNeitherSynchronizeNorAllocate) {
  const Trial<bf16, bf16, bf16> few(sizes[1]), split(sizes[2]);
  const Trial<float, float, float> plain(sizes[1]);
  const Options host = few.host_options({}, false, false);
  const on_gpu::GuardedMemory guarded(few.needed_workspace(host));
  const auto put_all = [&] {
    few.put(stream(), host);
    few.put(stream(), host, {guarded.bytes() == 0 ? nullptr : guarded.get(), guarded.bytes()});
    split.put(stream(), host);
    plain.put(stream(), host);
  };
  for (int warm = 0; warm < 3; ++warm) (void)on_gpu::comes_back_at_once(stream(), put_all);
  const std::size_t before = on_gpu::free_bytes();
  for (int round = 0; round < 20; ++round) {
    EXPECT_TRUE(on_gpu::comes_back_at_once(stream(), put_all)) << "round " << round;
    EXPECT_EQ(on_gpu::free_bytes(), before) << "round " << round;
  }
}

TEST_F(EnqueueOnGpu, ReportsErrors) {
  const Trial<bf16, bf16, bf16> t(sizes[0]);
  const auto [m, n, k] = t.s;
  const ConstMatrixView<bf16> a{t.device_a.read(), m, k}, b{t.device_b.read(), k, n};
  const MatrixView<bf16> c{t.device_c.get(), m, n};
  std::vector<bf16> host(m * k);
  const auto says = [&](ConstMatrixView<bf16> x, ConstMatrixView<bf16> y, MatrixView<bf16> z,
                        const Options& o = {}, const Workspace& w = {}) {
    return on_gpu::complaint_of([&] { enqueue<bf16>(stream(), x, y, z, o, w); });
  };
  EXPECT_EQ(says(a, b, c), "none");
  EXPECT_EQ(says({host.data(), m, k}, b, c), "A lies in host memory, but the work is for cuda:0");
  EXPECT_EQ(says(a, {nullptr, k, n}, c), "B has no data");
  EXPECT_EQ(says(a, {a.data, k, m}, {t.device_a.get(), m, m}),
            "C overlaps A in memory; outputs must not alias other arrays");
  EXPECT_EQ(says(a, b, c, {.scale_a = {reinterpret_cast<const float*>(host.data())}}),
            "scale-a lies in host memory, but the work is for cuda:0");
  auto* const odd = reinterpret_cast<bf16*>(reinterpret_cast<char*>(c.data) + 1);
  EXPECT_EQ(says(a, b, {odd, m, n}), "C is not aligned to its elements");
  EXPECT_EQ(says(a, b, {c.data, m, n - 1, n}), "C is 256 × 383 of bf16, but must be 256 × 384 of bf16");
  Options cublas;
  cublas.request.variant = "cublas";
  EXPECT_NE(says(a, b, c, cublas), "none") << "a baseline, which waits";
  const std::size_t bytes = t.needed_workspace({});
  if (bytes != 0) {
    EXPECT_EQ(says(a, b, c, {}, {host.data(), bytes}).substr(0, 13), "the workspace");
    EXPECT_EQ(says(a, b, c, {}, {reinterpret_cast<char*>(t.device_a.get()) + 2, bytes}),
              "the workspace is not aligned to 256 bytes");
    EXPECT_EQ(says(a, b, c, {}, {t.device_a.get(), bytes}), "the workspace overlaps A");
  }
  int count = 0;
  cuda::check(cudaGetDeviceCount(&count));
  if (count < 2) return;
  const cuda::OnDevice second(1);
  const cuda::Stream elsewhere;
  EXPECT_EQ(on_gpu::complaint_of([&] { enqueue<bf16>(elsewhere.get(), a, b, c); }),
            "the stream is of cuda:1, not of cuda:0");
}

}  // namespace
}  // namespace tessera::matmul
