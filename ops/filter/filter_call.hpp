// SPDX-License-Identifier: Apache-2.0
// filter(image, out, options): pictures filtered, for programs. docs/filter.md has the formula.
// Installed: for programs.
#pragma once
#include <array>
#include <memory>
#include <string_view>
#include "../imaging/image_view.hpp"
#include "tessera/run/enqueue.hpp"
#include "tessera/run/run.hpp"

namespace tessera {

struct FilterOptions {
  // laplacian4 (= laplacian), laplacian8, laplacian_ksize3, gaussian, box, sobel_x, sobel_y, scharr_x,
  // scharr_y, sharpen; weights as in "1 2 1; 2 4 2; 1 2 1"; or a .npy file; up to 31 x 31.
  std::string_view kernel = "laplacian";
  int size = 3;              // of gaussian and box: taps along a side
  double sigma = 0;          // of gaussian, in pixels; 0: 0.3·((size - 1)/2 - 1) + 0.8
  bool convolution = false;  // the kernel turned by half a turn
  Border border = Border::reflect_101;
  double border_value = 0;            // what lies around the picture where the border is constant
  bool abs = false;                   // the magnitude of each sum
  double scale = 1, offset = 0;       // a factor of each sum; what is added then
  std::int64_t roi_x = 0, roi_y = 0;  // where in the picture the result begins, in pixels
  Request request = {};               // device, variant, tuning
  bool check = false;                 // filter(): verify, see Outcome::verdict

  bool operator==(const FilterOptions&) const = default;
  std::array<std::string_view*, 1> texts() { return {&kernel}; }
};

namespace filtering {
Outcome filter(const ArrayView& image, const ArrayView& filtered, const FilterOptions& options);
std::shared_ptr<const PreparedCall> enqueue_filter(void* stream, const ArrayView& image,
                                                   const ArrayView& filtered, const FilterOptions& options,
                                                   const Workspace& workspace);
}  // namespace filtering

// Of pictures in host memory. T and Out, the elements of the picture and of the result: std::uint8_t,
// std::uint16_t, std::int16_t, f16 or float; whole numbers are rounded and saturate. The result is as large
// as the picture, or as the region of interest; it lies apart from the picture.
//
// A thread remembers its last sixteen pairs of options and result sizes, with the plans of sixteen picture
// sizes each: a repeated call reads no text. Without data for the result, the Outcome owns it. Throws Error
// for a kernel that is none, sizes that do not fit, an overlap, a variant that refuses or is unknown; of kind
// no_device where the device cannot be used.
template <class T, class Out>
Outcome filter(const ImageView<T>& image, const ImageView<Out>& filtered, const FilterOptions& options = {}) {
  static_assert(!std::is_const_v<Out>, "the result is written");
  return filtering::filter(imaging::array_view("image", image), imaging::array_view("filtered", filtered),
                           options);
}

// The same in the memory of a GPU, after what the stream (a cudaStream_t) holds already; a graph may capture
// it. Or in host memory: then the stream is null, and the work is done on return. Returns the call that was
// planned.
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
