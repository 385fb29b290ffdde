// SPDX-License-Identifier: Apache-2.0
// Included by programs that repeat an operation by its name. Plans are cached by sizes, strides, element
// types and alignment, so a repeated run parses nothing. The first run checks the words.
#pragma once
#include <array>
#include <memory>
#include <span>
#include <vector>
#include "tessera/run/enqueue.hpp"
#include "tessera/run/run.hpp"

namespace tessera {

// A call with its words, sizes, strides, element types and places of memory fixed. Thread-safe. `addresses`:
// one for each array of the signature, in its order; null: absent.
class PlannedCall {
 public:
  const Arguments& arguments() const { return *arguments_; }  // an output without data has extents, too
  const Plan& plan() const { return plan_; }  // without a variant if the operation reports values
  bool on_gpu() const { return on_gpu_; }     // the arrays lie in the memory of one GPU

  // For arrays in host memory. Outputs passed as null are allocated and owned by the Outcome. Throws like
  // tessera::run().
  Outcome run(std::span<void* const> addresses, bool check = false) const;
  // Runs without an Outcome. Returns false, and has done nothing, if an output lacks memory, arrays may
  // overlap, an address is not aligned to its elements, or the plan copies, reports values or needs a
  // workspace: run() then computes or says why not. Otherwise it allocates nothing beyond what the kernel
  // allocates. Arrays in a GPU's memory: enqueues, unless enqueue() has to; their memory is not checked.
  bool run_at_once(std::span<void* const> addresses, void* stream = nullptr) const;
  // For arrays in a GPU's memory, with the alignment of the planned ones.
  void enqueue(void* stream, std::span<void* const> addresses, const Workspace& workspace = {}) const;
  const std::shared_ptr<const PreparedCall>& prepared() const { return prepared_; }  // null: run() prepares

 private:
  friend class Call;
  struct Reach {  // the bytes of an array, from its address
    std::int64_t first = 0, last = 0;
    std::size_t element_bytes = 1;
    bool is_output = false, is_given = false;
  };
  PlannedCall(const Operation& operation, std::shared_ptr<const Arguments> arguments, Request request,
              bool in_place);

  const Operation* operation_;
  Request request_;
  std::shared_ptr<const Arguments> arguments_;
  Plan plan_;
  std::shared_ptr<const PreparedCall> prepared_;
  bool on_gpu_ = false, has_values_ = false, is_at_once_ = false;
  std::array<Reach, Signature::max_arrays> reaches_;
  std::size_t count_ = 0;  // arrays of the signature
};

// Thread-safe. Caches the last 16 plans; for a cached plan the results of `tune` are not looked up again.
// Plans are not cached if the operation also returns scalar results (such as an error estimate), or if a
// scalar argument's meaning depends on the contents of an array or file. Arrays are views in the order of the
// signature; a view without data is an absent array. The first mandatory array, or else the first one with
// data, determines the element type. Do not use a Call constructed before load() after it.
class Call {
 public:
  // `words`: the scalar arguments, as strings in command-line syntax.
  explicit Call(const std::string& operation, Arguments::Words words = {}, Request request = {});
  ~Call();

  // Plans for such arrays, in host memory or in that of one GPU. A repeated call returns the cached plan.
  std::shared_ptr<const PlannedCall> plan(std::span<const ArrayView> arrays, bool on_gpu = false) const;

  // Runs on arrays in host memory, like tessera::run(). Outputs passed without data are allocated and owned
  // by the Outcome. Repeated CPU runs with caller-provided outputs and no workspace allocate nothing beyond
  // the kernel's own allocations; in their Outcome, plan.device.name is empty. Throws like run().
  Outcome run(std::span<const ArrayView> arrays, bool check = false) const;

  // Enqueues on arrays in the memory of one GPU, in stream order, like tessera::enqueue(); with arrays in
  // host memory, `stream` is null and the work is done on return. Outputs must have data. Returns the cached
  // PreparedCall; null if the result is empty.
  std::shared_ptr<const PreparedCall> enqueue(void* stream, std::span<const ArrayView> arrays,
                                              const Workspace& workspace = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera
