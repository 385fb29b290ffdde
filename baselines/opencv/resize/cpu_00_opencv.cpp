// SPDX-License-Identifier: Apache-2.0
// CPU baseline: OpenCV's resize, with the threads that it takes by itself.
//
// OpenCV 4.6 sums cubic's rows in floats where vectors allow it, and floats in an order of its own: there
// results may differ by a last place, which the tests of this project hold; elsewhere they are the same bits.
#include "../pictures.hpp"
#include "ops/resize/axis.hpp"
#include "ops/resize/resize.hpp"

namespace tessera::resizing {
namespace {

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

void run_opencv(const Arguments& arguments, const Tuning&, Run& run) {
  const int flag = flag_of(method_of(arguments));
  opencv::for_pictures(
      arguments.array("image"), arguments.array("resized"), run,
      [flag](const cv::Mat& from, cv::Mat& to) { cv::resize(from, to, to.size(), 0, 0, flag); });
}

Reason refuses(const Arguments& arguments, const Tuning&, const Device&) {
  if (arguments.text("convention") != "opencv") return "is for --convention opencv";
  if (flag_of(method_of(arguments)) < 0) return "OpenCV has no such filter";
  if (arguments.text("light") != "coded") return "does not support linear light";
  if (!arguments.text("band").empty()) return "does not support bands";
  if (arguments.dim("channels") > CV_CN_MAX) return "has at most 512 channels";
  if (arguments.array("resized").count() == 0) return "makes no empty picture";
  if (const Reason gaps = opencv::refuses_gaps(arguments.array("image"))) return gaps;
  return opencv::refuses_gaps(arguments.array("resized"));
}

const Rung rung(opencv::variant("OpenCV's resize", run_opencv, refuses));

}  // namespace
}  // namespace tessera::resizing
