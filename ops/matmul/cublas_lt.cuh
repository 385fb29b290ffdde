// SPDX-License-Identifier: Apache-2.0
// cuBLASLt, loaded when first asked for: the program starts without it and says why it is missing.
#pragma once
#include <cublasLt.h>
#include <dlfcn.h>
#include <memory>
#include <mutex>
#include <string>
#include <vector>
#include "tessera/core/error.hpp"

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

}  // namespace tessera::matmul::lt
