// SPDX-License-Identifier: Apache-2.0
// Arrays of pictures as OpenCV takes them.
#pragma once
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include "tessera/baseline.hpp"

namespace tessera::opencv {

// -1: OpenCV's functions do not take the element.
inline int depth_of(Element element) {
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

// Picture n of [pictures, rows, columns, channels], without a copy.
inline cv::Mat picture_of(const ArrayView& pictures, std::int64_t n) {
  const auto size = static_cast<std::int64_t>(size_of(pictures.element));
  const auto extent = [&](int d) { return static_cast<int>(pictures.extents[d]); };
  return {extent(1), extent(2), CV_MAKETYPE(depth_of(pictures.element), extent(3)),
          static_cast<unsigned char*>(pictures.data) + n * pictures.strides[0] * size,
          static_cast<std::size_t>(pictures.strides[1] * size)};
}

// Calls compute(from, to) for each picture.
template <class Compute>
void for_pictures(const ArrayView& from, const ArrayView& to, const Run& run, const Compute& compute) {
  cv::setNumThreads(run.device->threads);
  for (std::int64_t n = 0; n < to.extents[0]; ++n) {
    cv::Mat result = picture_of(to, n);
    const unsigned char* const place = result.data;
    compute(picture_of(from, n), result);
    if (result.data != place) throw Error(Error::Kind::internal, "OpenCV has put its result elsewhere");
  }
}

inline Reason refuses_gaps(const ArrayView& pictures) {
  if (pictures.strides[2] != pictures.extents[3]) return "is for pixels side by side";
  return std::nullopt;
}

inline Variant variant(std::string idea, void (*compute)(const Arguments&, const Tuning&, Run&),
                       Reason (*refuses)(const Arguments&, const Tuning&, const Device&)) {
  Choice choice;
  for (const Element element : {Element::u8, Element::u16, Element::i16, Element::f32})
    choice.prepare[element] = without_plan(compute);
  choice.refuses = refuses;
  return timed_baseline(std::move(idea), Where::cpu, {choice});
}

}  // namespace tessera::opencv
