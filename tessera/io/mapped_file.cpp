// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/mapped_file.hpp"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include "tessera/core/error.hpp"

namespace tessera {
namespace {

// No descriptor is kept open: mapped files may be many.
struct Source {
  std::string path;
  struct stat about;
};

std::mutex mutex;
std::map<const char*, Source>& sources() {
  static std::map<const char*, Source> all;
  return all;
}

[[noreturn]] void fail(const std::string& path, int code) {
  throw Error(path + ": " + std::generic_category().message(code));
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

void unmap(void* address, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  sources().erase(static_cast<const char*>(address));
  (void)munmap(address, bytes);
}

}  // namespace

MappedFile map_file(int file, const std::string& path) {
  struct stat about = {};
  if (::fstat(file, &about) != 0) fail(path, errno);
  if (S_ISDIR(about.st_mode)) fail(path, EISDIR);
  if (!S_ISREG(about.st_mode)) throw Error(path + ": is not a regular file");
  const auto bytes = static_cast<std::size_t>(about.st_size);
  if (bytes == 0) return {};
  void* const address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0);
  if (address == MAP_FAILED) fail(path, errno);
  std::error_code ignored;
  const std::string whole = std::filesystem::absolute(path, ignored).string();
  {
    const std::lock_guard lock(mutex);
    sources()[static_cast<const char*>(address)] = {whole, about};
  }
  return {std::shared_ptr<void>(address, [bytes](void* p) { unmap(p, bytes); }), bytes};
}

std::optional<FilePlace> find_mapped(const void* address) {
  const std::lock_guard lock(mutex);
  const auto* const at = static_cast<const char*>(address);
  auto found = sources().upper_bound(at);
  if (found == sources().begin()) return std::nullopt;
  --found;
  const auto& [path, about] = found->second;
  const std::int64_t offset = at - found->first;
  if (offset >= about.st_size) return std::nullopt;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return std::nullopt;
  struct stat now = {};
  if (::fstat(file, &now) == 0 && same_file(about, now)) return FilePlace{file, offset};
  (void)::close(file);
  return std::nullopt;
}

}  // namespace tessera
