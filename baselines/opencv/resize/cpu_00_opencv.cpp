// SPDX-License-Identifier: Apache-2.0
// CPU baseline: OpenCV's resize, with the threads that it takes by itself.
//
// OpenCV 4.6 sums cubic's rows in floats where vectors allow it, and floats in an order of its own: there
// results may differ by a last place, which the tests of this project hold; elsewhere they are the same bits.
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include "ops/resize/resize.hpp"
#include "ops/resize/axis.hpp"
#include "tessera/rung.hpp"

namespace tessera::resize {
namespace {

int depth_of(Element element) {
  switch (element) {
    case Element::u8:
      return CV_8U;
    case Element::u16:
      return CV_16U;
    case Element::i16:
      return CV_16S;
    default:
      return CV_32F;
  }
}

int flag_of(Method method) {
  switch (method) {
    case Method::nearest:
      return cv::INTER_NEAREST;
    case Method::nearest_exact:
      return cv::INTER_NEAREST_EXACT;
    case Method::linear:
      return cv::INTER_LINEAR;
    case Method::linear_exact:
      return cv::INTER_LINEAR_EXACT;
    case Method::cubic:
      return cv::INTER_CUBIC;
    case Method::area:
      return cv::INTER_AREA;
    case Method::lanczos4:
      return cv::INTER_LANCZOS4;
    default:
      return -1;
  }
}

Method method_of(const Arguments& arguments) {
  return method_named(arguments.text("method"), Convention::opencv);
}

template <class T>
void run_opencv(const Arguments& arguments, const Tuning&, Run& run) {
  const auto p = Problem<T>::of(arguments);
  cv::setNumThreads(run.device->threads);
  const int type = CV_MAKETYPE(depth_of(element_of<T>), p.channels());
  for (std::int64_t n = 0; n < p.images(); ++n) {
    const cv::Mat from(p.from_rows(), p.from_cols(), type,
                       const_cast<T*>(p.image.data + n * p.image.stride[0]),
                       static_cast<std::size_t>(p.image.stride[1]) * sizeof(T));
    T* const place = p.resized.data + n * p.resized.stride[0];
    cv::Mat to(p.rows(), p.cols(), type, place, static_cast<std::size_t>(p.resized.stride[1]) * sizeof(T));
    cv::resize(from, to, to.size(), 0, 0, flag_of(method_of(arguments)));
    if (to.data != reinterpret_cast<unsigned char*>(place))
      throw Error(Error::Kind::internal, "OpenCV has put its result elsewhere");
  }
}

Reason refuses(const Arguments& arguments, const Tuning&, const Device&) {
  if (arguments.text("convention") != "opencv") return "is for --convention opencv";
  if (flag_of(method_of(arguments)) < 0) return "OpenCV has no such filter";
  if (arguments.text("light") != "coded") return "knows no linear light";
  if (!arguments.text("band").empty()) return "knows no bands";
  if (arguments.dim("channels") > CV_CN_MAX) return "has at most 512 channels";
  if (arguments.array("resized").count() == 0) return "makes no empty picture";
  for (const char* name : {"image", "resized"}) {
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
  out.idea = "OpenCV's resize";
  out.where = Where::cpu;
  out.baseline = true;
  out.compares_time_only = true;
  out.choices = {choice};
  return out;
}

const Rung rung(variant());

}  // namespace
}  // namespace tessera::resize
