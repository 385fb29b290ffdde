// SPDX-License-Identifier: Apache-2.0
// An operation whose arrays lie in a device's memory already, put into the order of the caller's stream.
// Nothing here waits for the device or copies from or to the host, so that a CUDA graph may capture it. On
// devices that share the host's memory there is no stream, and the work is done on return.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include "tessera/run/choose.hpp"

namespace tessera {
class StreamOrderedMemory;
}

namespace tessera {

// Memory of the device for one call at a time: whoever is enqueued next to the same stream may be given it
// too.
struct Workspace {
  void* data =
      nullptr;  // a multiple of 256; null: the call borrows what it needs, in the order of the stream
  std::size_t bytes = 0;
  // Else its front is cleared by each call. Say so where it was zeros before the first of calls with the same
  // Plan, sizes and alignment, one after another, and nothing else has written to it.
  bool zeroed = false;
};

// The device in whose memory an address lies; "cpu" for the host's.
[[nodiscard]] Device device_holding(const void* address);

// choose_in_place() on the device that holds the operation's output, which must be the one asked for, if one
// is.
[[nodiscard]] Plan choose_in_place(const Operation& operation, const Arguments& there,
                                   const Request& request = {});

// That enqueue() needs for these arguments.
[[nodiscard]] std::size_t workspace_bytes(const Plan& plan, const Arguments& there);

// A call that is made many times: planned once, for sizes, strides and alignment. Each call brings addresses.
class PreparedCall {
 public:
  // What `there` holds of addresses is looked at for alignment, and not kept. Throws where the plan refuses,
  // or cannot be enqueued.
  PreparedCall(Plan plan, const Arguments& there);
  PreparedCall(const PreparedCall&) = delete;
  PreparedCall& operator=(const PreparedCall&) = delete;

  const Plan& plan() const { return plan_; }
  std::size_t workspace_bytes() const { return planned_.workspace_bytes; }

  // The addresses are not checked, nor is the stream, nor what memory the workspace is.
  void enqueue(void* stream, std::span<void* const> arrays, const Workspace& workspace = {}) const;

 private:
  Plan plan_;
  PreparedRun planned_;
  StreamOrderedMemory* stream_memory_ = nullptr;
};

// `in_place` names an input that may lie exactly where the output does, element on element. Throws Error
// where an array is not in the device's memory or not aligned to its elements, an output overlaps something,
// the stream is another device's, the workspace is too small, the plan refuses, or the operation cannot go on
// without the host: it gives numbers back, or the variant is a GPU's baseline, which measures first.
void enqueue(const Plan& plan, const Arguments& there, void* stream, const Workspace& workspace = {},
             const std::string& in_place = {});
// The same by a plan that is prepared for such arguments.
void enqueue(const PreparedCall& call, const Arguments& there, void* stream, const Workspace& workspace = {},
             const std::string& in_place = {});

// As PreparedCall::enqueue takes them.
[[nodiscard]] inline Addresses addresses_of(const Arguments& there) { return there.addresses(); }

// The parts of enqueue(), for those who put several problems into one launch.

// Throws Error for what enqueue() says of arrays and stream.
void check_in_place(const Device& device, const Arguments& there, void* stream,
                    const std::string& in_place = {});

// A workspace for what is enqueued while this lives: the caller's, which is checked, or a borrowed one.
class ScopedWorkspace {
 public:
  // `device` must stay.
  ScopedWorkspace(const Device& device, void* stream, const Workspace& given, std::size_t bytes,
                  std::span<const Arguments> there);
  ~ScopedWorkspace();
  ScopedWorkspace(const ScopedWorkspace&) = delete;
  ScopedWorkspace& operator=(const ScopedWorkspace&) = delete;
  Run& run() { return run_; }

 private:
  Run run_;
  bool borrowed_ = false;
};

}  // namespace tessera
