// SPDX-License-Identifier: Apache-2.0
// Image views, by which programs pass pictures in their own memory to calls such as filter(), and border
// modes.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <type_traits>
#include "tessera/core/array/array.hpp"
#include "tessera/core/array/element.hpp"
#include "tessera/core/text/error.hpp"

namespace tessera {
namespace imaging {

// Continuations of an axis "abcd":
//   constant cc|abcd|cc   replicate aa|abcd|dd   reflect ba|abcd|dc   reflect_101 cb|abcd|cb
//   wrap cd|abcd|ab
// Indices are folded as often as needed, so pictures may be smaller than the kernel.
enum class Border : int { constant, replicate, reflect, reflect_101, wrap };

}  // namespace imaging

using imaging::Border;

// Pictures of one size. The channels of a pixel are contiguous in memory, and so are the pixels of a row.
template <class T>
struct ImageView {
  T* data = nullptr;
  std::int64_t height = 0, width = 0, channels = 1;
  std::int64_t row_stride = 0;  // from one row to the next, in elements; 0: no gaps; negative: bottom up
  std::int64_t images = 1;
  std::int64_t image_stride = 0;  // from one picture to the next; 0: no gaps
};

namespace imaging {

// Returns the type-erased view: [images,height,width,channels]. Throws Error for rows longer than
// their stride, for negative extents, and for sizes that exceed the address space.
template <class T>
ArrayView array_view(const char* name, const ImageView<T>& x) {
  using Plain = std::remove_const_t<T>;
  if (x.images < 0 || x.height < 0 || x.width < 0 || x.channels < 0)
    throw Error(std::string(name) + " has a negative extent");
  std::int64_t line = 0, image = 0;
  bool is_too_large = __builtin_mul_overflow(x.width, x.channels, &line);
  const std::int64_t row = x.row_stride != 0 ? x.row_stride : line;
  is_too_large = is_too_large || row == std::numeric_limits<std::int64_t>::min() ||
                 __builtin_mul_overflow(x.height, std::abs(row), &image);
  if (is_too_large) throw Error(std::string(name) + " exceeds the address space");
  if (x.image_stride != 0) image = x.image_stride;
  if (x.height > 1 && std::abs(row) < line)
    throw Error(std::string(name) + " has the row stride " + std::to_string(row) + ", but rows of " +
                std::to_string(line) + " samples");
  return {const_cast<Plain*>(x.data),
          element_of<Plain>,
          {x.images, x.height, x.width, x.channels},
          {image, row, x.channels, 1}};
}

}  // namespace imaging
}  // namespace tessera
