// SPDX-License-Identifier: Apache-2.0
// How pictures of one size, [images,height,width,channels], are cut: between pictures where there are many,
// else at rows, across all of them. Every variant computes them to the same bits.
#pragma once
#include "tessera/core/division.hpp"

namespace tessera {

class PictureCut {
 public:
  // Of the result. `halo`: rows of the picture that a tile reads beside its own, on both sides together.
  PictureCut(std::int64_t images, std::int64_t height, std::int64_t halo);

  // Without what tiles read, write and compute.
  Division division(double flops) const;
  Interval images(const Tile& tile) const;
  Interval rows(const Tile& tile) const;

 private:
  bool between() const;

  std::int64_t images_, height_, halo_;
};

}  // namespace tessera
