// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry: any bytes either make an array that lies within its own memory and whose
// header survives being written and read again, or an Error that names the file.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include "tessera/io/npy.hpp"

namespace {

using namespace tessera;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_array(const Array& array) {
  const Array packed = packed_copy(array.view());
  require(packed.extents() == array.extents());
  if (array.view().count() == 0) return;
  require(array.view().span() == packed.view().span());
}

void check_header(const npy::Header& header) {
  const std::string text = npy::format_header(header.element, header.column_major, header.extents);
  std::vector<std::byte> file(text.size() + header.data_bytes);
  std::memcpy(file.data(), text.data(), text.size());
  const npy::Header again = npy::parse_header(file, "again", header.element);
  require(again.extents == header.extents && again.column_major == header.column_major);
  require(again.data_bytes == header.data_bytes && again.data_offset % 64 == 0 && !again.swapped);
}

void check(std::span<const std::byte> file, std::optional<Element> as) {
  try {
    const npy::Header header = npy::parse_header(file, "input", as);
    require(header.data_offset + header.data_bytes <= file.size());
    check_array(npy::parse(file, "input", as));
    check_header(header);
  } catch (const Error& error) {
    require(error.kind() == Error::Kind::user && std::string(error.what()).starts_with("input: "));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span file(reinterpret_cast<const std::byte*>(data), size);
  check(file, std::nullopt);
  check(file, Element::bf16);
  return 0;
}
