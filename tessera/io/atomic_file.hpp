// SPDX-License-Identifier: Apache-2.0
// A file that appears completely or not at all: it is written beside its target under a temporary name and
// then renamed, so a failed run leaves an old file unchanged. Only SIGKILL leaves the temporary file,
// .tessera-PID-N.tmp.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tessera {

class AtomicFile {
 public:
  // Throws Error naming the file and the reason, as do write() and commit().
  explicit AtomicFile(std::string path);
  // Writes to an open file, which stays open; `name` is for messages.
  AtomicFile(int descriptor, std::string name);
  ~AtomicFile();  // removes the file if commit() was not called
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  // For other processes that write parts of the file, before commit(): extend() sets its length, temporary()
  // returns its temporary name, or "" if the file is written directly.
  void extend(std::size_t bytes);
  const std::string& temporary() const { return temporary_; }
  // Renames the file when its data is on the disk. `lasting` false: does not wait for that, so after a power
  // loss the file may be truncated, which readers must detect.
  void commit(bool lasting = true);

  struct Slot;

 private:
  void open_beside();
  void remember();
  void forget() noexcept;
  void close_checked();
  void abandon() noexcept;
  [[noreturn]] void fail(const std::string& doing, int code) const;

  std::string path_;    // the path given by the user
  std::string target_;  // symbolic links resolved; empty: a device or a pipe, written directly
  std::string folder_;  // the target's
  std::string temporary_;
  Slot* slot_ = nullptr;  // holds the temporary name for a signal handler
  int file_ = -1;
};

// Throws the Error that AtomicFile's constructor would, so that a long run fails at its start.
void require_writable(const std::string& path);

// Removes the unfinished temporary files of this process; for a signal handler that is about to end the
// process.
void remove_unfinished_files() noexcept;

// Appends a line to a file to which several processes may append concurrently; lines are never interleaved.
// Makes the folder. `line` has no line break. Returns the reason for a failure, or "".
std::string append_line(const std::string& file, const std::string& line);

// Returns no lines if there is no such file. A truncated line is returned as a line.
std::vector<std::string> read_lines(const std::string& file);

}  // namespace tessera
