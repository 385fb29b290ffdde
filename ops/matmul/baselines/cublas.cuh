// SPDX-License-Identifier: Apache-2.0
// cuBLASLt as a baseline: the library, loaded on first use (the program starts without it and reports why it
// is missing); its description of a product, or of a batch of one size; the fastest of the algorithms that it
// proposes, tried on the product itself or on sets of its arrays that exceed the L2; and the variants.
#pragma once
#include <algorithm>
#include <array>
#include <cstring>
#include <cublasLt.h>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>
#include "ops/matmul/matmul.hpp"
#include "ops/matmul/gemm/operands.hpp"
#include "ops/matmul/gemm/mixed_problem.hpp"
#include "tessera/baseline.hpp"
#include "tessera/bench/rotation.hpp"
#include "tessera/core/text/error.hpp"
#include "tessera/core/device/device.hpp"
#include "tessera/cuda/dynamic_library.hpp"
#include "tessera/cuda/gpus.hpp"
#include "tessera/run/public_call.hpp"

namespace tessera::matmul::lt {

struct Library {
  cuda::DynamicLibrary file{{"libcublasLt.so.13", "libcublasLt.so.12"}, cuda::toolkit_folders};
  decltype(&cublasLtCreate) create = file.required("cublasLtCreate");
  decltype(&cublasLtGetStatusString) status_string = file.required("cublasLtGetStatusString");
  decltype(&cublasLtGetVersion) version = file.required("cublasLtGetVersion");
  decltype(&cublasLtMatmul) matmul = file.required("cublasLtMatmul");
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristics = file.required("cublasLtMatmulAlgoGetHeuristic");
  decltype(&cublasLtMatmulDescCreate) create_desc = file.required("cublasLtMatmulDescCreate");
  decltype(&cublasLtMatmulDescDestroy) destroy_desc = file.required("cublasLtMatmulDescDestroy");
  decltype(&cublasLtMatmulDescSetAttribute) set_desc = file.required("cublasLtMatmulDescSetAttribute");
  decltype(&cublasLtMatrixLayoutCreate) create_layout = file.required("cublasLtMatrixLayoutCreate");
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout = file.required("cublasLtMatrixLayoutDestroy");
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout = file.required("cublasLtMatrixLayoutSetAttribute");
  decltype(&cublasLtMatmulPreferenceCreate) create_preference =
      file.required("cublasLtMatmulPreferenceCreate");
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference =
      file.required("cublasLtMatmulPreferenceDestroy");
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference =
      file.required("cublasLtMatmulPreferenceSetAttribute");
  std::string absent;  // why there is none; empty: loaded

  Library() {
    if (!file.found()) absent = "cuBLASLt was not found (libcublasLt.so.13 or .12)";
    else if (!file.missing().empty()) absent = "this cuBLASLt has no " + file.missing();
  }
};

inline const Library& library() {
  static const Library loaded;
  return loaded;
}

inline void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw Error(Error::Kind::internal, std::string("cuBLASLt: ") + library().status_string(status));
}

// Deleters of the library's descriptors.
struct Destroy {
  void operator()(cublasLtMatmulDesc_t d) const noexcept { (void)library().destroy_desc(d); }
  void operator()(cublasLtMatrixLayout_t d) const noexcept { (void)library().destroy_layout(d); }
  void operator()(cublasLtMatmulPreference_t d) const noexcept { (void)library().destroy_preference(d); }
};
template <class Pointer>
using Owned = std::unique_ptr<std::remove_pointer_t<Pointer>, Destroy>;

// Returns the library's handle for the current device, whose index is `device`. Kept until the process ends.
inline cublasLtHandle_t handle_of(int device) {
  static std::mutex mutex;
  static std::vector<cublasLtHandle_t> handles;
  const std::lock_guard lock(mutex);
  const auto at = static_cast<std::size_t>(device);
  if (handles.size() <= at) handles.resize(at + 1, nullptr);
  if (handles[at] == nullptr) check(library().create(&handles[at]));
  return handles[at];
}

// The description of any product for cuBLASLt, one type for all elements.

inline cudaDataType_t type_of(Element element) {
  switch (element) {
    case Element::f64:
      return CUDA_R_64F;
    case Element::f16:
      return CUDA_R_16F;
    case Element::bf16:
      return CUDA_R_16BF;
    case Element::e4m3:
      return CUDA_R_8F_E4M3;
    case Element::e5m2:
      return CUDA_R_8F_E5M2;
    case Element::i8:
      return CUDA_R_8I;
    case Element::i32:
      return CUDA_R_32I;
    default:
      return CUDA_R_32F;
  }
}

struct Described : Matrix<const char> {
  Element element = Element::f32;

  static Described of(const void* data, Element element, std::int64_t rows, std::int64_t cols,
                      std::int64_t row, std::int64_t col) {
    Described out;
    static_cast<Matrix<const char>&>(out) = {static_cast<const char*>(data), {rows, cols}, {row, col}};
    out.element = element;
    return out;
  }
  Described transposed() const { return of(data, element, cols(), rows(), stride[1], stride[0]); }
};

// A matrix in the library's form: column-major, or the transpose of a column-major one.
struct Stored {
  bool transposed = false;
  std::int64_t rows = 0, cols = 0, leading = 0;  // the stored matrix, before transposing
};

inline std::optional<Stored> stored(const Described& x) {
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

// α or β in the type of the scale.
struct Scalar {
  alignas(8) char bytes[8] = {};
  template <class T>
  void set(T value) {
    std::memcpy(bytes, &value, sizeof value);
  }
};

struct Product {
  Described a, b, c0, c;  // c0 = c if β = 0: it is not read, but the library requires an address
  bool reads_c0 = false;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale = CUDA_R_32F;
  Scalar alpha, beta;

  MixedProblem after;  // only its epilogue and `fast` are used

  // Batch size, and strides in elements from one entry to the next.
  bool batched = false;
  std::int64_t batch = 1, a_step = 0, b_step = 0, c0_step = 0, c_step = 0, bias_step = 0;

  std::int64_t m() const { return c.rows(); }
  std::int64_t n() const { return c.cols(); }
  std::int64_t k() const { return a.cols(); }
  bool has_addresses() const {
    return after.bias != nullptr || after.scale_a != nullptr || after.scale_b != nullptr;
  }

  Product transposed() const {
    Product out = *this;
    out.a = b.transposed();
    out.b = a.transposed();
    out.c = c.transposed();
    out.c0 = c0.transposed();
    std::swap(out.a_step, out.b_step);
    out.after = after.transposed();
    return out;
  }
  // Returns the product with a column-major C, as the library requires: for a row-major C, Cᵀ = Bᵀ·Aᵀ.
  Product with_columns() const {
    const auto s = stored(c);
    return s && s->transposed ? transposed() : *this;
  }
};

template <class T>
Product plain_product(const Problem<T>& p) {
  Product out;
  const auto take = [](const auto& x) {
    return Described::of(x.data, element_of<T>, x.rows(), x.cols(), x.stride[0], x.stride[1]);
  };
  out.a = take(p.a);
  out.b = take(p.b);
  out.c = take(p.c);
  out.reads_c0 = p.beta != T{0};
  out.c0 = out.reads_c0 ? take(p.c0) : out.c;
  out.alpha.set(p.alpha);
  out.beta.set(p.beta);
  if (std::is_same_v<T, double>) out.compute = CUBLAS_COMPUTE_64F, out.scale = CUDA_R_64F;
  return out;
}

inline Product mixed_product(const MixedProblem& p) {
  Product out;
  out.a = Described::of(p.a.data, p.a.element, p.m, p.k, p.a.row_stride, p.a.col_stride);
  out.b = Described::of(p.b.data, p.b.element, p.k, p.n, p.b.row_stride, p.b.col_stride);
  out.c = Described::of(p.c, p.c_element, p.m, p.n, p.c_row_stride, p.c_col_stride);
  out.reads_c0 = p.beta != 0;
  out.c0 = out.reads_c0 ? Described::of(p.c0.data, p.c0.element, p.m, p.n, p.c0.row_stride, p.c0.col_stride)
                        : out.c;
  if (p.a.element == Element::i8) out.compute = CUBLAS_COMPUTE_32I;
  else if (p.compute == Compute::tf32) out.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  if (p.c_element == Element::i32) {
    out.scale = CUDA_R_32I;
    out.alpha.set(static_cast<std::int32_t>(p.alpha));
    out.beta.set(static_cast<std::int32_t>(p.beta));
  } else {
    out.alpha.set(p.alpha);
    out.beta.set(p.beta);
  }
  out.after = p;
  return out;
}

// Describes a product. Plain products of f64 and strict f32 do not use the mixed description.
inline Product product_of(const Arguments& arguments) {
  if (arguments.element() == Element::f64) return plain_product(Problem<double>::of(arguments));
  if (is_plain(arguments) && arguments.text("compute") == "strict")
    return plain_product(Problem<float>::of(arguments));
  return mixed_product(MixedProblem::of(arguments));
}

// Refuses the epilogues that the library's documentation excludes, in its terms: D is column-major.
inline Reason cannot_follow(const Product& p) {
  const auto activation = p.after.post_op.only_activation();
  if (!activation) return "cuBLASLt supports activations only";
  if (*activation == Activation::gelu)
    return "cuBLASLt's GELU is the approximation by tanh (--activation gelu-tanh)";
  if (*activation == Activation::silu) return "cuBLASLt has no SiLU";
  if (p.after.bias != nullptr &&
      ((p.c.rows() > 1 && p.after.bias_row_stride != 1) || (p.c.cols() > 1 && p.after.bias_col_stride != 0)))
    return "cuBLASLt adds a bias only along what it writes in a piece: one number for each column of a "
           "row-major C";
  const bool scaled = p.after.scale_a != nullptr || p.after.scale_b != nullptr;
  if (scaled && !is_fp8(p.a.element)) return "cuBLASLt scales 8-bit floats only";
  const auto bad_step = [](const float* scale, std::int64_t step, std::int64_t count) {
    return scale != nullptr && step > 1 && count > 1;
  };
  if (bad_step(p.after.scale_a, p.after.scale_a_stride, p.m()) ||
      bad_step(p.after.scale_b, p.after.scale_b_stride, p.n()))
    return "cuBLASLt wants scales next to each other";
  if (scaled && (p.after.scale_a == nullptr || p.after.scale_b == nullptr ||
                 (p.after.scale_a_stride == 0) != (p.after.scale_b_stride == 0)))
    return "cuBLASLt requires scales of the same kind for both operands";
  return std::nullopt;
}

inline Reason needs_of_bytes(const Product& p, const Stored& a, const Stored& b, const Stored& c) {
  if (size_of(p.a.element) != 1) return std::nullopt;
  if (!a.transposed || b.transposed)
    return "cuBLASLt requires K-major operands for 8-bit elements (--op-b transpose)";
  const std::int64_t unit = is_fp8(p.a.element) ? 16 : 4;
  const auto aligned = [unit](std::int64_t count, Element element) {
    return count * static_cast<std::int64_t>(size_of(element)) % unit == 0;
  };
  if (!aligned(a.leading, p.a.element) || !aligned(b.leading, p.b.element) ||
      !aligned(c.leading, p.c.element) || !aligned(p.k(), p.a.element))
    return "cuBLASLt wants rows of " + std::string(name_of(p.a.element)) +
           ", and of their product, to begin at multiples of " + std::to_string(unit) + " bytes";
  return std::nullopt;
}

inline Reason refuses(const Product& given) {
  if (given.m() == 0 || given.n() == 0) return std::nullopt;
  if (given.k() == 0) return "cuBLASLt takes no empty sum (k = 0 or alpha = 0)";
  constexpr std::int64_t most = 2147483647;
  if (std::max({given.m(), given.n(), given.k()}) > most)
    return "cuBLASLt counts rows and columns in 32 bits";
  if (given.batch > most) return "cuBLASLt counts entries in 32 bits";
  if (given.batched && (given.after.scale_a != nullptr || given.after.scale_b != nullptr))
    return "cuBLASLt has no scales for each entry of a batch";
  const Product p = given.with_columns();
  const auto a = stored(p.a), b = stored(p.b), c = stored(p.c);
  if (!a || !b || !c) return "cuBLASLt wants the elements of each row, or column, next to each other";
  if (p.reads_c0) {
    const auto c0 = stored(p.c0);
    if (!c0 || c0->transposed) return "cuBLASLt wants C0 in the same order as C";
  }
  if (Reason reason = cannot_follow(p)) return reason;
  return needs_of_bytes(p, *a, *b, *c);
}

// A product, or a batch of one size, described to cuBLASLt once, with the fastest of the algorithms that it
// proposes.

inline constexpr std::size_t workspace_bytes = std::size_t{64} << 20;

inline std::uint32_t alignment_of(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address);
  return static_cast<std::uint32_t>(std::min<std::uintptr_t>(bits & (~bits + 1), 256));
}

// The key of a plan: products with equal keys share a plan.
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
          of(p.after.bias_element),
          p.after.bias != nullptr,
          p.after.scale_a != nullptr,
          p.after.scale_a_stride != 0,
          p.after.scale_b != nullptr,
          p.after.fast,
          static_cast<std::int64_t>(p.after.post_op.activation),
          p.batch,
          p.a_step,
          p.b_step,
          p.c0_step,
          p.c_step,
          p.bias_step,
          static_cast<std::int64_t>(run.workspace_bytes)};
}

inline cublasLtEpilogue_t epilogue_of(const Product& p) {
  const bool bias = p.after.bias != nullptr;
  switch (p.after.post_op.activation) {
    case Activation::relu:
      return bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case Activation::gelu_tanh:
      return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    default:
      return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  }
}

// Returns the descriptor, with the addresses of this product's bias and scales.
inline Owned<cublasLtMatmulDesc_t> describe(const Product& p) {
  cublasLtMatmulDesc_t made = nullptr;
  check(library().create_desc(&made, p.compute, p.scale));
  Owned<cublasLtMatmulDesc_t> out(made);
  const auto set = [made](cublasLtMatmulDescAttributes_t attribute, auto value) {
    check(library().set_desc(made, attribute, &value, sizeof value));
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, stored(p.a)->transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, stored(p.b)->transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(p));
  if (is_fp8(p.a.element)) set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(p.after.fast));
  if (p.after.bias != nullptr) {
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.after.bias);
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<std::int32_t>(type_of(p.after.bias_element)));
    if (p.batch > 1) set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, p.bias_step);
  }
  if (p.after.scale_a != nullptr) {
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, p.after.scale_a);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, p.after.scale_b);
  }
  if (p.after.scale_a == nullptr || p.after.scale_a_stride == 0) return out;
#if CUBLAS_VERSION >= 120900
  const auto each = static_cast<std::int32_t>(CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
  set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, each);
  set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, each);
#else
  throw Error(Error::Kind::internal, "this cuBLASLt has no scale for each row");
#endif
  return out;
}

// Column-major, with columns `leading` elements apart; of a batch, matrices `step` elements apart, or one for
// all if that is 0.
inline Owned<cublasLtMatrixLayout_t> layout(const Described& matrix, std::int64_t batch, std::int64_t step) {
  const Stored s = *stored(matrix);
  cublasLtMatrixLayout_t made = nullptr;
  check(library().create_layout(&made, type_of(matrix.element), static_cast<std::uint64_t>(s.rows),
                                static_cast<std::uint64_t>(s.cols), s.leading));
  Owned<cublasLtMatrixLayout_t> out(made);
  if (batch <= 1) return out;
  const auto count = static_cast<std::int32_t>(batch);
  check(library().set_layout(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
  check(library().set_layout(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step));
  return out;
}

// A named type: nvcc 13.0 fails with an internal error at vectors of the library's unnamed types.
struct Algorithm {
  cublasLtMatmulAlgo_t algo;
};

// The comparison of the library's algorithms: none, which keeps its first proposal; on the product itself,
// which the L2 may hold; on rotating copies, which exceed the L2.
enum class Tries { none, in_place, rotated };

using ProductOf = Product (*)(const Arguments&);

// A product described to the library, with the fastest of its algorithms. Addresses are not reused for other
// products.
class LtPlan {
 public:
  // `device_arguments`, `product_of`: for Tries::rotated, the arguments that `p` was made from, and the
  // function.
  LtPlan(const Product& p, const Run& run, Tries tries, const Arguments* device_arguments = nullptr,
         ProductOf product_of = nullptr)
      : handle_(handle_of(run.device->index)),
        desc_(describe(p)),
        a_(layout(p.a, p.batch, p.a_step)),
        b_(layout(p.b, p.batch, p.b_step)),
        c0_(layout(p.c0, p.batch, p.c0_step)),
        c_(layout(p.c, p.batch, p.c_step)),
        candidates_(proposals(p, run)),
        algorithm_(tries == Tries::none ? candidates_.front().algo
                                        : fastest(p, run, tries, device_arguments, product_of)) {}

  void enqueue(const Product& p, const Run& run) const {
    const auto own = p.has_addresses() ? describe(p) : nullptr;
    check(enqueue(p, run, algorithm_, own ? own.get() : desc_.get()));
  }

 private:
  static constexpr int max_launches = 32;  // per graph

  cublasStatus_t enqueue(const Product& p, const Run& run, const cublasLtMatmulAlgo_t& algorithm,
                         cublasLtMatmulDesc_t desc) const {
    return library().matmul(handle_, desc, p.alpha.bytes, p.a.data, a_.get(), p.b.data, b_.get(),
                            p.beta.bytes, p.c0.data, c0_.get(), const_cast<char*>(p.c.data), c_.get(),
                            &algorithm, run.workspace, run.workspace_bytes,
                            static_cast<cudaStream_t>(run.stream));
  }

  std::vector<Algorithm> proposals(const Product& p, const Run& run) const {
    cublasLtMatmulPreference_t made = nullptr;
    check(library().create_preference(&made));
    const Owned<cublasLtMatmulPreference_t> preference(made);
    const auto set = [made](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      check(library().set_preference(made, attribute, &value, sizeof value));
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, run.workspace_bytes);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(p.a.data));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(p.b.data));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(p.c0.data));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(p.c.data));
    cublasLtMatmulHeuristicResult_t found[200] = {};
    int count = 0;
    check(library().heuristics(handle_, desc_.get(), a_.get(), b_.get(), c0_.get(), c_.get(), made,
                               static_cast<int>(std::size(found)), found, &count));
    std::vector<Algorithm> out;
    for (int i = 0; i < count; ++i)
      if (found[i].state == CUBLAS_STATUS_SUCCESS) out.push_back({found[i].algo});
    if (out.empty()) throw Error(Error::Kind::internal, "cuBLASLt has no algorithm for this product");
    return out;
  }

  cublasLtMatmulAlgo_t fastest(const Product& p, const Run& run, Tries tries,
                               const Arguments* device_arguments, ProductOf product_of) const {
    // If C is also the input C0, every trial would accumulate into it.
    if (p.reads_c0 && p.c0.data == p.c.data) return candidates_.front().algo;
    Backend& backend = backend_of(*run.device);
    std::optional<bench::Rotation> sets;
    if (tries == Tries::rotated) {
      backend.synchronize(run);  // the sets are copied in another stream
      sets.emplace(*run.device, *device_arguments, *device_arguments, max_launches);
    }
    const auto seconds_of = [&](const cublasLtMatmulAlgo_t& algorithm) {
      const auto launch = [&](const Product& which) { check(enqueue(which, run, algorithm, desc_.get())); };
      if (!sets) return backend.seconds(run, [&] { launch(p); });
      // The mean over several sets, launched as a graph to exclude host time.
      const int launches = sets->launches(1);
      const auto graph = backend.capture(run, [&] {
        for (int i = 0; i < launches; ++i) launch(product_of(sets->set(sets->take(1))).with_columns());
      });
      return backend.seconds(run, graph) / launches;
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

  cublasLtHandle_t handle_;
  Owned<cublasLtMatmulDesc_t> desc_;
  Owned<cublasLtMatrixLayout_t> a_, b_, c0_, c_;
  std::vector<Algorithm> candidates_;
  cublasLtMatmulAlgo_t algorithm_;  // last: its initializer uses the other members
};

// One value per shape, computed under a lock: concurrent searches would disturb each other's timing.
template <class Value>
class ShapeCache {
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

// Returns why the library computes no such product; only the library itself can tell.
inline Reason not_proposed(const Product& p, const Device& device) {
  static ShapeCache<Reason> cache;
  const Run run{&device, nullptr, nullptr, workspace_bytes};
  return cache.of(shape_of(p, run), [&]() -> Reason {
    const cuda::OnDevice on_device(device.index);
    try {
      (void)LtPlan(p, run, Tries::none);
    } catch (const Error& error) {
      return error.what();
    }
    return std::nullopt;
  });
}

// The baseline of an operation. product_of(arguments): the product for the library.
template <auto product_of>
struct Baseline {
  static bool is_empty(const Product& p) { return p.batch == 0 || p.m() == 0 || p.n() == 0; }

  static Reason refuses(const Arguments& arguments, const Tuning&, const Device& device) {
    const Product given = product_of(arguments);
    if (is_empty(given)) return std::nullopt;
    if (Reason reason = lt::refuses(given)) return reason;
    const bool classical = (given.a.element == Element::f64 || given.a.element == Element::f32) &&
                           !given.has_addresses() && given.after.post_op.is_identity();
    return classical && given.batch == 1 ? std::nullopt : not_proposed(given.with_columns(), device);
  }

  template <Tries tries>
  static std::shared_ptr<const LtPlan> plan_of(const Product& p, const Arguments& arguments, Run& run) {
    static ShapeCache<std::shared_ptr<const LtPlan>> cache;
    return cache.of(shape_of(p, run),
                    [&] { return std::make_shared<const LtPlan>(p, run, tries, &arguments, product_of); });
  }

  template <Tries tries>
  static void run(const Arguments& arguments, const Tuning&, Run& run) {
    const Product given = product_of(arguments);
    if (is_empty(given)) return;
    const cuda::OnDevice on_device(run.device->index);
    const Product p = given.with_columns();
    plan_of<tries>(p, arguments, run)->enqueue(p, run);
  }

  template <Tries tries>
  static const Prepare& each_time() {
    static const Prepare out =
        without_plan(run<tries>, [](const Arguments&, const Tuning&) { return lt::workspace_bytes; });
    return out;
  }

  // Calls the library like a program: described once, so that a call is cublasLtMatmul only. The first call
  // finds the algorithm by trials on the arrays in place.
  template <Tries tries>
  static PreparedRun prepare(const Arguments& arguments, const Tuning& tuning, const Device& device) {
    const Product given = product_of(arguments);
    if (is_empty(given)) return {};
    if (given.reads_c0 || given.has_addresses()) return each_time<tries>()(arguments, tuning, device);
    struct State {
      Product product;
      bool exchanged;  // true: computes Bᵀ·Aᵀ
      Arguments arguments;
      std::once_flag is_found;
      std::shared_ptr<const LtPlan> plan;

      State(const Product& given, const Arguments& arguments)
          : product(given.with_columns()), exchanged(stored(given.c)->transposed), arguments(arguments) {}
    };
    PreparedRun out;
    out.workspace_bytes = lt::workspace_bytes;
    out.launch = [state = std::make_shared<State>(given, arguments)](std::span<void* const> arrays,
                                                                     Run& run) {
      const cuda::OnDevice on_device(run.device->index);
      const auto at = [arrays](std::size_t place) { return static_cast<const char*>(arrays[place]); };
      Product p = state->product;
      p.a.data = at(state->exchanged ? in_b : in_a);
      p.b.data = at(state->exchanged ? in_a : in_b);
      p.c.data = p.c0.data = at(out_c);
      std::call_once(state->is_found,
                     [&] { state->plan = plan_of<tries>(p, state->arguments.with_addresses(arrays), run); });
      state->plan->enqueue(p, run);
    };
    return out;
  }

  template <Tries tries>
  static Choice choice(Tuning tuning) {
    Choice out;
    out.tuning = std::move(tuning);
    for (const Element element :
         {Element::f32, Element::f64, Element::bf16, Element::f16, Element::e4m3, Element::e5m2, Element::i8})
      // `bench --call`, whose inputs exceed the caches, compares with calls planned ahead.
      out.prepare[element] = tries == Tries::in_place ? each_time<tries>() : Prepare(prepare<tries>);
    out.unsupported_arguments = [](const Arguments& arguments) -> Reason {
      return arguments.element() == Element::f64 ? Problem<double>::unsupported_arguments(arguments)
                                                 : std::nullopt;
    };
    out.refuses = refuses;
    return out;
  }

  static Variant variant(const char* idea, std::vector<Choice> choices) {
    return baseline(idea, Where::cuda, std::move(choices), needs_library);
  }
};

}  // namespace tessera::matmul::lt
