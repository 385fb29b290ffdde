// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/array/shared_array.hpp"
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include "tessera/core/text/error.hpp"

namespace tessera {
namespace {

struct Mapping {
  int file;
  std::size_t bytes;
};

std::mutex mutex;
std::map<const char*, Mapping>& mappings() {
  static std::map<const char*, Mapping> all;
  return all;
}

Error no_memory(std::size_t bytes) {
  return Error("the system does not give " + std::to_string(bytes) +
               " bytes of shared memory: " + std::strerror(errno));
}

void release(void* address) {
  const std::lock_guard lock(mutex);
  const auto found = mappings().find(static_cast<const char*>(address));
  if (found == mappings().end()) return;
  (void)munmap(address, found->second.bytes);
  (void)close(found->second.file);
  mappings().erase(found);
}

}  // namespace

Array shared_array(Element element, const Extents& extents) {
  const std::size_t bytes = std::max<std::size_t>(bytes_of(element, extents), 1);
  const int file = memfd_create("tessera", MFD_CLOEXEC);
  if (file < 0) throw no_memory(bytes);
  void* const address = ftruncate(file, static_cast<off_t>(bytes)) == 0
                            ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                            : MAP_FAILED;
  if (address == MAP_FAILED) {
    const Error error = no_memory(bytes);
    (void)close(file);
    throw error;
  }
  {
    const std::lock_guard lock(mutex);
    mappings()[static_cast<const char*>(address)] = {file, bytes};
  }
  return {{address, element, extents, row_major_strides(extents)}, std::shared_ptr<void>(address, release)};
}

std::optional<SharedMemoryLocation> find_shared(const void* address) {
  const std::lock_guard lock(mutex);
  const auto* const at = static_cast<const char*>(address);
  auto found = mappings().upper_bound(at);
  if (found == mappings().begin()) return std::nullopt;
  --found;
  const std::int64_t offset = at - found->first;
  if (offset >= static_cast<std::int64_t>(found->second.bytes)) return std::nullopt;
  return SharedMemoryLocation{found->second.file, offset, static_cast<std::int64_t>(found->second.bytes)};
}

std::optional<std::int64_t> memory_left() {
  std::ifstream from("/proc/meminfo");
  std::optional<std::int64_t> out;
  std::int64_t kibibytes = 0;
  for (std::string name, line; from >> name >> kibibytes && std::getline(from, line);)
    if (name == "MemAvailable:" || name == "SwapFree:") out = out.value_or(0) + 1024 * kibibytes;
  return out;
}

std::shared_ptr<void> map_shared(int file, std::size_t bytes) {
  void* const address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (address == MAP_FAILED) throw no_memory(bytes);
  return {address, [bytes](void* at) { (void)munmap(at, bytes); }};
}

}  // namespace tessera
