// SPDX-License-Identifier: Apache-2.0
// Where several axes end at once: 1/(x+y+z+u) is harmless beside each side of the box, and has no integral at
// the corner as a power of as many as there are axes.
#include <algorithm>
#include <cmath>
#include "ops/integrate/rules/domain.hpp"
#include "ops/integrate/rules/ends.hpp"

namespace tessera::quadrature {
namespace {

constexpr std::size_t places = 3, scattered = 128, few = 4;
constexpr double distances[places] = {1e-5, 1e-7, 1e-9}, first_look = 1e-6;

// For each axis: it does not end there, or at its lower or upper end.
using Face = std::vector<int>;

std::size_t ending(const Face& face) {
  return static_cast<std::size_t>(std::ranges::count_if(face, [](int end) { return end != 0; }));
}

// All at which two or more axes end; of many axes those of two, and the corners.
std::vector<Face> faces_of(std::size_t axes) {
  constexpr std::size_t every = 6, most_corners = 10;
  std::vector<Face> out;
  if (axes <= every) {
    Face face(axes, 0);
    for (;;) {
      std::size_t k = 0;
      while (k < axes && ++face[k] > 2) face[k++] = 0;
      if (k == axes) return out;
      if (ending(face) > 1) out.push_back(face);
    }
  }
  for (std::size_t i = 0; i < axes; ++i)
    for (std::size_t j = 0; j < i; ++j)
      for (int ends = 0; ends < 4; ++ends) {
        Face face(axes, 0);
        face[i] = 1 + ends % 2;
        face[j] = 1 + ends / 2;
        out.push_back(face);
      }
  for (std::size_t bits = 0; axes <= most_corners && bits < std::size_t{1} << axes; ++bits) {
    Face face;
    for (std::size_t k = 0; k < axes; ++k) face.push_back(1 + static_cast<int>(bits >> k & 1));
    out.push_back(face);
  }
  return out;
}

// The mean of |f| at points scattered within `distance` of a face, on each axis that ends there, and how much
// of it has one sign.
struct Beside {
  double size = 0, one_sign = 0;
};

Beside beside(Cube& cube, const Face& face, double distance, std::size_t count) {
  const std::size_t d = face.size();
  std::vector<double> u(d * count), y(count);
  for (std::size_t k = 0; k < d; ++k) {
    // A step for each axis that has nothing in common with the others'.
    const double step = std::sqrt(static_cast<double>(k) + 2.0) * 0.6180339887498949;
    for (std::size_t i = 0; i < count; ++i) {
      const double at = step * (static_cast<double>(i) + 0.5), within = at - std::floor(at);
      u[k * count + i] = face[k] == 0 ? within : face[k] == 1 ? distance * within : 1 - distance * within;
    }
  }
  cube.values(u, count, y);
  cube.count(static_cast<std::int64_t>(count));
  Beside out;
  double sum = 0;
  for (const double height : y) {
    sum += height;
    out.size += std::fabs(height);
  }
  out.one_sign = out.size > 0 ? std::fabs(sum) / out.size : 0;
  out.size /= static_cast<double>(count);
  return out;
}

// What the axes' own ends there make of it.
double slope_by_axes(const Face& face, const std::vector<End>& ends) {
  double out = 0;
  for (std::size_t k = 0; k < face.size(); ++k) {
    if (face[k] == 0) continue;
    const End& end = ends[2 * k + static_cast<std::size_t>(face[k] - 1)];
    out += std::isnan(end.slope) ? 1 : end.slope;
  }
  return out;
}

}  // namespace

void add_corners(Cube& cube, std::vector<End>& ends) {
  constexpr double counts = 1e-10, of_its_own = 0.05;
  const std::size_t d = cube.axes().size();
  constexpr std::int64_t most = few + places * scattered;  // of a face
  if (!cube.allows(scattered)) return;
  const double typical = beside(cube, Face(d, 0), 1, scattered).size;
  const std::vector<End> of_axes = ends;
  for (const Face& face : faces_of(d)) {
    if (!cube.allows(most)) return;
    const auto together = static_cast<double>(ending(face));
    if (!(beside(cube, face, first_look, few).size * std::pow(first_look, together) > counts * typical))
      continue;
    double share[places], one_sign = 0;
    for (std::size_t k = 0; k < places; ++k) {
      const Beside seen = beside(cube, face, distances[k], scattered);
      share[k] = std::pow(distances[k], together) * seen.size;
      one_sign = seen.one_sign;
    }
    End end = end_of(0, 0, distances, share, one_sign, typical);
    if (!(end.slope < slope_by_axes(face, of_axes) - of_its_own * together)) continue;
    for (std::size_t k = 0; k < d; ++k) {
      const Range& range = cube.axes()[k].range;
      if (face[k] != 0) end.also.push_back({k, face[k] == 1 ? range.lower : range.upper});
    }
    end.axis = end.also.back().axis;
    end.x = end.also.back().x;
    if (!std::ranges::all_of(end.also, [](const End::Place& at) { return std::isfinite(at.x); }))
      end.x = infinity;
    ends.push_back(end);
  }
}

}  // namespace tessera::quadrature
