// SPDX-License-Identifier: Apache-2.0
// Files in memory as they lie, so that several processes can have one without a copy of it.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace tessera {

struct MappedFile {
  std::shared_ptr<void> address;  // null: the file is empty
  std::size_t bytes = 0;
};

// An open regular file, from its beginning. Private: writes go to copies of pages. Not reserved: it may be
// larger than memory. Throws Error, beginning with the path.
MappedFile map_file(int file, const std::string& path);

// Where a byte of such memory lies: a descriptor, which is the caller's to close, and the place in that file.
// What was written into the memory is not there.
struct FilePlace {
  int file = -1;
  std::int64_t offset = 0;
};
// Nothing where the path has another file by now, or the file has changed since it was mapped.
std::optional<FilePlace> find_mapped(const void* address);

}  // namespace tessera
