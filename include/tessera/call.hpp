// SPDX-License-Identifier: Apache-2.0
// Included by programs that repeat an operation by its name. Plans are cached by sizes, strides, element
// types and alignment, so a repeated run parses nothing. The first run checks the words.
#pragma once
#include <memory>
#include <span>
#include <vector>
#include "tessera/run/enqueue.hpp"
#include "tessera/run/run.hpp"

namespace tessera {

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
