// SPDX-License-Identifier: Apache-2.0
#include "tessera/formula/evaluate.hpp"
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include "tessera/core/text/error.hpp"
#include "tessera/formula/chain.hpp"
#include "tessera/formula/interpret.hpp"
#include "tessera/formula/vectors.hpp"

namespace tessera::formula {
namespace {

constexpr std::size_t block_points = 128;  // a dozen registers fit the first cache

const OnBlock<float>* tables(float) { return on_blocks_f32(); }
const OnBlock<double>* tables(double) { return on_blocks_f64(); }

// A thread's memory for blocks, kept for its next call.
class Blocks {
 public:
  template <class T>
  T* get(std::size_t blocks) {
    const std::size_t bytes = blocks * block_points * sizeof(T);
    if (bytes > bytes_) {
      data_.reset(std::aligned_alloc(block_bytes, bytes));
      bytes_ = data_ == nullptr ? 0 : bytes;
      if (data_ == nullptr) throw std::bad_alloc();
    }
    return static_cast<T*>(data_.get());
  }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> data_;
  std::size_t bytes_ = 0;
};

template <class T>
class Evaluation {
 public:
  Evaluation(const Program<T>& program, std::span<const Input<T>> inputs, std::size_t count)
      : program_(program), inputs_(inputs), table_(tables(T())) {
    thread_local Blocks blocks;
    T* next =
        blocks.get<T>(std::size_t{program.register_count} + program.input_count + program.constant_count + 1);
    const auto take = [&] { return std::exchange(next, next + block_points); };
    const std::size_t filled = padded(std::min(count, block_points));
    for (int i = 0; i < program.register_count; ++i) at_[i] = take();
    for (int i = 0; i < program.input_count; ++i) {
      copies_[i] = take();
      at_[first_input + i] = copies_[i];
      if (!inputs[static_cast<std::size_t>(i)].varies)
        std::fill_n(copies_[i], filled, *inputs[static_cast<std::size_t>(i)].values);
    }
    for (int i = 0; i < program.constant_count; ++i)
      std::fill_n(at_[first_constant + i] = take(), filled, program.constants[i]);
    spare_ = take();
    if (program.register_count == 0) at_[0] = spare_;  // unused operands of an operator are number 0
  }

  // Runs a chain over full groups of points, and returns the number of points done.
  std::size_t run_chain(std::size_t count, T* out) {
    const Chains all = chains<T>();
    const std::size_t whole = count / all.together * all.together;
    if (whole == 0 ||
        std::any_of(inputs_.begin(), inputs_.end(), [](const Input<T>& i) { return !i.varies; }))
      return 0;
    for (int i = 0; i < program_.input_count; ++i) bind(i, 0, whole, true);
    Link chain[max_links];
    if (link<T>(program_, Roots::ieee, {at_, ~std::size_t{0}, 0, out, nullptr, nullptr}, chain) == 0)
      return 0;
    all.run(chain, whole);
    return whole;
  }

  void run_steps(std::size_t first, std::size_t count, T* out) {
    const bool whole = padded(count) == count;
    for (int i = 0; i < program_.input_count; ++i) bind(i, first, count, whole);
    // The last step may write where the caller wants it.
    T* const result = program_.result < first_input ? (whole ? out : spare_) : nullptr;
    for (int i = 0; i < program_.step_count; ++i) {
      const Step& step = program_.steps[i];
      T* const to = i + 1 == program_.step_count && result != nullptr ? result : at_[step.to];
      table_[static_cast<int>(step.op)](at_[step.a], at_[step.b], at_[step.c], to, padded(count));
    }
    if (result != out) std::copy_n(result != nullptr ? result : at_[program_.result], count, out);
  }

 private:
  static std::size_t padded(std::size_t count) {
    constexpr std::size_t unit = block_bytes / sizeof(T);
    return (count + unit - 1) / unit * unit;
  }

  void bind(int i, std::size_t first, std::size_t count, bool whole) {
    const Input<T>& input = inputs_[static_cast<std::size_t>(i)];
    if (!input.varies) return;
    if (whole) {
      at_[first_input + i] = const_cast<T*>(input.values + first);  // read only
      return;
    }
    at_[first_input + i] = copies_[i];
    std::copy_n(input.values + first, count, copies_[i]);
    std::fill(copies_[i] + count, copies_[i] + padded(count), input.values[first + count - 1]);
  }

  const Program<T>& program_;
  std::span<const Input<T>> inputs_;
  const OnBlock<T>* table_;
  // By operand; clearing all of them would take longer than a short formula's values.
  T* at_[first_constant + max_constants];
  T* copies_[max_inputs];
  T* spare_ = nullptr;
};

}  // namespace

template <class T>
void evaluate_many(const Program<T>& program, std::span<const Input<T>> inputs, std::size_t count, T* out) {
  if (inputs.size() != program.input_count)
    throw Error("the formula takes " + std::to_string(program.input_count) + " values, not " +
                std::to_string(inputs.size()));
  if (count == 0) return;
  Evaluation<T> evaluation(program, inputs, count);
  for (std::size_t first = evaluation.run_chain(count, out); first < count; first += block_points)
    evaluation.run_steps(first, std::min(block_points, count - first), out + first);
}

template void evaluate_many(const Program<float>&, std::span<const Input<float>>, std::size_t, float*);
template void evaluate_many(const Program<double>&, std::span<const Input<double>>, std::size_t, double*);

template <class T>
void library_on_block(Op op, const T* a, const T* b, T* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    switch (op) {
#define TESSERA_FORMULA_CASE(name)  \
  case Op::name:                    \
    to[i] = elementary::name(a[i]); \
    break;
      TESSERA_FORMULA_LIBRARY_1(TESSERA_FORMULA_CASE)
#undef TESSERA_FORMULA_CASE
      default:
        to[i] = elementary::fmod(a[i], b[i]);
        break;
    }
  }
}
template void library_on_block(Op, const float*, const float*, float*, std::size_t);
template void library_on_block(Op, const double*, const double*, double*, std::size_t);

template <class T>
void huge_angles_on_block(const T* x, T* turns, T* hi, T* lo, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    turns[i] = hi[i] = lo[i] = T(0);
    if (x[i] != T(0)) elementary::huge_angles(x[i], true, turns[i], hi[i], lo[i]);
  }
}
template void huge_angles_on_block(const float*, float*, float*, float*, std::size_t);
template void huge_angles_on_block(const double*, double*, double*, double*, std::size_t);

template <class T>
void fused_on_block(const T* a, const T* b, const T* c, T* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = elementary::fused(a[i], b[i], c[i]);
}
template void fused_on_block(const float*, const float*, const float*, float*, std::size_t);
template void fused_on_block(const double*, const double*, const double*, double*, std::size_t);

}  // namespace tessera::formula
