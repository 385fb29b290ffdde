// SPDX-License-Identifier: Apache-2.0
// cuBLASLt, loaded when first asked for (the program starts without it and says why it is missing), and any
// product as it is described to it.
#pragma once
#include <algorithm>
#include <array>
#include <cstring>
#include <cublasLt.h>
#include <dlfcn.h>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>
#include "ops/matmul/matmul.hpp"
#include "ops/matmul/problem/elements.hpp"
#include "ops/matmul/problem/mixed_problem.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/variant.hpp"

namespace tessera::matmul::lt {

struct Library {
  std::string absent;  // why there is none; empty: loaded

  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtGetStatusString) status_string = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristics = nullptr;
  decltype(&cublasLtMatmulDescCreate) create_desc = nullptr;
  decltype(&cublasLtMatmulDescDestroy) destroy_desc = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_desc = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) create_layout = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;

  Library() {
    void* const file = open();
    if (file == nullptr) {
      absent = "cuBLASLt was not found (libcublasLt.so.13 or .12)";
      return;
    }
    load(file, "cublasLtCreate", create);
    load(file, "cublasLtGetStatusString", status_string);
    load(file, "cublasLtMatmul", matmul);
    load(file, "cublasLtMatmulAlgoGetHeuristic", heuristics);
    load(file, "cublasLtMatmulDescCreate", create_desc);
    load(file, "cublasLtMatmulDescDestroy", destroy_desc);
    load(file, "cublasLtMatmulDescSetAttribute", set_desc);
    load(file, "cublasLtMatrixLayoutCreate", create_layout);
    load(file, "cublasLtMatrixLayoutDestroy", destroy_layout);
    load(file, "cublasLtMatrixLayoutSetAttribute", set_layout);
    load(file, "cublasLtMatmulPreferenceCreate", create_preference);
    load(file, "cublasLtMatmulPreferenceDestroy", destroy_preference);
    load(file, "cublasLtMatmulPreferenceSetAttribute", set_preference);
  }

 private:
  static void* open() {
    const std::string folders[] = {"", "/usr/local/cuda/lib64/", "/usr/local/cuda/lib/", "/opt/cuda/lib64/"};
    for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12"})
      for (const std::string& folder : folders)
        if (void* const file = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return file;
    return nullptr;
  }
  template <class F>
  void load(void* file, const char* name, F& function) {
    function = reinterpret_cast<F>(dlsym(file, name));
    if (function == nullptr) absent = std::string("this cuBLASLt has no ") + name;
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

// Owners of the library's descriptors.
struct Destroy {
  void operator()(cublasLtMatmulDesc_t d) const noexcept { (void)library().destroy_desc(d); }
  void operator()(cublasLtMatrixLayout_t d) const noexcept { (void)library().destroy_layout(d); }
  void operator()(cublasLtMatmulPreference_t d) const noexcept { (void)library().destroy_preference(d); }
};
template <class Pointer>
using Owned = std::unique_ptr<std::remove_pointer_t<Pointer>, Destroy>;

inline Owned<cublasLtMatmulDesc_t> make_desc(cublasComputeType_t compute, cudaDataType_t scale,
                                             bool transpose_a, bool transpose_b) {
  cublasLtMatmulDesc_t d = nullptr;
  check(library().create_desc(&d, compute, scale));
  Owned<cublasLtMatmulDesc_t> out(d);
  const cublasOperation_t a = transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N,
                          b = transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  check(library().set_desc(d, CUBLASLT_MATMUL_DESC_TRANSA, &a, sizeof a));
  check(library().set_desc(d, CUBLASLT_MATMUL_DESC_TRANSB, &b, sizeof b));
  return out;
}

// Columns one after another, `leading` elements apart.
inline Owned<cublasLtMatrixLayout_t> make_layout(cudaDataType_t type, std::int64_t rows, std::int64_t cols,
                                                 std::int64_t leading) {
  cublasLtMatrixLayout_t d = nullptr;
  check(library().create_layout(&d, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols),
                                leading));
  return Owned<cublasLtMatrixLayout_t>(d);
}

// So many of these, `step` elements apart; 0: one for all.
inline void set_batch(cublasLtMatrixLayout_t layout, std::int64_t batch, std::int64_t step) {
  const auto count = static_cast<std::int32_t>(batch);
  check(library().set_layout(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
  check(library().set_layout(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step));
}

inline Owned<cublasLtMatmulPreference_t> make_preference(std::size_t workspace_bytes) {
  cublasLtMatmulPreference_t d = nullptr;
  check(library().create_preference(&d));
  Owned<cublasLtMatmulPreference_t> out(d);
  check(library().set_preference(d, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
                                 sizeof workspace_bytes));
  return out;
}

// The library's handle for the current device, which has this index. Kept until the process ends.
inline cublasLtHandle_t handle_of(int device) {
  static std::mutex mutex;
  static std::vector<cublasLtHandle_t> handles;
  const std::lock_guard lock(mutex);
  const auto at = static_cast<std::size_t>(device);
  if (handles.size() <= at) handles.resize(at + 1, nullptr);
  if (handles[at] == nullptr) check(library().create(&handles[at]));
  return handles[at];
}

// Any product as cuBLASLt is told of it: one description for all elements.

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

// A matrix as the library wants it: columns one after another, or the transpose of such a one.
struct Stored {
  bool transposed = false;
  std::int64_t rows = 0, cols = 0, leading = 0;  // as they lie, before transposing
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
struct Factor {
  alignas(8) char bytes[8] = {};
  template <class T>
  void set(T value) {
    std::memcpy(bytes, &value, sizeof value);
  }
};

struct Product {
  Described a, b, c0, c;  // c0 = c where β = 0: it is not read, but the library wants an address
  bool reads_c0 = false;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale = CUDA_R_32F;
  Factor alpha, beta;

  Activation activation = Activation::none;
  const void* bias = nullptr;
  Element bias_element = Element::f32;
  std::int64_t bias_row = 0, bias_col = 0;
  const float *scale_a = nullptr, *scale_b = nullptr;
  std::int64_t scale_a_step = 0, scale_b_step = 0;
  bool fast = false;

  // So many of them, each so many elements from the one before.
  bool batched = false;
  std::int64_t batch = 1, a_step = 0, b_step = 0, c0_step = 0, c_step = 0, bias_step = 0;

  std::int64_t m() const { return c.rows(); }
  std::int64_t n() const { return c.cols(); }
  std::int64_t k() const { return a.cols(); }
  bool has_addresses() const { return bias != nullptr || scale_a != nullptr || scale_b != nullptr; }

  Product transposed() const {
    Product out = *this;
    out.a = b.transposed();
    out.b = a.transposed();
    out.c = c.transposed();
    out.c0 = c0.transposed();
    std::swap(out.a_step, out.b_step);
    std::swap(out.bias_row, out.bias_col);
    std::swap(out.scale_a, out.scale_b);
    std::swap(out.scale_a_step, out.scale_b_step);
    return out;
  }
  // The library writes columns. Where C has rows, its transpose has columns: Cᵀ = Bᵀ·Aᵀ.
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
  out.a = Described::of(p.a.data, p.a.element, p.m, p.k, p.a.row, p.a.col);
  out.b = Described::of(p.b.data, p.b.element, p.k, p.n, p.b.row, p.b.col);
  out.c = Described::of(p.c, p.c_element, p.m, p.n, p.c_row, p.c_col);
  out.reads_c0 = p.beta != 0;
  out.c0 = out.reads_c0 ? Described::of(p.c0.data, p.c0.element, p.m, p.n, p.c0.row, p.c0.col) : out.c;
  if (p.a.element == Element::i8) out.compute = CUBLAS_COMPUTE_32I;
  else if (p.tf32) out.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  if (p.c_element == Element::i32) {
    out.scale = CUDA_R_32I;
    out.alpha.set(static_cast<std::int32_t>(p.alpha));
    out.beta.set(static_cast<std::int32_t>(p.beta));
  } else {
    out.alpha.set(p.alpha);
    out.beta.set(p.beta);
  }
  out.activation = p.activation;
  out.bias = p.bias;
  out.bias_element = p.bias_element;
  out.bias_row = p.bias_row;
  out.bias_col = p.bias_col;
  out.scale_a = p.scale_a;
  out.scale_b = p.scale_b;
  out.scale_a_step = p.scale_a_step;
  out.scale_b_step = p.scale_b_step;
  out.fast = p.fast;
  return out;
}

// f64 and f32 without anything that follows go as they always did.
inline Product product_of(const Arguments& arguments) {
  if (arguments.element() == Element::f64) return plain_product(Problem<double>::of(arguments));
  if (is_plain(arguments) && arguments.text("compute") == "strict")
    return plain_product(Problem<float>::of(arguments));
  return mixed_product(MixedProblem::of(arguments));
}

// What the library's documentation rules out, in its terms: columns of D.
inline Reason cannot_follow(const Product& p) {
  if (p.activation == Activation::gelu)
    return "cuBLASLt's GELU is the approximation by tanh (--activation gelu-tanh)";
  if (p.activation == Activation::silu) return "cuBLASLt has no SiLU";
  if (p.bias != nullptr && ((p.c.rows() > 1 && p.bias_row != 1) || (p.c.cols() > 1 && p.bias_col != 0)))
    return "cuBLASLt adds a bias only along what it writes in a piece: one number for each column of a "
           "row-major C";
  const bool scaled = p.scale_a != nullptr || p.scale_b != nullptr;
  if (scaled && !is_fp8(p.a.element)) return "cuBLASLt scales 8-bit floats only";
  const auto bad_step = [](const float* scale, std::int64_t step, std::int64_t count) {
    return scale != nullptr && step > 1 && count > 1;
  };
  if (bad_step(p.scale_a, p.scale_a_step, p.m()) || bad_step(p.scale_b, p.scale_b_step, p.n()))
    return "cuBLASLt wants scales next to each other";
  if (scaled &&
      (p.scale_a == nullptr || p.scale_b == nullptr || (p.scale_a_step == 0) != (p.scale_b_step == 0)))
    return "cuBLASLt wants scales of both factors, of one kind";
  return std::nullopt;
}

inline Reason needs_of_bytes(const Product& p, const Stored& a, const Stored& b, const Stored& c) {
  if (size_of(p.a.element) != 1) return std::nullopt;
  if (!a.transposed || b.transposed)
    return "cuBLASLt multiplies 8-bit elements only where both factors lie along k (--op-b transpose)";
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
  if (given.batched && (given.scale_a != nullptr || given.scale_b != nullptr))
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

}  // namespace tessera::matmul::lt
