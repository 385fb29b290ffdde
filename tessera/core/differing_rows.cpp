// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/differing_rows.hpp"
#include <cstring>
#include "tessera/core/array.hpp"

namespace tessera {

std::vector<std::int64_t> differing_rows(const Arguments& arguments, const std::string& output,
                                         const std::function<void(const Arguments&)>& compute) {
  Arguments again = arguments;
  const ArrayView& given = arguments.array(output);
  const Array computed(given.element, given.extents);
  again.set_array(output, computed.view());
  compute(again);
  const std::size_t size = size_of(given.element);
  std::vector<std::int64_t> out;
  for (std::int64_t row = 0; row < given.extents[0] * given.extents[1]; ++row) {
    const auto at = [&](const ArrayView& view) {
      const std::int64_t offset =
          row / given.extents[1] * view.strides[0] + row % given.extents[1] * view.strides[1];
      return static_cast<const char*>(view.data) + offset * static_cast<std::int64_t>(size);
    };
    const bool packed = given.strides[3] == 1 && given.strides[2] == given.extents[3];
    const auto bytes = static_cast<std::size_t>(given.extents[2] * given.extents[3]) * size;
    if (!packed || std::memcmp(at(given), at(computed.view()), bytes) != 0) out.push_back(row);
  }
  return out;
}

}  // namespace tessera
