// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/several_variables/genz_malik.hpp"
#include <algorithm>
#include "tessera/core/text/error.hpp"

namespace tessera::quadrature {
namespace {

#define REGION_FN inline
#include "ops/integrate/quadrature/several_variables/region_estimate-inl.h"
#undef REGION_FN

// Adds in independent lanes, so that the compiler vectorizes the loop.
void add_values(const double* y, std::size_t count, double& value, double& size) {
  constexpr std::size_t lanes = 8;
  double values[lanes] = {}, sizes[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (std::size_t k = 0; k < lanes; ++k) {
      values[k] += y[i + k];
      sizes[k] += std::fabs(y[i + k]);
    }
  for (; i < count; ++i) {
    values[0] += y[i];
    sizes[0] += std::fabs(y[i]);
  }
  for (std::size_t k = 0; k < lanes; ++k) {
    value += values[k];
    size += sizes[k];
  }
}

}  // namespace

// Points are in this order: centre; ±near, ±far and ±edge on each axis; ±far on each pair of axes; corners.
GenzMalik::GenzMalik(int dimensions) : RegionPoints(dimensions) {
  if (dimensions < 2 || dimensions > max_cubature_dimensions)
    throw Error("Genz and Malik's rule takes 2 to 12 variables");
  const auto d = static_cast<std::size_t>(dimensions);
  points_ = static_cast<std::size_t>(region_points(dimensions));
  offsets_.assign(points_ * d, 0);
  std::size_t at = 1;
  const auto offset = [&](std::size_t axis) -> double& { return offsets_[axis * points_ + at]; };
  for (std::size_t i = 0; i < d; ++i)
    for (const double size : {near_offset, far_offset, edge_offset})
      for (const double side : {-size, size}) {
        offset(i) = side;
        ++at;
      }
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = i + 1; j < d; ++j)
      for (const double first : {-far_offset, far_offset})
        for (const double second : {-far_offset, far_offset}) {
          offset(i) = first;
          offset(j) = second;
          ++at;
        }
  for (std::size_t corner = 0; corner < std::size_t{1} << d; ++corner, ++at)
    for (std::size_t i = 0; i < d; ++i) offset(i) = (corner >> i & 1) != 0 ? corner_offset : -corner_offset;
}

RegionResult GenzMalik::summarize(const double* y, Region& region) const {
  const auto d = static_cast<std::size_t>(dimensions_);
  constexpr double ratio = (9.0 / 70) / (9.0 / 10);
  RegionSums sums = {};
  sums.value[0] = y[0];
  sums.size[0] = std::fabs(y[0]);
  double bend = -1, volume = 1;
  for (std::size_t axis = 0; axis < d; ++axis) {
    const double* at = &y[1 + 6 * axis];
    const double near = at[0] + at[1], far = at[2] + at[3];
    sums.value[1] += near;
    sums.value[2] += far;
    sums.size[1] += std::fabs(at[0]) + std::fabs(at[1]);
    sums.size[2] += std::fabs(at[2]) + std::fabs(at[3]);
    sums.hidden += region_hidden(y[0], near, far, at[4] + at[5]);
    const double fourth = std::fabs(near - 2 * y[0] - ratio * (far - 2 * y[0]));
    // If f bends along no axis, the widest axis is split.
    const double measure = fourth + 1e-14 * sums.size[0] * region.half[axis];
    volume *= 2 * region.half[axis];
    if (measure > bend || (measure == bend && region.half[axis] > region.half[region.axis])) {
      bend = measure;
      region.axis = static_cast<int>(axis);
    }
  }
  const std::size_t pairs = 1 + 6 * d, corners = pairs + 2 * d * (d - 1);
  add_values(y + pairs, corners - pairs, sums.value[3], sums.size[3]);
  add_values(y + corners, points_ - corners, sums.value[4], sums.size[4]);
  RegionEstimate out{};
  region_concluded(dimensions_, sums, volume, out);
  return {out.value, out.error, out.magnitude, out.weighed, out.unconfirmed};
}

double GenzMalik::believed(const RegionResult& half, const RegionResult& other, double moved,
                           double wholes_error) const {
  return region_believed(half.error, other.error, moved, wholes_error);
}

}  // namespace tessera::quadrature
