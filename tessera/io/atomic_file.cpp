// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/atomic_file.hpp"
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include "tessera/core/text/error.hpp"

namespace tessera {
namespace {

// Returns a name that no other process or thread of this machine uses. It is short whatever the target's
// name, because a folder limits the length of names. O_EXCL tells apart machines that share a folder.
std::string next_name(const std::string& folder) {
  static std::atomic<unsigned> counter{0};
  const std::string name =
      ".tessera-" + std::to_string(::getpid()) + "-" + std::to_string(counter++) + ".tmp";
  return (std::filesystem::path(folder) / name).string();
}

// Follows a chain of symbolic links to its target, which need not exist yet, so that the target is replaced
// and the links are kept.
std::string follow_links(const std::string& path) {
  constexpr int max_links = 40;  // the kernel's limit
  std::filesystem::path at = path;
  std::error_code none;
  for (int i = 0; i < max_links && std::filesystem::is_symlink(at, none); ++i) {
    const std::filesystem::path next = std::filesystem::read_symlink(at, none);
    if (none) break;
    at = at.parent_path() / next;
  }
  return at.string();
}

}  // namespace

// A temporary name that exists, where a signal handler can read it. A child made by fork() inherits the slot
// but must not remove the file. Others read the path only while the slot has an owner, and only its file
// frees the slot.
struct AtomicFile::Slot {
  std::atomic<pid_t> owner{0};
  char path[PATH_MAX] = {};
};

namespace {

constinit AtomicFile::Slot slots[16];

}  // namespace

// Stores the name for the signal handler before the file is opened, so that a signal during the open is
// handled. A file that finds no free slot is not removed by a signal.
void AtomicFile::remember() {
  if (temporary_.size() >= sizeof Slot::path) return;
  for (Slot& slot : slots) {
    pid_t nobody = 0;
    if (!slot.owner.compare_exchange_strong(nobody, -1)) continue;
    std::memcpy(slot.path, temporary_.c_str(), temporary_.size() + 1);
    slot.owner = ::getpid();
    slot_ = &slot;
    return;
  }
}

void AtomicFile::forget() noexcept {
  temporary_.clear();
  Slot* const slot = std::exchange(slot_, nullptr);
  if (slot != nullptr && slot->owner == ::getpid()) slot->owner = 0;
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  struct stat old = {};
  const bool exists = ::stat(path_.c_str(), &old) == 0;
  if (!exists && errno != ENOENT) fail("cannot be written", errno);
  if (exists && S_ISDIR(old.st_mode)) fail("cannot be written", EISDIR);
  if (exists && ::access(path_.c_str(), W_OK) != 0) fail("cannot be written", errno);
  if (exists && !S_ISREG(old.st_mode)) {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file_ < 0) fail("cannot be written", errno);
    return;
  }
  target_ = follow_links(path_);
  const std::filesystem::path named = target_;
  if (!named.has_filename()) fail("cannot be written", target_.empty() ? ENOENT : EISDIR);
  folder_ = named.has_parent_path() ? named.parent_path().string() : ".";
  open_beside();
  // Best effort: a failure loses only the old file's permissions.
  if (exists && ::fchmod(file_, old.st_mode & 07777) != 0) errno = 0;
}

AtomicFile::AtomicFile(int descriptor, std::string name)
    : path_(std::move(name)), file_(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) {
  if (file_ < 0) fail("cannot be written", errno);
}

AtomicFile::~AtomicFile() { abandon(); }

void AtomicFile::open_beside() {
  for (;;) {
    temporary_ = next_name(folder_);
    remember();
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ >= 0) return;
    const int code = errno;
    forget();
    if (code != EEXIST) fail("cannot be written to folder " + folder_, code);
  }
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot be written", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::extend(std::size_t bytes) {
  if (::ftruncate(file_, static_cast<off_t>(bytes)) != 0) fail("cannot be written", errno);
}

void AtomicFile::commit(bool lasting) {
  if (target_.empty()) return close_checked();
  // Errors of a full disk or a lost server may appear only here; the rename must come after the data.
  if (lasting && ::fsync(file_) != 0) fail("cannot be written", errno);
  close_checked();
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot be replaced", errno);
  forget();
}

void AtomicFile::close_checked() {
  if (::close(std::exchange(file_, -1)) != 0 && errno != EINTR) fail("cannot be written", errno);
}

void AtomicFile::abandon() noexcept {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
  if (temporary_.empty()) return;
  ::unlink(temporary_.c_str());
  forget();
}

void AtomicFile::fail(const std::string& doing, int code) const {
  throw Error(path_ + ": " + doing + ": " + std::generic_category().message(code));
}

void require_writable(const std::string& path) {
  struct stat old = {};
  // Opening a pipe would wait for its reader.
  if (::stat(path.c_str(), &old) == 0 && !S_ISREG(old.st_mode) && !S_ISDIR(old.st_mode)) {
    if (::access(path.c_str(), W_OK) != 0)
      throw Error(path + ": cannot be written: " + std::generic_category().message(errno));
    return;
  }
  const AtomicFile tried(path);
}

void remove_unfinished_files() noexcept {
  for (const AtomicFile::Slot& slot : slots)
    if (slot.owner == ::getpid()) ::unlink(slot.path);
}

namespace {

// True if the last line was truncated (a full disk, a crash): the next line must not be joined to it.
bool ends_within_a_line(int file) {
  const off_t end = ::lseek(file, 0, SEEK_END);
  char last = '\n';
  return end > 0 && ::pread(file, &last, 1, end - 1) == 1 && last != '\n';
}

std::string reason(const std::string& file, int code) {
  return file + ": " + std::generic_category().message(code);
}

}  // namespace

std::string append_line(const std::string& file, const std::string& line) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::error_code failed;
  if (!folder.empty()) std::filesystem::create_directories(folder, failed);
  if (failed) return folder.string() + ": " + failed.message();
  const int to = ::open(file.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (to < 0) return reason(file, errno);
  // Other processes wait, so that they do not take a line that is being written for a truncated one. On a
  // file system without locks the line is still appended by one write.
  while (::flock(to, LOCK_EX) != 0 && errno == EINTR) continue;
  const std::string whole = (ends_within_a_line(to) ? "\n" : "") + line + "\n";
  ssize_t written = 0;
  do written = ::write(to, whole.data(), whole.size());
  while (written < 0 && errno == EINTR);
  const int code = written < 0 ? errno : ENOSPC;
  const bool closed = ::close(to) == 0;
  if (written != static_cast<ssize_t>(whole.size())) return reason(file, code);
  return closed ? std::string() : reason(file, errno);
}

std::vector<std::string> read_lines(const std::string& file) {
  std::vector<std::string> out;
  std::ifstream from(file, std::ios::binary);
  for (std::string line; std::getline(from, line);) out.push_back(std::move(line));
  return out;
}

}  // namespace tessera
