// SPDX-License-Identifier: Apache-2.0
// A child process that does one thing on demand, with memory that both sides see. For a library that
// reads its environment when it is loaded, and so cannot be had in two ways in one process.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace tessera {

class Child {
 public:
  // What the child does with each request: `bytes` is the shared memory. Returns the seconds it took.
  using Serve = std::function<double(const void* request, void* bytes)>;

  // Forks. `prepare` runs in the child first; what it throws, as what `serve` throws, is thrown by call().
  Child(std::size_t request_bytes, const std::function<void()>& prepare, const Serve& serve);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // For threads that share the child: held from memory() until the result is read.
  [[nodiscard]] std::unique_lock<std::mutex> turn() { return std::unique_lock(turn_); }
  void* memory(std::size_t bytes);   // shared, at least that much; what it held is lost if it grows
  double call(const void* request);  // throws Error with the child's words
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
