// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/npy.hpp"
#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <vector>
#include "tessera/io/atomic_file.hpp"
#include "tessera/io/mapped_file.hpp"
#include "tessera/io/npy_dict.hpp"
#include "tessera/io/npy_header.hpp"

namespace tessera::npy {
namespace {

constexpr std::size_t widest_access = 16;  // of any kernel, in bytes

Array adopt(const Header& header, void* data, std::shared_ptr<void> owner) {
  return Array(ArrayView{data, header.element, header.extents, header.strides()}, std::move(owner));
}

void reverse_bytes(std::byte* data, std::size_t bytes, std::size_t size) {
  for (std::byte* at = data; at != data + bytes; at += size) std::reverse(at, at + size);
}

// In the order of the file, so that Fortran order needs no transposing here either.
Array copy_of(const Header& header, std::span<const std::byte> file) {
  const std::size_t size = size_of(header.element), bytes = header.data_bytes;
  const auto kept = std::make_shared<Array>(header.element, Extents{static_cast<std::int64_t>(bytes / size)});
  if (bytes != 0) std::memcpy(kept->as<std::byte>(), file.data() + header.data_offset, bytes);
  if (header.swapped) reverse_bytes(kept->as<std::byte>(), bytes, size);
  return adopt(header, kept->as<void>(), kept);
}

[[noreturn]] void fail(const std::string& path, int code) {
  throw Error(path + ": " + std::generic_category().message(code));
}

MappedFile map(const std::string& path) {
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) fail(path, errno);
  const std::unique_ptr<const int, void (*)(const int*)> closer(&file, [](const int* f) { ::close(*f); });
  return map_file(file, path);
}

bool column_major(const ArrayView& array) {
  const Extents expected = column_major_strides(array.extents);
  for (std::size_t i = 0; i < array.extents.size(); ++i)
    if (array.extents[i] > 1 && array.strides[i] != expected[i]) return false;
  return true;
}

template <std::size_t size>
void gather(const std::byte* from, std::int64_t step, std::byte* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i, from += step, to += size) std::memcpy(to, from, size);
}

void gather(const std::byte* from, std::int64_t step, std::byte* to, std::size_t count, std::size_t size) {
  switch (size) {
    case 1:
      return gather<1>(from, step, to, count);
    case 2:
      return gather<2>(from, step, to, count);
    case 4:
      return gather<4>(from, step, to, count);
    default:
      return gather<8>(from, step, to, count);
  }
}

// Streams a view in row order through a buffer, as a copy of the whole may not fit into memory.
class RowOrderWriter {
 public:
  RowOrderWriter(AtomicFile& file, const ArrayView& array)
      : file_(file), array_(array), size_(size_of(array.element)), buffer_(std::size_t{1} << 20) {}

  void write() {
    dimension(0, static_cast<const std::byte*>(array_.data));
    flush();
  }

 private:
  void dimension(std::size_t d, const std::byte* at) {
    const std::int64_t step = array_.strides[d] * static_cast<std::int64_t>(size_);
    if (d + 1 == array_.extents.size()) return row(at, step);
    for (std::int64_t i = 0; i < array_.extents[d]; ++i) dimension(d + 1, at + i * step);
  }

  void row(const std::byte* at, std::int64_t step) {
    for (auto left = static_cast<std::size_t>(array_.extents.back()); left != 0;) {
      if (used_ == buffer_.size()) flush();
      const std::size_t count = std::min(left, (buffer_.size() - used_) / size_);
      gather(at, step, buffer_.data() + used_, count, size_);
      at += static_cast<std::int64_t>(count) * step;
      used_ += count * size_;
      left -= count;
    }
  }

  void flush() {
    file_.write({buffer_.data(), used_});
    used_ = 0;
  }

  AtomicFile& file_;
  const ArrayView& array_;
  const std::size_t size_;
  std::vector<std::byte> buffer_;
  std::size_t used_ = 0;
};

void write(AtomicFile& file, const std::string& name, const ArrayView& array) {
  if (array.extents.size() > most_dimensions)
    throw Error(name + ": cannot be written: more than " + std::to_string(most_dimensions) + " dimensions");
  const bool rows = array.count() == 0 || array.row_major(), columns = !rows && column_major(array);
  const std::string header = format_header(array.element, columns, array.extents);
  file.write(std::as_bytes(std::span(header)));
  const auto* data = static_cast<const std::byte*>(array.data);
  if (rows || columns) file.write({data, array.bytes()});
  else RowOrderWriter(file, array).write();
  file.commit();
}

}  // namespace

Array read(const std::string& path, std::optional<Element> as) {
  const MappedFile mapped = map(path);
  auto* const bytes = static_cast<std::byte*>(mapped.address.get());
  const Header header = parse_header({bytes, mapped.bytes}, path, as);
  if (header.swapped || header.data_offset % widest_access != 0)
    return copy_of(header, {bytes, mapped.bytes});
  return adopt(header, bytes + header.data_offset, mapped.address);
}

Array parse(std::span<const std::byte> file, const std::string& name, std::optional<Element> as) {
  return copy_of(parse_header(file, name, as), file);
}

Numbers read_numbers(const std::string& path) {
  const MappedFile mapped = map(path);
  return parse_numbers({static_cast<const std::byte*>(mapped.address.get()), mapped.bytes}, path);
}

void write(const std::string& path, const ArrayView& array) {
  AtomicFile file(path);
  write(file, path, array);
}

void write(int descriptor, const std::string& name, const ArrayView& array) {
  AtomicFile file(descriptor, name);
  write(file, name, array);
}

}  // namespace tessera::npy
