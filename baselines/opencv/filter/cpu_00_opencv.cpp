// SPDX-License-Identifier: Apache-2.0
// CPU baseline: OpenCV's Laplacian, GaussianBlur and filter2D, with the threads that it takes by itself.
//
// filter2D knows no wrapped border, correlation only, and rounds sums with fractions as it likes: results are
// compared for whole sums only by the tests of this project, here only times.
#include "../pictures.hpp"
#include "ops/filter/filter.hpp"

namespace tessera::filtering {
namespace {

int border_of(Border border) {
  switch (border) {
    case Border::constant:
      return cv::BORDER_CONSTANT;
    case Border::replicate:
      return cv::BORDER_REPLICATE;
    case Border::reflect:
      return cv::BORDER_REFLECT;
    default:
      return cv::BORDER_REFLECT_101;
  }
}

cv::Mat kernel_of(const Taps& taps) {
  cv::Mat out(taps.rows, taps.cols, CV_32F);
  for (int i = 0; i < taps.rows * taps.cols; ++i)
    out.at<float>(i / taps.cols, i % taps.cols) =
        taps.whole ? static_cast<float>(taps.weight[i]) : __builtin_bit_cast(float, taps.weight[i]);
  return out;
}

void run_opencv(const Arguments& arguments, const Tuning&, Run& run) {
  const Options& options = options_of(arguments);
  const OutputConversion& conversion = options.conversion;
  const ArrayView& filtered = arguments.array("filtered");
  const cv::Rect region(static_cast<int>(options.roi_x), static_cast<int>(options.roi_y),
                        static_cast<int>(filtered.extents[2]), static_cast<int>(filtered.extents[1]));
  const int border = border_of(options.border), depth = opencv::depth_of(options.to);
  const int side = static_cast<int>(arguments.integer("size"));
  const std::string& name = arguments.text("kernel");
  opencv::for_pictures(arguments.array("image"), filtered, run, [&](const cv::Mat& whole, cv::Mat& to) {
    const cv::Mat from = whole(region);
    if (name == "laplacian" || name == "laplacian4")
      cv::Laplacian(from, to, depth, 1, conversion.scale, conversion.offset, border);
    else if (name == "laplacian_ksize3")
      cv::Laplacian(from, to, depth, 3, conversion.scale, conversion.offset, border);
    else if (name == "gaussian")
      cv::GaussianBlur(from, to, cv::Size(side, side), arguments.real("sigma"), 0, border);
    else cv::filter2D(from, to, depth, kernel_of(options.taps), cv::Point(-1, -1), conversion.offset, border);
  });
}

Reason refuses(const Arguments& arguments, const Tuning&, const Device&) {
  const Options& options = options_of(arguments);
  if (options.border == Border::wrap) return "does not support a wrapped border";
  if (options.conversion.absolute) return "has no magnitudes";
  if (arguments.text("mode") != "correlation") return "correlates only";
  if (opencv::depth_of(options.to) < 0) return "has no f16";
  if (arguments.text("kernel") == "gaussian" && options.to != arguments.element())
    return "blurs into the picture's type only";
  if (const Reason gaps = opencv::refuses_gaps(arguments.array("image"))) return gaps;
  return opencv::refuses_gaps(arguments.array("filtered"));
}

const Rung rung(opencv::variant("OpenCV's Laplacian, GaussianBlur and filter2D", run_opencv, refuses));

}  // namespace
}  // namespace tessera::filtering
