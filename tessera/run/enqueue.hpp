// SPDX-License-Identifier: Apache-2.0
// Enqueues an operation on arrays in device memory, in the order of the caller's stream. Nothing here waits
// for the device or copies from or to the host, so a CUDA graph may capture it. On devices that share the
// host's memory there is no stream, and the work is done on return.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include "tessera/run/choose.hpp"

namespace tessera {
class StreamOrderedMemory;
}

namespace tessera {

// Device memory for one call at a time; the next call on the same stream may reuse it.
struct Workspace {
  void* data = nullptr;  // aligned to 256 bytes; null: the call borrows a workspace in stream order
  std::size_t bytes = 0;
  // False: each call clears the front of the workspace. True: the front was zero before the first of
  // consecutive calls with the same Plan, sizes and alignment, and nothing else has written to it.
  bool zeroed = false;
};

// Returns the device whose memory contains the address; "cpu" for host memory.
[[nodiscard]] Device device_holding(const void* address);

// Returns choose_in_place() on the device that holds the operation's output; a requested device must be that
// one.
[[nodiscard]] Plan choose_in_place(const Operation& operation, const Arguments& device_arguments,
                                   const Request& request = {});

// Returns the workspace that enqueue() needs for these arguments.
[[nodiscard]] std::size_t workspace_bytes(const Plan& plan, const Arguments& device_arguments);

// A call that is made many times: planned once for sizes, strides and alignment, with new addresses in each
// call.
class PreparedCall {
 public:
  // The addresses in `device_arguments` matter only for their alignment, and are not kept. Throws if the plan
  // refuses the arguments or cannot be enqueued.
  PreparedCall(Plan plan, const Arguments& device_arguments);
  // With the plan that choose_in_place() chooses.
  PreparedCall(const Operation& operation, const Arguments& device_arguments, const Request& request);
  PreparedCall(const PreparedCall&) = delete;
  PreparedCall& operator=(const PreparedCall&) = delete;

  const Plan& plan() const { return plan_; }
  std::size_t workspace_bytes() const { return planned_.workspace_bytes; }

  // Checks neither the addresses nor the stream nor the workspace's memory.
  void enqueue(void* stream, std::span<void* const> arrays, const Workspace& workspace = {}) const;

 private:
  Plan plan_;
  PreparedRun planned_;
  StreamOrderedMemory* stream_memory_ = nullptr;
};

// `in_place` names an input that may coincide exactly with the output, element on element. Throws Error if an
// array is not in the device's memory or not aligned to its elements, an output overlaps another array, the
// stream belongs to another device, the workspace is too small, the plan refuses, or the operation needs the
// host: it returns values, or the variant is a GPU's baseline, which measures first.
void enqueue(const Plan& plan, const Arguments& device_arguments, void* stream,
             const Workspace& workspace = {}, const std::string& in_place = {});
// Enqueues a call that was prepared for such arguments.
void enqueue(const PreparedCall& call, const Arguments& device_arguments, void* stream,
             const Workspace& workspace = {}, const std::string& in_place = {});

// The addresses in the form that PreparedCall::enqueue takes.
[[nodiscard]] inline Addresses addresses_of(const Arguments& device_arguments) {
  return device_arguments.addresses();
}

// Parts of enqueue(), for launches that combine several problems.

// Throws the Errors of enqueue() that concern arrays and stream.
void check_in_place(const Device& device, const Arguments& device_arguments, void* stream,
                    const std::string& in_place = {});

// The workspace for all that is enqueued during this object's lifetime: the caller's, which is checked, or a
// borrowed one.
class ScopedWorkspace {
 public:
  // `device` must outlive this object.
  ScopedWorkspace(const Device& device, void* stream, const Workspace& given, std::size_t bytes,
                  std::span<const Arguments> device_arguments);
  ~ScopedWorkspace();
  ScopedWorkspace(const ScopedWorkspace&) = delete;
  ScopedWorkspace& operator=(const ScopedWorkspace&) = delete;
  Run& run() { return run_; }

 private:
  Run run_;
  bool borrowed_ = false;
};

}  // namespace tessera
