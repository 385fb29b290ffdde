// SPDX-License-Identifier: Apache-2.0
// CPU baseline: OpenCV's Laplacian, GaussianBlur and filter2D, with the threads that it takes by itself.
//
// filter2D knows no wrapped border, correlation only, and rounds sums with fractions as it likes: results are
// compared for whole sums only by the tests of this project, here only times.
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include "ops/filter/filter.hpp"
#include "tessera/rung.hpp"

namespace tessera::filter {
namespace {

int depth_of(Element element) {
  switch (element) {
    case Element::u8:
      return CV_8U;
    case Element::u16:
      return CV_16U;
    case Element::i16:
      return CV_16S;
    case Element::f32:
      return CV_32F;
    default:
      return -1;
  }
}

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

template <class T>
void run_opencv(const Arguments& arguments, const Tuning&, Run& run) {
  const auto p = Problem<T>::of(arguments);
  cv::setNumThreads(run.device->threads);
  const int from_type = CV_MAKETYPE(depth_of(element_of<T>), p.channels()),
            to_type = CV_MAKETYPE(depth_of(p.to), p.channels());
  const int border = border_of(p.border), depth = depth_of(p.to);
  const std::string& name = arguments.text("kernel");
  for (std::int64_t n = 0; n < p.images(); ++n) {
    const cv::Mat whole(p.height(), p.width(), from_type,
                        const_cast<T*>(p.image.data + n * p.image.stride[0]),
                        static_cast<std::size_t>(p.image.stride[1]) * sizeof(T));
    const cv::Mat from = whole(cv::Rect(p.roi_x, p.roi_y, p.cols(), p.rows()));
    const std::size_t size = size_of(p.to);
    cv::Mat to(p.rows(), p.cols(), to_type,
               p.filtered.data + static_cast<std::size_t>(n * p.filtered.stride[0]) * size,
               static_cast<std::size_t>(p.filtered.stride[1]) * size);
    const int side = static_cast<int>(arguments.integer("size"));
    if (name == "laplacian" || name == "laplacian4")
      cv::Laplacian(from, to, depth, 1, p.finish.scale, p.finish.offset, border);
    else if (name == "laplacian_ksize3")
      cv::Laplacian(from, to, depth, 3, p.finish.scale, p.finish.offset, border);
    else if (name == "gaussian")
      cv::GaussianBlur(from, to, cv::Size(side, side), arguments.real("sigma"), 0, border);
    else cv::filter2D(from, to, depth, kernel_of(p.taps), cv::Point(-1, -1), p.finish.offset, border);
    if (to.data != p.filtered.data + static_cast<std::size_t>(n * p.filtered.stride[0]) * size)
      throw Error(Error::Kind::internal, "OpenCV has put its result elsewhere");
  }
}

Reason refuses(const Arguments& arguments, const Tuning&, const Device&) {
  const auto options = options_of(arguments);
  if (options->border == Border::wrap) return "knows no wrapped border";
  if (options->finish.absolute) return "has no magnitudes";
  if (arguments.text("mode") != "correlation") return "correlates only";
  if (depth_of(options->to) < 0) return "has no f16";
  if (arguments.text("kernel") == "gaussian" && options->to != arguments.element())
    return "blurs into the picture's type only";
  for (const char* name : {"image", "filtered"}) {
    const ArrayView& view = arguments.array(name);
    if (view.strides[2] != view.extents[3]) return "is for pixels side by side";
  }
  return std::nullopt;
}

Variant variant() {
  Choice choice;
  choice.prepare[Element::u8] = unplanned(run_opencv<std::uint8_t>);
  choice.prepare[Element::u16] = unplanned(run_opencv<std::uint16_t>);
  choice.prepare[Element::i16] = unplanned(run_opencv<std::int16_t>);
  choice.prepare[Element::f32] = unplanned(run_opencv<float>);
  choice.refuses = refuses;
  Variant out;
  out.idea = "OpenCV's Laplacian, GaussianBlur and filter2D";
  out.where = Where::cpu;
  out.baseline = true;
  out.compares_time_only = true;
  out.choices = {choice};
  return out;
}

const Rung rung(variant());

}  // namespace
}  // namespace tessera::filter
