// SPDX-License-Identifier: Apache-2.0
// An operation that is called many times, by its name or by a typed call: plans are remembered by sizes,
// strides, element types and alignment, so a repeated run parses nothing.
#pragma once
#include <memory>
#include <span>
#include <vector>
#include "tessera/run/enqueue.hpp"
#include "tessera/run/run.hpp"

namespace tessera {

// Thread-safe. Remembers the last 16 plans; a remembered plan is not looked up in the findings of `tune`
// again. No plan is remembered for an operation that returns values, nor for a word whose meaning depends on
// the contents of an array or a file. Arrays are views in the order of the signature; a view without data is
// an absent array. The first mandatory array, or else the first one with data, determines the element type.
// Calls made before load() must not be used after it.
class Call {
 public:
  // `words`: the scalars, as typed on the command line.
  explicit Call(const std::string& operation, Arguments::Words words = {}, Request request = {});
  ~Call();

  // Runs on arrays in host memory, like tessera::run(). The Outcome owns an output without data. A repeated
  // run on the processors with all outputs given, and without workspace, allocates only what its rung
  // allocates, and its Outcome's device has no name. Throws Error as Arguments and run() do.
  Outcome run(std::span<const ArrayView> arrays, bool check = false) const;

  // Enqueues on arrays in the memory of one GPU, in stream order, like tessera::enqueue(); with arrays in
  // host memory, `stream` is null and the work is done on return. Outputs must have data. Returns the
  // remembered call; null: the result is empty.
  std::shared_ptr<const PreparedCall> enqueue(void* stream, std::span<const ArrayView> arrays,
                                              const Workspace& workspace = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera
