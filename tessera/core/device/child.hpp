// SPDX-License-Identifier: Apache-2.0
// A child process that serves requests, with memory that both sides share. For a library that reads its
// environment when it is loaded, and so cannot be configured in two ways in one process.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace tessera {

class Child {
 public:
  // Serves a request in the child: `bytes` is the shared memory. Returns the seconds it took.
  using Serve = std::function<double(const void* request, void* bytes)>;

  // Forks. `prepare` runs first in the child; call() rethrows an exception of `prepare` or `serve`.
  Child(std::size_t request_bytes, const std::function<void()>& prepare, const Serve& serve);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // For threads that share the child: locked from memory() until the result is read.
  [[nodiscard]] std::unique_lock<std::mutex> turn() { return std::unique_lock(turn_); }
  void* memory(std::size_t bytes);   // shared, at least that many bytes; the content is lost if it grows
  double call(const void* request);  // throws Error with the child's message
  template <class Request>
  double call(const Request& request) {
    return call(static_cast<const void*>(&request));
  }

 private:
  [[noreturn]] void serve_all(int socket, const std::function<void()>& prepare, const Serve& serve);
  void map(std::size_t bytes);

  std::mutex turn_;
  std::size_t request_bytes_;
  int memory_file_ = -1, socket_ = -1, process_ = -1;
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
};

}  // namespace tessera
