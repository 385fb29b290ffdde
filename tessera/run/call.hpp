// SPDX-License-Identifier: Apache-2.0
// An operation, by its name or by a typed call, that is run many times: plans are remembered by sizes,
// strides, elements and alignment, so that a repeated run parses nothing.
#pragma once
#include <memory>
#include <span>
#include <vector>
#include "tessera/run/enqueue.hpp"
#include "tessera/run/run.hpp"

namespace tessera {

// Several threads may use one Call at once. It remembers its last 16 plans; a remembered plan looks up no
// findings of `tune`. Arrays are views in the order of the signature; one without data is not given.
class Call {
 public:
  // `words`: the scalars, as one would type them.
  explicit Call(const std::string& operation, Arguments::Words words = {}, Request request = {});
  ~Call();

  // Of arrays in host memory, as tessera::run(). An output without data is owned by the Outcome. Where
  // outputs are given and the call runs on the processors, without workspace, a repeated run allocates
  // nothing but what its rung works with, and its Outcome's device has no name. Throws Error as Arguments and
  // run() do.
  Outcome run(std::span<const ArrayView> arrays, bool check = false) const;

  // Of arrays in the memory of one GPU, in the order of the stream, as tessera::enqueue(); or in host memory,
  // where the stream is null and the work done on return. Outputs must have data. Returns what is
  // remembered of the call.
  std::shared_ptr<const PreparedCall> enqueue(void* stream, std::span<const ArrayView> arrays,
                                              const Workspace& workspace = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera
