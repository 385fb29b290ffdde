// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/epilogue/epilogue.hpp"
#include <map>
#include <utility>
#include "ops/matmul/matmul.hpp"
#include "ops/matmul/gemm/gemm.hpp"

namespace tessera::matmul {
namespace {

Steps steps_of(const ArrayView& v) {
  if (v.strides.size() == 3) return {v.strides[0], v.strides[1], v.strides[2]};
  return {0, v.strides[0], v.strides[1]};
}

// Takes a vector along rows or columns of C, one for each batch entry or one for all.
template <class T>
const T* take_vector(const Arguments& arguments, const char* name, std::int64_t Steps::*along, Steps& steps) {
  if (!arguments.has(name)) return nullptr;
  const std::size_t rank = arguments.array("C").extents.size() - 1;
  const ArrayView v = arguments.oriented(name, element_of<T>, static_cast<int>(rank));
  if (rank == 2) steps.entry = v.strides[0];
  steps.*along = v.strides.back();
  return static_cast<const T*>(v.data);
}

template <class T>
void take_scales(const Arguments& arguments, EpilogueProblem<T>& p) {
  if (arguments.dim("k") == 0 || p.alpha == T{0}) return;  // then they are not read
  p.scale_a = take_vector<float>(arguments, "scale-a", &Steps::row, p.of_scale_a);
  p.scale_b = take_vector<float>(arguments, "scale-b", &Steps::col, p.of_scale_b);
  if (arguments.text("scale-a-per") == "tensor") p.of_scale_a.row = 0;
  if (arguments.text("scale-b-per") == "tensor") p.of_scale_b.col = 0;
}

std::map<std::pair<Where, bool>, EpilogueKernels>& kernels() {
  static std::map<std::pair<Where, bool>, EpilogueKernels> all;
  return all;
}

template <class T>
void epilogue_as(const Arguments& arguments, void* sums, Run& run,
                 void (*EpilogueKernels::*kernel)(const EpilogueProblem<T>&, Run&)) {
  const auto p = EpilogueProblem<T>::of(arguments, sums);
  if (p.batch == 0 || p.m == 0 || p.n == 0) return;
  if (run.device->where == Where::cpu) return run_epilogue_on_cpu(p, run.device->threads);
  const auto found = kernels().find({run.device->where, run.tracer != nullptr});
  if (found == kernels().end()) throw Error(Error::Kind::internal, "no epilogue kernel for this device");
  (found->second.*kernel)(p.of_c.col == 1 ? p : p.transposed(), run);
}

}  // namespace

bool is_scaled(const Arguments& arguments) { return arguments.has("scale-a") || arguments.has("scale-b"); }

template <class T>
EpilogueProblem<T> EpilogueProblem<T>::of(const Arguments& arguments, void* sums) {
  const ArrayView& c = arguments.array("C");
  const bool many = c.extents.size() == 3;
  EpilogueProblem p;
  p.batch = many ? c.extents[0] : 1;
  p.m = arguments.dim("m");
  p.n = arguments.dim("n");
  p.c = static_cast<T*>(c.data);
  p.of_c = steps_of(c);
  p.sums = sums == nullptr ? p.c : static_cast<const T*>(sums);
  p.of_sums = sums == nullptr ? p.of_c : Steps{p.m * p.n, p.n, 1};
  p.scaled = is_scaled(arguments);
  if (p.scaled) {
    p.alpha = Problem<T>::factor(arguments, "alpha");
    take_scales(arguments, p);
    if (arguments.has("C0")) p.beta = Problem<T>::factor(arguments, "beta");
  }
  if (p.beta != T{0}) {
    const ArrayView c0 = arguments.oriented("C0", element_of<T>, many ? 3 : 2);
    p.c0 = static_cast<const T*>(c0.data);
    p.of_c0 = steps_of(c0);
  }
  const bool along_rows = arguments.text("bias-along") == "rows";
  p.bias = take_vector<T>(arguments, "bias", along_rows ? &Steps::row : &Steps::col, p.of_bias);
  p.post_op = PostOp::of(arguments);
  return p;
}

template <class T>
EpilogueProblem<T> EpilogueProblem<T>::transposed() const {
  EpilogueProblem out = *this;
  std::swap(out.m, out.n);
  for (Steps* steps : {&out.of_c, &out.of_sums, &out.of_c0, &out.of_bias, &out.of_scale_a, &out.of_scale_b})
    std::swap(steps->row, steps->col);
  return out;
}

template struct EpilogueProblem<float>;
template struct EpilogueProblem<double>;
template struct EpilogueProblem<std::int32_t>;

bool supports_epilogue_pass(const Arguments& arguments) {
  const Element element = arguments.element();
  if (element != Element::f32 && element != Element::f64 && element != Element::i32) return false;
  check_scales(element, is_scaled(arguments));
  (void)PostOp::of(arguments);  // throws
  return true;
}

Arguments without_epilogue(const Arguments& arguments, void* sums) {
  const char* const alpha = arguments.real("alpha") == 0 ? "0" : "1";
  Arguments::Words words = identity_words();
  Arguments out = arguments;
  if (is_scaled(arguments)) {
    words.insert({{"alpha", alpha}, {"beta", "0"}});
    out = arguments.without({"C0", "scale-a", "scale-b", "bias"}, words);
  } else {
    out = arguments.without({"bias"}, words);
  }
  if (sums != nullptr) {
    ArrayView c = arguments.array("C");
    c.data = sums;
    c.strides = row_major_strides(c.extents);
    out.set_array("C", c);
  }
  return out;
}

std::size_t epilogue_pass_bytes(const Arguments& arguments) {
  const ArrayView& c = arguments.array("C");
  const bool apart = is_scaled(arguments) && arguments.has("C0") && arguments.real("beta") != 0;
  return apart ? static_cast<std::size_t>(c.count()) * size_of(c.element) : 0;
}

void run_epilogue(const Arguments& arguments, void* sums, Run& run) {
  if (arguments.element() == Element::f32)
    return epilogue_as<float>(arguments, sums, run, &EpilogueKernels::f32);
  if (arguments.element() == Element::f64)
    return epilogue_as<double>(arguments, sums, run, &EpilogueKernels::f64);
  epilogue_as<std::int32_t>(arguments, sums, run, &EpilogueKernels::i32);
}

void register_epilogue_kernels(Where where, bool traced, const EpilogueKernels& own) {
  kernels()[{where, traced}] = own;
}

EpiloguePass epilogue_pass(const char* operation) {
  EpiloguePass out;
  out.operation = operation;
  out.description =
      "Bias, activation and scales of f32, bias and activation of f64, bias and ReLU of i32: a pass over C "
      "after the "
      "rung.\nWithout one: matmul's simd, but for scales, strip by strip in the cache; naive of f32. Other "
      "elements, "
      "and TF32\non tensor cores: in the rung's own last step. Baselines: as their library does, or "
      "refused.\n";
  out.supports = supports_epilogue_pass;
  out.workspace_bytes = epilogue_pass_bytes;
  out.before = without_epilogue;
  out.after = run_epilogue;
  return out;
}

namespace {
[[maybe_unused]] const bool epilogue_registered = (register_epilogue_pass(epilogue_pass("matmul")), true);
}  // namespace

}  // namespace tessera::matmul
