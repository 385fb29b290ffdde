// SPDX-License-Identifier: Apache-2.0
// A product, or a batch of one size, planned with cuBLASLt: the fastest of the algorithms that it proposes,
// tried on the product itself or on copies that exceed the L2; and the baseline variants made of that.
#pragma once
#include <map>
#include "ops/matmul/baselines/cublas_lt.cuh"
#include "tessera/core/device.hpp"
#include "tessera/cuda/gpus.hpp"
#include "tessera/cuda/resources.hpp"

namespace tessera::matmul::lt {

class RotatingCopies {
 public:
  // 2.5 times the L2 together, one where the product alone is as large; filled in the order of the run's
  // stream.
  RotatingCopies(const Product& p, const Run& run)
      : product_(p),
        a_(span_bytes(p.a, p.batch, p.a_step)),
        b_(span_bytes(p.b, p.batch, p.b_step)),
        set_(a_ + b_ + span_bytes(p.c, p.batch, p.c_step)) {
    const std::size_t wanted =
        static_cast<std::size_t>(std::max<std::int64_t>(run.device->cache_bytes, 0)) / 2 * 5;
    count_ = std::max<std::size_t>(1, (wanted + set_ - 1) / set_);
    memory_ = cuda::DeviceBuffer(count_ * set_);
    const auto stream = static_cast<cudaStream_t>(run.stream);
    const auto copy = [stream](void* to, const void* from, std::size_t bytes) {
      cuda::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
    };
    copy(at(0), p.a.data, used_bytes(p.a, p.batch, p.a_step));
    copy(at(0) + a_, p.b.data, used_bytes(p.b, p.batch, p.b_step));
    for (std::size_t there = 1; there < count_; there *= 2)
      copy(at(there), at(0), std::min(there, count_ - there) * set_);
  }

  std::size_t count() const { return count_; }

  // The product on the next copy. A separate C0 stays where it is.
  Product next() {
    Product out = product_;
    char* const set = at(next_);
    next_ = (next_ + 1) % count_;
    out.a.data = set;
    out.b.data = set + a_;
    out.c.data = set + a_ + b_;
    if (!out.reads_c0) out.c0.data = out.c.data;
    return out;
  }

 private:
  static std::size_t used_bytes(const Described& x, std::int64_t batch, std::int64_t step) {
    const Stored s = *stored(x);
    const std::int64_t elements = (s.cols - 1) * s.leading + s.rows + (batch - 1) * step;
    return static_cast<std::size_t>(elements) * size_of(x.element);
  }
  // As aligned as memory of the device is.
  static std::size_t span_bytes(const Described& x, std::int64_t batch, std::int64_t step) {
    return (used_bytes(x, batch, step) + 255) / 256 * 256;
  }
  char* at(std::size_t set) const { return static_cast<char*>(memory_.get()) + set * set_; }

  Product product_;
  std::size_t a_, b_, set_, count_ = 1, next_ = 0;
  cuda::DeviceBuffer memory_;
};

// A product, or many of one size, described to cuBLASLt once, with the fastest of the algorithms that it
// proposes.

inline constexpr std::size_t workspace_bytes = std::size_t{64} << 20;

inline std::uint32_t alignment_of(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address);
  return static_cast<std::uint32_t>(std::min<std::uintptr_t>(bits & (~bits + 1), 256));
}

// What two products must share to be served by one plan.
using Shape = std::array<std::int64_t, 34>;

inline Shape shape_of(const Product& p, const Run& run) {
  const auto a = *stored(p.a), b = *stored(p.b), c = *stored(p.c), c0 = *stored(p.c0);
  const auto of = [](Element element) { return static_cast<std::int64_t>(element); };
  return {run.device->index,
          p.compute,
          p.scale,
          of(p.a.element),
          of(p.b.element),
          of(p.c.element),
          p.m(),
          p.n(),
          p.k(),
          a.transposed,
          b.transposed,
          a.leading,
          b.leading,
          c0.leading,
          c.leading,
          p.reads_c0,
          alignment_of(p.a.data),
          alignment_of(p.b.data),
          alignment_of(p.c0.data),
          alignment_of(p.c.data),
          of(p.bias_element),
          p.bias != nullptr,
          p.scale_a != nullptr,
          p.scale_a_step != 0,
          p.scale_b != nullptr,
          p.fast,
          static_cast<std::int64_t>(p.activation),
          p.batch,
          p.a_step,
          p.b_step,
          p.c0_step,
          p.c_step,
          p.bias_step,
          static_cast<std::int64_t>(run.workspace_bytes)};
}

inline cublasLtEpilogue_t epilogue_of(const Product& p) {
  const bool bias = p.bias != nullptr;
  switch (p.activation) {
    case Activation::relu:
      return bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case Activation::gelu_tanh:
      return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    default:
      return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  }
}

// With the addresses of this product's bias and scales.
inline Owned<cublasLtMatmulDesc_t> describe(const Product& p) {
  auto out = make_desc(p.compute, p.scale, stored(p.a)->transposed, stored(p.b)->transposed);
  const auto set = [&out](cublasLtMatmulDescAttributes_t attribute, auto value) {
    check(library().set_desc(out.get(), attribute, &value, sizeof value));
  };
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(p));
  if (is_fp8(p.a.element)) set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(p.fast));
  if (p.bias != nullptr) {
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<std::int32_t>(type_of(p.bias_element)));
    if (p.batch > 1) set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, p.bias_step);
  }
  if (p.scale_a != nullptr) {
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, p.scale_a);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, p.scale_b);
  }
  if (p.scale_a == nullptr || p.scale_a_step == 0) return out;
#if CUBLAS_VERSION >= 120900
  const auto each = static_cast<std::int32_t>(CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
  set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, each);
  set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, each);
#else
  throw Error(Error::Kind::internal, "this cuBLASLt has no scale for each row");
#endif
  return out;
}

inline Owned<cublasLtMatrixLayout_t> layout(const Described& matrix, std::int64_t batch, std::int64_t step) {
  const Stored s = *stored(matrix);
  auto out = make_layout(type_of(matrix.element), s.rows, s.cols, s.leading);
  if (batch > 1) set_batch(out.get(), batch, step);
  return out;
}

// Of a name, which the library's types lack: nvcc 13.0 ends with an internal error at vectors of those.
struct Algorithm {
  cublasLtMatmulAlgo_t algo;
};

// How the library's algorithms are compared: not at all, which leaves its first; on the product itself, which
// the L2 may hold; on copies that take turns, which it does not hold.
enum class Tries { none, in_place, rotated };

// A product described to the library, with the fastest of its algorithms. It holds no address that it uses
// for another product.
class Plan {
 public:
  Plan(const Product& p, const Run& run, Tries tries)
      : handle_(handle_of(run.device->index)),
        desc_(describe(p)),
        a_(layout(p.a, p.batch, p.a_step)),
        b_(layout(p.b, p.batch, p.b_step)),
        c0_(layout(p.c0, p.batch, p.c0_step)),
        c_(layout(p.c, p.batch, p.c_step)),
        candidates_(proposals(p, run)),
        algorithm_(tries == Tries::none ? candidates_.front().algo : fastest(p, run, tries)) {}

  void enqueue(const Product& p, const Run& run) const {
    const auto own = p.has_addresses() ? describe(p) : nullptr;
    check(enqueue(p, run, algorithm_, own ? own.get() : desc_.get()));
  }

 private:
  cublasStatus_t enqueue(const Product& p, const Run& run, const cublasLtMatmulAlgo_t& algorithm,
                         cublasLtMatmulDesc_t desc) const {
    return library().matmul(handle_, desc, p.alpha.bytes, p.a.data, a_.get(), p.b.data, b_.get(),
                            p.beta.bytes, p.c0.data, c0_.get(), const_cast<char*>(p.c.data), c_.get(),
                            &algorithm, run.workspace, run.workspace_bytes,
                            static_cast<cudaStream_t>(run.stream));
  }

  std::vector<Algorithm> proposals(const Product& p, const Run& run) const {
    const auto preference = make_preference(run.workspace_bytes);
    const auto aligned = [&](cublasLtMatmulPreferenceAttributes_t attribute, const void* address) {
      const std::uint32_t bytes = alignment_of(address);
      check(library().set_preference(preference.get(), attribute, &bytes, sizeof bytes));
    };
    aligned(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p.a.data);
    aligned(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, p.b.data);
    aligned(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, p.c0.data);
    aligned(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, p.c.data);
    cublasLtMatmulHeuristicResult_t found[200] = {};
    int count = 0;
    check(library().heuristics(handle_, desc_.get(), a_.get(), b_.get(), c0_.get(), c_.get(),
                               preference.get(), static_cast<int>(std::size(found)), found, &count));
    std::vector<Algorithm> out;
    for (int i = 0; i < count; ++i)
      if (found[i].state == CUBLAS_STATUS_SUCCESS) out.push_back({found[i].algo});
    if (out.empty()) throw Error(Error::Kind::internal, "cuBLASLt has no algorithm for this product");
    return out;
  }

  cublasLtMatmulAlgo_t fastest(const Product& p, const Run& run, Tries tries) const {
    // Where C is its own input, trying would add again and again.
    if (p.reads_c0 && p.c0.data == p.c.data) return candidates_.front().algo;
    std::unique_ptr<RotatingCopies> copies;
    if (tries == Tries::rotated) copies = std::make_unique<RotatingCopies>(p, run);
    const auto seconds_of = [&](const cublasLtMatmulAlgo_t& algorithm) {
      return copies ? timed(*copies, run, algorithm) : timed(p, run, algorithm);
    };
    const cublasLtMatmulAlgo_t* best = nullptr;
    double best_seconds = 0;
    for (const auto& candidate : candidates_) {
      // This also loads its code.
      if (enqueue(p, run, candidate.algo, desc_.get()) != CUBLAS_STATUS_SUCCESS) continue;
      double seconds = seconds_of(candidate.algo);
      const bool near = best == nullptr || seconds < 1.2 * best_seconds;
      for (int again = 0; near && again < 3; ++again) seconds = std::min(seconds, seconds_of(candidate.algo));
      if (best != nullptr && !(seconds < best_seconds)) continue;
      best = &candidate.algo;
      best_seconds = seconds;
    }
    if (best == nullptr)
      throw Error(Error::Kind::internal, "none of cuBLASLt's algorithms for this product ran");
    return *best;
  }

  double timed(const Product& p, const Run& run, const cublasLtMatmulAlgo_t& algorithm) const {
    const auto stream = static_cast<cudaStream_t>(run.stream);
    cuda::Event begin, end;
    begin.record(stream);
    check(enqueue(p, run, algorithm, desc_.get()));
    end.record(stream);
    end.synchronize();
    return end.seconds_since(begin);
  }

  // The mean of several copies, launched as a graph, so that the host's part in it does not count.
  double timed(RotatingCopies& copies, const Run& run, const cublasLtMatmulAlgo_t& algorithm) const {
    constexpr std::size_t most = 32;
    const std::size_t launches = std::min(most, copies.count());
    const auto stream = static_cast<cudaStream_t>(run.stream);
    const cuda::Graph graph(stream, [&] {
      for (std::size_t i = 0; i < launches; ++i) check(enqueue(copies.next(), run, algorithm, desc_.get()));
    });
    cuda::Event begin, end;
    begin.record(stream);
    graph.launch(stream);
    end.record(stream);
    end.synchronize();
    return end.seconds_since(begin) / static_cast<double>(launches);
  }

  cublasLtHandle_t handle_;
  Owned<cublasLtMatmulDesc_t> desc_;
  Owned<cublasLtMatrixLayout_t> a_, b_, c0_, c_;
  std::vector<Algorithm> candidates_;
  cublasLtMatmulAlgo_t algorithm_;  // last: finding it uses the others
};

// One value for each shape seen, made under a lock: searches would disturb each other.
template <class Value>
class Known {
 public:
  template <class Make>
  Value of(const Shape& shape, const Make& make) {
    constexpr std::size_t most = 512;
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(shape); found != known_.end()) return found->second;
    if (known_.size() >= most) known_.clear();
    return known_.emplace(shape, make()).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<Shape, Value> known_;
};

inline Reason needs_library(const Device&) {
  if (library().absent.empty()) return std::nullopt;
  return library().absent;
}

// Which products the library computes, only the library can tell.
inline Reason not_proposed(const Product& p, const Device& device) {
  static Known<Reason> known;
  const Run run{&device, nullptr, nullptr, workspace_bytes};
  return known.of(shape_of(p, run), [&]() -> Reason {
    const cuda::OnDevice on_device(device.index);
    try {
      (void)Plan(p, run, Tries::none);
    } catch (const Error& error) {
      return error.what();
    }
    return std::nullopt;
  });
}

// The baseline of an operation. product_of(arguments): what the library is given.
template <auto product_of>
struct Baseline {
  static bool is_empty(const Product& p) { return p.batch == 0 || p.m() == 0 || p.n() == 0; }

  static Reason refuses(const Arguments& arguments, const Tuning&, const Device& device) {
    const Product given = product_of(arguments);
    if (is_empty(given)) return std::nullopt;
    if (Reason reason = lt::refuses(given)) return reason;
    const bool classical = (given.a.element == Element::f64 || given.a.element == Element::f32) &&
                           !given.has_addresses() && given.activation == Activation::none;
    return classical && given.batch == 1 ? std::nullopt : not_proposed(given.with_columns(), device);
  }

  template <Tries tries>
  static void run(const Arguments& arguments, const Tuning&, Run& run) {
    static Known<std::shared_ptr<const Plan>> known;
    const Product given = product_of(arguments);
    if (is_empty(given)) return;
    const cuda::OnDevice on_device(run.device->index);
    const Product p = given.with_columns();
    known.of(shape_of(p, run), [&] { return std::make_shared<const Plan>(p, run, tries); })->enqueue(p, run);
  }

  template <Tries tries>
  static Choice choice(Tuning tuning) {
    Choice out;
    out.tuning = std::move(tuning);
    for (const Element element :
         {Element::f32, Element::f64, Element::bf16, Element::f16, Element::e4m3, Element::e5m2, Element::i8})
      out.run[element] = run<tries>;
    out.cannot_hold = [](const Arguments& arguments) -> Reason {
      return arguments.element() == Element::f64 ? Problem<double>::cannot_hold(arguments) : std::nullopt;
    };
    out.workspace_bytes = [](const Arguments&, const Tuning&) { return lt::workspace_bytes; };
    out.refuses = refuses;
    return out;
  }

  static Variant variant(const char* idea, std::vector<Choice> choices) {
    Variant out;
    out.idea = idea;
    out.where = Where::cuda;
    out.baseline = true;
    out.needs = needs_library;
    out.choices = std::move(choices);
    return out;
  }
};

}  // namespace tessera::matmul::lt
