// SPDX-License-Identifier: Apache-2.0
// Operands of rung 11 that are copied before the product, to rows across k that its blocks read as they lie.
#pragma once
#include "ops/matmul/kernels/pack_operands.cuh"
#include "ops/matmul/kernels/simt/warp_launch.cuh"

namespace tessera::matmul {
inline namespace TESSERA_UNIT {

// What of a product's operands is copied: by their strides alone, which memory is asked for by.
class WarpCopies {
 public:
  enum class Mode { model, none, all };

  WarpCopies(const Problem<float>& problem, Mode options)
      : p_(by_columns(problem) ? transposed(problem) : problem) {
    const bool none = options == Mode::none || p_.m() == 0 || p_.n() == 0 || p_.k() == 0;
    a_ = !none && is_copied(p_.a.stride[0], p_.a.stride[1], p_.m(), p_.n(), 0, options);
    b_ = !none && is_copied(p_.b.stride[1], p_.b.stride[0], p_.n(), p_.m(), lost_by_turning_b, options);
  }

  std::size_t bytes() const { return (a_ ? packed_bytes(left()) : 0) + (b_ ? packed_bytes(right()) : 0); }

  // The product of the copies, which are on their way to `room`.
  Problem<float> make(void* room, cudaStream_t stream) const {
    Problem<float> out = p_;
    auto* to = static_cast<char*>(room);
    Packing all[2];
    std::size_t count = 0;
    if (a_) {
      all[count++] = {left(), to};
      out.a.data = reinterpret_cast<const float*>(to);
      out.a.stride[0] = 1, out.a.stride[1] = packed_step(left());
      to += packed_bytes(left());
    }
    if (b_) {
      all[count++] = {right(), to};
      out.b.data = reinterpret_cast<const float*>(to);
      out.b.stride[0] = packed_step(right()), out.b.stride[1] = 1;
    }
    if (count == 1) pack<4>({all[0]}, stream);
    if (count == 2) pack<4>({all[0], all[1]}, stream);
    return out;
  }

 private:
  // `turning`: what is lost where the operand lies along k.
  bool is_copied(std::int64_t across_k, std::int64_t along_k, std::int64_t lines, std::int64_t others,
                 double turning, Mode options) const {
    if (across_k == 1 && along_k % 4 == 0) return false;
    const double lost = along_k == 1 ? turning : lost_by_single_elements;
    return options == Mode::all || is_worth_a_copy(lost, lines, others, p_.k());
  }
  // Lines of the copies lie along m and n.
  Factor left() const { return {p_.a.data, 4, p_.k(), p_.m(), p_.a.stride[1], p_.a.stride[0]}; }
  Factor right() const { return {p_.b.data, 4, p_.k(), p_.n(), p_.b.stride[0], p_.b.stride[1]}; }

  Problem<float> p_;
  bool a_ = false, b_ = false;
};

}  // namespace TESSERA_UNIT

}  // namespace tessera::matmul
