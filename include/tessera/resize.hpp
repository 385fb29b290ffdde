// SPDX-License-Identifier: Apache-2.0
// resize(image, out, options): pictures of another size, for programs. docs/resize.md has the formulas.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include "tessera/image_view.hpp"
#include "tessera/run/enqueue.hpp"
#include "tessera/run/run.hpp"

namespace tessera {

struct ResizeOptions {
  enum class Convention { pillow, opencv, onnx };
  enum class Light { coded, linear };

  // nearest, nearest_exact, linear (= bilinear), linear_exact, cubic (= bicubic), lanczos2, lanczos3,
  // lanczos4, area, box, hamming; lanczos is Pillow's 3, OpenCV's 4.
  std::string_view method = "cubic";
  Convention convention = Convention::pillow;  // library whose formula is used
  std::optional<double> cubic_a = {};          // for cubic; default: -0.5 in Pillow, -0.75 in OpenCV and ONNX
  // For onnx, by its names. coordinate: the position of a result's sample in the picture; nearest_mode: the
  // choice of the nearest sample; antialias: filters are widened if a picture shrinks; exclude_outside: taps
  // outside have weight 0.
  std::string_view coordinate = "auto", nearest_mode = "auto";
  std::optional<bool> antialias = {};
  bool exclude_outside = false;
  Light light = Light::coded;            // linear: sums of linear light, for sRGB pictures (8 and 16 bits)
  std::optional<bool> premultiply = {};  // colours by alpha, the last channel; default: Pillow with 2 or 4
  Request request = {};                  // device, variant, tuning
  bool check = false;                    // resize() only: verifies the result, see Outcome::verdict

  bool operator==(const ResizeOptions&) const = default;
  // The members that view text; a cached call copies their targets.
  std::array<std::string_view*, 3> texts() { return {&method, &coordinate, &nearest_mode}; }
};

namespace resizing {
Outcome resize(const ArrayView& image, const ArrayView& resized, const ResizeOptions& options);
std::shared_ptr<const PreparedCall> enqueue_resize(void* stream, const ArrayView& image,
                                                   const ArrayView& resized, const ResizeOptions& options,
                                                   const Workspace& workspace);
}  // namespace resizing

// Resizes pictures in host memory to the size of `resized`, which must not overlap them. T: std::uint8_t,
// std::uint16_t, std::int16_t, f16 or float.
//
// A thread caches its last 16 combinations of options and result size, each with plans for up to 16 image
// sizes. If `resized.data` is null, the result is allocated and owned by the Outcome. Throws Error
// for an unknown method, images or channels that differ, an overlap, a variant that refuses or is unknown; of
// kind no_device if the device cannot be used.
template <class T, class Out>
requires std::is_same_v<std::remove_const_t<T>, Out> Outcome resize(const ImageView<T>& image,
                                                                    const ImageView<Out>& resized,
                                                                    const ResizeOptions& options = {}) {
  return resizing::resize(imaging::array_view("image", image), imaging::array_view("resized", resized),
                          options);
}

// Resizes in GPU memory, after the work that is already in the stream (a cudaStream_t); a graph may capture
// it. In host memory, the stream is null and the work is done on return. Returns the planned call; null: the
// result is empty.
template <class T, class Out>
requires std::is_same_v<std::remove_const_t<T>, Out> std::shared_ptr<const PreparedCall> enqueue_resize(
    void* stream, const ImageView<T>& image, const ImageView<Out>& resized, const ResizeOptions& options = {},
    const Workspace& workspace = {}) {
  return resizing::enqueue_resize(stream, imaging::array_view("image", image),
                                  imaging::array_view("resized", resized), options, workspace);
}

}  // namespace tessera
