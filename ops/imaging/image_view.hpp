// SPDX-License-Identifier: Apache-2.0
// Pictures in a program's memory, for typed calls, and what lies around a picture.
// Installed: for programs.
#pragma once
#include <cstdint>
#include <type_traits>
#include "tessera/core/array.hpp"
#include "tessera/core/element.hpp"

namespace tessera {
namespace imaging {

// An axis of "abcd" goes on as
//   constant cc|abcd|cc   replicate aa|abcd|dd   reflect ba|abcd|dc   reflect_101 cb|abcd|cb
//   wrap cd|abcd|ab
// and is folded as often as it takes, so that pictures smaller than the kernel are no exception.
enum class Border : int { constant, replicate, reflect, reflect_101, wrap };

}  // namespace imaging

using imaging::Border;

// Pictures of one size. The channels of a pixel are neighbours in memory, and so are the pixels of a row.
template <class T>
struct ImageView {
  T* data = nullptr;
  std::int64_t height = 0, width = 0, channels = 1;
  std::int64_t row_stride = 0;  // from one row to the next, in elements; 0: no gaps
  std::int64_t images = 1;
  std::int64_t image_stride = 0;  // from one picture to the next; 0: no gaps
};

namespace imaging {

// An ImageView without its type: [images,height,width,channels].
template <class T>
ArrayView array_view(const ImageView<T>& x) {
  using Plain = std::remove_const_t<T>;
  const std::int64_t row = x.row_stride != 0 ? x.row_stride : x.width * x.channels,
                     image = x.image_stride != 0 ? x.image_stride : x.height * row;
  return {const_cast<Plain*>(x.data),
          element_of<Plain>,
          {x.images, x.height, x.width, x.channels},
          {image, row, x.channels, 1}};
}

}  // namespace imaging
}  // namespace tessera
