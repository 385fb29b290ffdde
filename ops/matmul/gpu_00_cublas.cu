// SPDX-License-Identifier: Apache-2.0
// The yardstick: cuBLASLt. Its first guess is not always its best, so every algorithm that it
// proposes for a shape is tried once, and the fastest is kept.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include "cublas_lt.cuh"
#include "matmul.hpp"
#include "tessera/cuda/device.hpp"
#include "tessera/cuda/event.hpp"
#include "tessera/rung.hpp"

namespace tessera::matmul {
namespace {

constexpr std::size_t workspace_bytes = std::size_t{64} << 20;

// A matrix as the library wants it: columns one after another, or the transpose of such a one.
struct Stored {
  bool transposed = false;
  std::int64_t rows = 0, cols = 0, leading = 0;  // as they lie, before transposing
};

template <class T>
std::optional<Stored> stored(const Matrix<T>& x) {
  const std::int64_t r = x.rows(), c = x.cols();
  const auto fits = [](std::int64_t length, std::int64_t step, std::int64_t count, std::int64_t apart) {
    return (length <= 1 || step == 1) && (count <= 1 || apart >= std::max<std::int64_t>(length, 1));
  };
  const auto leading = [](std::int64_t length, std::int64_t count, std::int64_t apart) {
    return count <= 1 ? std::max<std::int64_t>(length, 1) : apart;
  };
  if (fits(r, x.stride[0], c, x.stride[1])) return Stored{false, r, c, leading(r, c, x.stride[1])};
  if (fits(c, x.stride[1], r, x.stride[0])) return Stored{true, c, r, leading(c, r, x.stride[0])};
  return std::nullopt;
}

template <class T>
Matrix<T> transpose(Matrix<T> x) {
  std::swap(x.extent[0], x.extent[1]);
  std::swap(x.stride[0], x.stride[1]);
  return x;
}

// The library writes columns. Where C has rows, its transpose has columns: Cᵀ = Bᵀ·Aᵀ.
template <class T>
Problem<T> with_columns(const Problem<T>& p) {
  const auto c = stored(p.c);
  if (!c || !c->transposed) return p;
  Problem<T> out = p;
  out.a = transpose(p.b);
  out.b = transpose(p.a);
  out.c = transpose(p.c);
  if (p.beta != T{0}) out.c0 = transpose(p.c0);
  return out;
}

template <class T>
Reason refuses(const Problem<T>& given) {
  if (given.m() == 0 || given.n() == 0) return std::nullopt;
  if (given.k() == 0) return "cuBLASLt takes no empty sum (k = 0 or alpha = 0)";
  constexpr std::int64_t most = 2147483647;
  if (std::max({given.m(), given.n(), given.k()}) > most)
    return "cuBLASLt counts rows and columns in 32 bits";
  const Problem<T> p = with_columns(given);
  const auto c = stored(p.c);
  if (!stored(p.a) || !stored(p.b) || !c)
    return "cuBLASLt wants the elements of each row, or column, next to each other";
  if (p.beta == T{0}) return std::nullopt;
  const auto c0 = stored(p.c0);
  if (!c0 || c0->transposed) return "cuBLASLt wants C0 in the same order as C";
  return std::nullopt;
}

template <class T>
struct Numbers;
template <>
struct Numbers<float> {
  static constexpr cudaDataType_t type = CUDA_R_32F;
  static constexpr cublasComputeType_t compute = CUBLAS_COMPUTE_32F;  // no TF32
};
template <>
struct Numbers<double> {
  static constexpr cudaDataType_t type = CUDA_R_64F;
  static constexpr cublasComputeType_t compute = CUBLAS_COMPUTE_64F;
};

std::uint32_t alignment_of(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address);
  return static_cast<std::uint32_t>(std::min<std::uintptr_t>(bits & (~bits + 1), 256));
}

// What two problems must share to be served by one plan.
using Shape = std::array<std::int64_t, 16>;

// C0; where β = 0 it is not read, but the library wants an address.
template <class T>
const T* c0_of(const Problem<T>& p) {
  return p.beta != T{0} ? p.c0.data : p.c.data;
}

// A product described to the library, with the fastest of its algorithms. It holds no address.
template <class T>
class Plan {
 public:
  Plan(const Problem<T>& p, const Run& run)
      : handle_(lt::handle_of(run.device->index)),
        desc_(lt::make_desc(Numbers<T>::compute, Numbers<T>::type, stored(p.a)->transposed,
                            stored(p.b)->transposed)),
        a_(layout(p.a)),
        b_(layout(p.b)),
        c0_(p.beta != T{0} ? layout(p.c0) : layout(p.c)),
        c_(layout(p.c)),
        algorithm_(fastest(p, run)) {}

  static Shape shape(const Problem<T>& p, const Run& run) {
    const Stored a = *stored(p.a), b = *stored(p.b), c = *stored(p.c),
                 c0 = p.beta != T{0} ? *stored(p.c0) : c;
    return {run.device->index,
            Numbers<T>::type,
            p.m(),
            p.n(),
            p.k(),
            a.transposed,
            b.transposed,
            a.leading,
            b.leading,
            c0.leading,
            c.leading,
            p.beta != T{0},
            alignment_of(p.a.data),
            alignment_of(p.b.data),
            alignment_of(c0_of(p)),
            alignment_of(p.c.data)};
  }

  void enqueue(const Problem<T>& p, const Run& run) const { lt::check(enqueue(p, run, algorithm_)); }

 private:
  template <class M>
  static lt::Owned<cublasLtMatrixLayout_t> layout(const M& matrix) {
    const Stored s = *stored(matrix);
    return lt::make_layout(Numbers<T>::type, s.rows, s.cols, s.leading);
  }

  cublasStatus_t enqueue(const Problem<T>& p, const Run& run, const cublasLtMatmulAlgo_t& algorithm) const {
    return lt::library().matmul(handle_, desc_.get(), &p.alpha, p.a.data, a_.get(), p.b.data, b_.get(),
                                &p.beta, c0_of(p), c0_.get(), p.c.data, c_.get(), &algorithm, run.workspace,
                                run.workspace_bytes, static_cast<cudaStream_t>(run.stream));
  }

  std::vector<cublasLtMatmulHeuristicResult_t> proposals(const Problem<T>& p, const Run& run) const {
    const auto preference = lt::make_preference(run.workspace_bytes);
    const auto aligned = [&](cublasLtMatmulPreferenceAttributes_t attribute, const void* address) {
      const std::uint32_t bytes = alignment_of(address);
      lt::check(lt::library().set_preference(preference.get(), attribute, &bytes, sizeof bytes));
    };
    aligned(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p.a.data);
    aligned(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, p.b.data);
    aligned(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c0_of(p));
    aligned(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, p.c.data);
    std::vector<cublasLtMatmulHeuristicResult_t> out(64);
    int count = 0;
    lt::check(lt::library().heuristics(handle_, desc_.get(), a_.get(), b_.get(), c0_.get(), c_.get(),
                                       preference.get(), static_cast<int>(out.size()), out.data(), &count));
    out.resize(static_cast<std::size_t>(count));
    std::erase_if(out, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
    if (out.empty()) throw Error(Error::Kind::internal, "cuBLASLt has no algorithm for this product");
    return out;
  }

  cublasLtMatmulAlgo_t fastest(const Problem<T>& p, const Run& run) const {
    const auto candidates = proposals(p, run);
    // Where C is its own input, trying would add again and again.
    if (static_cast<const void*>(p.c0.data) == p.c.data && p.beta != T{0}) return candidates.front().algo;
    const cublasLtMatmulAlgo_t* best = nullptr;
    double best_seconds = 0;
    for (const auto& candidate : candidates) {
      if (enqueue(p, run, candidate.algo) != CUBLAS_STATUS_SUCCESS) continue;  // this also loads its code
      double seconds = timed(p, run, candidate.algo);
      const bool near = best == nullptr || seconds < 1.2 * best_seconds;
      for (int again = 0; near && again < 3; ++again)
        seconds = std::min(seconds, timed(p, run, candidate.algo));
      if (best != nullptr && !(seconds < best_seconds)) continue;
      best = &candidate.algo;
      best_seconds = seconds;
    }
    if (best == nullptr)
      throw Error(Error::Kind::internal, "none of cuBLASLt's algorithms for this product ran");
    return *best;
  }

  double timed(const Problem<T>& p, const Run& run, const cublasLtMatmulAlgo_t& algorithm) const {
    const auto stream = static_cast<cudaStream_t>(run.stream);
    cuda::Event begin, end;
    begin.record(stream);
    lt::check(enqueue(p, run, algorithm));
    end.record(stream);
    end.synchronize();
    return end.seconds_since(begin);
  }

  cublasLtHandle_t handle_;
  lt::Owned<cublasLtMatmulDesc_t> desc_;
  lt::Owned<cublasLtMatrixLayout_t> a_, b_, c0_, c_;
  cublasLtMatmulAlgo_t algorithm_;  // last: finding it uses the others
};

// The plan of each shape seen. One search at a time: they would disturb each other.
template <class T>
std::shared_ptr<const Plan<T>> plan_for(const Problem<T>& p, const Run& run) {
  static std::mutex mutex;
  static std::map<Shape, std::shared_ptr<const Plan<T>>> known;
  constexpr std::size_t most = 512;
  const std::lock_guard lock(mutex);
  const Shape shape = Plan<T>::shape(p, run);
  if (const auto found = known.find(shape); found != known.end()) return found->second;
  if (known.size() >= most) known.clear();
  const auto made = std::make_shared<const Plan<T>>(p, run);
  known.emplace(shape, made);
  return made;
}

template <class T>
void run(const Problem<T>& given, const Tuning&, Run& run) {
  if (given.m() == 0 || given.n() == 0) return;
  const cuda::OnDevice on_device(run.device->index);
  const Problem<T> p = with_columns(given);
  plan_for(p, run)->enqueue(p, run);
}

Variant cublas() {
  Variant out;
  out.idea = "cuBLASLt, the fastest of its heuristics for this shape";
  out.where = Where::cuda;
  out.yardstick = true;
  out.needs = [](const Device&) -> Reason {
    if (lt::library().absent.empty()) return std::nullopt;
    return lt::library().absent;
  };
  Choice choice = choice_of<Problem, Types<float, double>>(
      []<class T>(const Problem<T>& p, const Tuning& tuning, Run& here) { run(p, tuning, here); });
  choice.workspace_bytes = [](const Arguments&, const Tuning&) { return workspace_bytes; };
  choice.refuses = [](const Arguments& arguments, const Tuning&, const Device&) -> Reason {
    if (arguments.element() == Element::f64) return refuses(Problem<double>::of(arguments));
    if (arguments.element() == Element::f32) return refuses(Problem<float>::of(arguments));
    return "cuBLASLt has no product of these elements";
  };
  out.choices.push_back(std::move(choice));
  return out;
}

const Rung rung(cublas());

}  // namespace
}  // namespace tessera::matmul
