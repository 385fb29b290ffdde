// SPDX-License-Identifier: Apache-2.0
// The calibration kernels by name, each with its grid: what the executor counts of them is held against
// what a GPU counts.
#pragma once
#include "calibration.hpp"

namespace tessera::calibration {
inline namespace TESSERA_UNIT {

constexpr int side = 256;  // of matrices
constexpr std::size_t a_count = 64 * 256 * 33, b_count = side * side, c_count = 4 * side * side;

// Calls visit.operator()<Kernel>(name, launch) for each.
template <class Visit>
void each(Visit&& visit) {
  const Launch line{.grid = {64}, .block = {256}}, turn{.grid = {8, 8}, .block = {32, 8}};
  const Launch of32{.grid = {8, 8}, .block = {32, 32}}, of16{.grid = {16, 16}, .block = {16, 16}};
  visit.template operator()<Copy<1, 0>>("copy", line);
  visit.template operator()<Copy<1, 1>>("copy shifted by one", line);
  visit.template operator()<Copy<2, 0>>("copy of every second", line);
  visit.template operator()<Copy<32, 0>>("copy of every 32nd", line);
  visit.template operator()<CopyTwo>("copy, 8 bytes a lane", line);
  visit.template operator()<CopyFour>("copy, 16 bytes a lane", line);
  visit.template operator()<SharedStride<float, 1>>("shared, stride 1", line);
  visit.template operator()<SharedStride<float, 2>>("shared, stride 2", line);
  visit.template operator()<SharedStride<float, 32>>("shared, stride 32", line);
  visit.template operator()<SharedStride<float, 33>>("shared, stride 33", line);
  visit.template operator()<SharedStride<double, 1>>("shared, 8 bytes a lane", line);
  visit.template operator()<SharedFour>("shared, 16 bytes a lane", line);
  visit.template operator()<SharedBroadcast>("shared, one word for all", line);
  visit.template operator()<Transpose<32>>("transpose", turn);
  visit.template operator()<Transpose<33>>("transpose, padded", turn);
  visit.template operator()<Product<true>>("product, warp along a column", of32);
  visit.template operator()<Product<false>>("product, warp along a row", of32);
  visit.template operator()<TiledProduct<32>>("product of tiles of 32", of32);
  visit.template operator()<TiledProduct<16>>("product of tiles of 16", of16);
  visit.template operator()<Triangle>("triangle", line);
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::calibration
