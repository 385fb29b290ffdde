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
  // For others who write parts of it, which must be on the disk before commit(): its length from now on, and
  // its temporary name; empty where it is written directly.
  void extend(std::size_t bytes);
  const std::string& temporary() const { return temporary_; }
  // Waits until the disk has it; `lasting` false: a machine that loses power may keep a part of it, and who
  // reads it must notice.
  void commit(bool lasting = true);

  struct Slot;

 private:
  void open_beside();
  void remember();
  void forget() noexcept;
  void close_checked();
  void abandon() noexcept;
  [[noreturn]] void fail(const std::string& doing, int code) const;

  std::string path_;    // as the user wrote it
  std::string target_;  // with symbolic links followed; empty: a device or a pipe, written directly
  std::string folder_;  // the target's
  std::string temporary_;
  Slot* slot_ = nullptr;  // where a signal handler finds the temporary name
  int file_ = -1;
};

// Throws what AtomicFile would at its start: to be asked before a long run, not after it.
void demand_writable(const std::string& path);

// Removes what AtomicFiles of this process have written under a temporary name; for a signal handler
// that is about to end the process.
void remove_unfinished_files() noexcept;

// A file of lines to which several processes may add at once: each adds whole lines at the end. Makes the
// folder. `line` has no line break. Returns why it could not be added, or "".
std::string append_line(const std::string& file, const std::string& line);

// Nothing where there is no such file. What was cut off is a line of its own.
std::vector<std::string> read_lines(const std::string& file);

}  // namespace tessera
