// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all: written beside its target under a temporary name and renamed over
// it, so that a failed run leaves an old file as it was. Only a run that is killed by SIGKILL leaves the
// temporary file, .tessera-PID-N.tmp.
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
  ~AtomicFile();  // without commit() nothing of it remains
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  // For other writers of parts of the file, which must be on the disk before commit(): sets the file's
  // length, and gives its temporary name; empty if the file is written directly.
  void extend(std::size_t bytes);
  const std::string& temporary() const { return temporary_; }
  // Waits until the data is on the disk. `lasting` false: a machine that loses power may keep only a part of
  // it, which readers must detect.
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

// Throws the Error that AtomicFile's constructor would; called before a long run, not after it.
void require_writable(const std::string& path);

// Removes the unfinished temporary files of this process; for a signal handler that is about to end the
// process.
void remove_unfinished_files() noexcept;

// Appends a line to a file that several processes may append to at once; each line is added whole. Makes the
// folder. `line` has no line break. Returns the reason for a failure, or "".
std::string append_line(const std::string& file, const std::string& line);

// Returns no lines if there is no such file; a line that was cut off is a line of its own.
std::vector<std::string> read_lines(const std::string& file);

}  // namespace tessera
