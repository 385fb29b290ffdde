// SPDX-License-Identifier: Apache-2.0
// filter(image, out, options): pictures filtered, for programs. docs/filter.md has the formula.
#pragma once
#include <array>
#include <memory>
#include <string_view>
#include "tessera/image_view.hpp"
#include "tessera/run/enqueue.hpp"
#include "tessera/run/run.hpp"

namespace tessera {

struct FilterOptions {
  // laplacian4 (= laplacian), laplacian8, laplacian_ksize3, gaussian, box, sobel_x, sobel_y, scharr_x,
  // scharr_y, sharpen; weights as in "1 2 1; 2 4 2; 1 2 1"; or a .npy file; up to 31 x 31.
  std::string_view kernel = "laplacian";
  int size = 3;              // for gaussian and box: taps along a side
  double sigma = 0;          // for gaussian, in pixels; 0: 0.3·((size - 1)/2 - 1) + 0.8
  bool convolution = false;  // the kernel is rotated by 180 degrees
  Border border = Border::reflect_101;
  double border_value = 0;            // value around the picture, for a constant border
  bool abs = false;                   // the magnitude of each sum
  double scale = 1, offset = 0;       // factor of each sum; offset added to the product
  std::int64_t roi_x = 0, roi_y = 0;  // origin of the result in the picture, in pixels
  Request request = {};               // device, variant, tuning
  bool check = false;                 // filter() only: verifies the result, see Outcome::verdict

  bool operator==(const FilterOptions&) const = default;
  // The members that view text; a cached call copies their targets.
  std::array<std::string_view*, 1> texts() { return {&kernel}; }
};

namespace filtering {
Outcome filter(const ArrayView& image, const ArrayView& filtered, const FilterOptions& options);
std::shared_ptr<const PreparedCall> enqueue_filter(void* stream, const ArrayView& image,
                                                   const ArrayView& filtered, const FilterOptions& options,
                                                   const Workspace& workspace);
}  // namespace filtering

// Filters pictures in host memory. T and Out, the elements of the picture and of the result: std::uint8_t,
// std::uint16_t, std::int16_t, f16 or float; integers are rounded and saturate. The result is as large as the
// picture, or as the region of interest, and must not overlap the picture.
//
// A thread caches its last 16 combinations of options and result size, each with plans for up to 16 image
// sizes. If `filtered.data` is null, the result is allocated and owned by the Outcome. Throws Error
// for an invalid kernel, sizes that do not match, an overlap, a variant that refuses or is unknown; of kind
// no_device if the device cannot be used.
template <class T, class Out>
Outcome filter(const ImageView<T>& image, const ImageView<Out>& filtered, const FilterOptions& options = {}) {
  static_assert(!std::is_const_v<Out>, "the result is written");
  return filtering::filter(imaging::array_view("image", image), imaging::array_view("filtered", filtered),
                           options);
}

// Filters in GPU memory, after the work that is already in the stream (a cudaStream_t); a graph may capture
// it. In host memory, the stream is null and the work is done on return. Returns the planned call; null: the
// result is empty.
template <class T, class Out>
std::shared_ptr<const PreparedCall> enqueue_filter(void* stream, const ImageView<T>& image,
                                                   const ImageView<Out>& filtered,
                                                   const FilterOptions& options = {},
                                                   const Workspace& workspace = {}) {
  static_assert(!std::is_const_v<Out>, "the result is written");
  return filtering::enqueue_filter(stream, imaging::array_view("image", image),
                                   imaging::array_view("filtered", filtered), options, workspace);
}

}  // namespace tessera
