// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all: written beside its target and renamed over it, so that
// a failed or killed run leaves an old file as it was.
#pragma once
#include <cstddef>
#include <span>
#include <string>

namespace tessera {

class AtomicFile {
 public:
  // Throws Error naming the file and the reason, as do write() and commit().
  explicit AtomicFile(std::string path);
  ~AtomicFile();  // without commit() nothing of it remains
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  void open_beside(const std::string& folder);
  void close_checked();
  void abandon() noexcept;
  [[noreturn]] void fail(const std::string& doing, int code) const;

  std::string path_;       // as the user wrote it
  std::string target_;     // with symbolic links followed
  std::string temporary_;  // empty: a device or a pipe, written directly
  int file_ = -1;
};

}  // namespace tessera
