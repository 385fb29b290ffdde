// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/atomic_file.hpp"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>
#include "tessera/core/error.hpp"

namespace tessera {
namespace {

// A name that no other process or thread of this machine has; short whatever the target's name, as
// a folder limits the length of names. Machines that share a folder are told apart by O_EXCL.
std::string next_name() {
  static std::atomic<unsigned> counter{0};
  return ".tessera-" + std::to_string(::getpid()) + "-" + std::to_string(counter++) + ".tmp";
}

// Where a chain of symbolic links ends, even if there is no file yet: a link keeps being a link.
std::string follow_links(const std::string& path) {
  constexpr int most_links = 40;  // as many as the kernel follows
  std::filesystem::path at = path;
  std::error_code none;
  for (int i = 0; i < most_links && std::filesystem::is_symlink(at, none); ++i) {
    const std::filesystem::path next = std::filesystem::read_symlink(at, none);
    if (none) break;
    at = at.parent_path() / next;
  }
  return at.string();
}

}  // namespace

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
  open_beside(named.has_parent_path() ? named.parent_path().string() : ".");
  // Best effort: what is lost is only the old file's permissions.
  if (exists && ::fchmod(file_, old.st_mode & 07777) != 0) errno = 0;
}

AtomicFile::~AtomicFile() { abandon(); }

void AtomicFile::open_beside(const std::string& folder) {
  do {
    temporary_ = (std::filesystem::path(folder) / next_name()).string();
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file_ < 0 && errno == EEXIST);
  if (file_ < 0) fail("cannot be written to folder " + folder, errno);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot be written", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  // A full disk or a lost server may show only here; the rename must come after the data.
  if (!temporary_.empty() && ::fsync(file_) != 0) fail("cannot be written", errno);
  close_checked();
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot be replaced", errno);
  temporary_.clear();
}

void AtomicFile::close_checked() {
  if (::close(std::exchange(file_, -1)) != 0 && errno != EINTR) fail("cannot be written", errno);
}

void AtomicFile::abandon() noexcept {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(const std::string& doing, int code) const {
  throw Error(path_ + ": " + doing + ": " + std::generic_category().message(code));
}

}  // namespace tessera
