// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/mpi/shared_file.hpp"
#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <optional>
#include <span>
#include <system_error>
#include "tessera/io/npy.hpp"

namespace tessera {
namespace {

class OpenFile {
 public:
  OpenFile(const std::string& temporary, std::string path)
      : path_(std::move(path)), file_(::open(temporary.c_str(), O_WRONLY | O_CLOEXEC)) {
    if (file_ < 0 && errno == ENOENT)
      throw Error(path_ + ": cannot be written: its folder is not one that rank 0's host shares");
    if (file_ < 0) fail();
  }
  ~OpenFile() {
    if (file_ >= 0) ::close(file_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  void write(const char* from, std::size_t bytes, std::size_t at) {
    while (bytes != 0) {
      const ssize_t written = ::pwrite(file_, from, bytes, static_cast<off_t>(at));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail();
      const auto count = static_cast<std::size_t>(written);
      from += count;
      at += count;
      bytes -= count;
    }
  }
  void finish() {
    if (::fsync(file_) != 0) fail();
    const int closed = ::close(file_);
    file_ = -1;
    if (closed != 0 && errno != EINTR) fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(path_ + ": cannot be written: " + std::generic_category().message(errno));
  }

  std::string path_;
  int file_;
};

void write_block(OpenFile& file, std::size_t header_bytes, const Extents& extents, const ArrayView& block,
                 const Interval& rows, const Interval& cols) {
  const auto size = static_cast<std::int64_t>(size_of(block.element));
  const auto* from = static_cast<const char*>(block.data);
  const bool whole_rows = cols.size() == extents[1];
  const std::int64_t rows_at_once = whole_rows ? rows.size() : 1, bytes = rows_at_once * cols.size() * size;
  for (std::int64_t row = rows.first; row < rows.last && bytes != 0; row += rows_at_once, from += bytes)
    file.write(from, static_cast<std::size_t>(bytes),
               header_bytes + static_cast<std::size_t>((row * extents[1] + cols.first) * size));
}

}  // namespace

void write_shared(Communicator& ranks, const std::string& path, const Extents& extents,
                  const ArrayView& block, const Interval& rows, const Interval& cols) {
  std::optional<AtomicFile> whole;
  const std::string header = npy::format_header(block.element, false, extents);
  agree(ranks, [&] {
    if (ranks.rank() != 0) return;
    whole.emplace(path);
    if (whole->temporary().empty())
      throw Error(path + ": is no regular file: several ranks cannot write it together");
    whole->write(std::as_bytes(std::span(header)));
    whole->extend(header.size() + bytes_of(block.element, extents));
  });
  const std::string temporary = ranks.broadcast(whole ? whole->temporary() : "", 0);
  agree(ranks, [&] {
    if (rows.size() == 0 || cols.size() == 0) return;
    OpenFile file(temporary, path);
    write_block(file, header.size(), extents, block, rows, cols);
    file.finish();
  });
  agree(ranks, [&] {
    if (whole) whole->commit();
  });
}

}  // namespace tessera
