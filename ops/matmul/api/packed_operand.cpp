// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/emulated_fp32/packed_operands.hpp"
#include "ops/matmul/gemm/checks.hpp"
#include "tessera/matmul.hpp"
#include "tessera/run/enqueue.hpp"

namespace tessera::matmul {

struct PackedOperand::State {
  PackedKey key;
  Device device;
  std::size_t bytes = 0;
  void* packed = nullptr;

  State(void* stream, const detail::AnyMatrix& b, Compute compute, bool transposed) {
    if (!is_emulated_fp32(compute))
      throw Error("an operand is packed for --compute tf32x3, bf16x6 or f16x3, not for " +
                  std::string(text_of(compute)));
    ArrayView view = view_of("B", b);
    if (transposed) view = view.transposed();
    device = device_holding(view.data);
    const Packer* const packer = find_packer();
    const Reason reason = packer == nullptr             ? Reason("this build has no CUDA")
                          : device.where != Where::cuda ? Reason("B lies in host memory")
                                                        : packer->refuses(device);
    if (reason) throw Error(Error::Kind::no_device, "an operand is packed on Hopper GPUs: " + *reason);
    key = {view.data,       view.extents[1], view.extents[0], view.strides[1],
           view.strides[0], compute,         device.index};
    if (key.lines == 0 || key.k == 0) return;
    Run run{&device, stream};
    bytes = packer->bytes(key);
    packed = backend_of(device).memory(device).allocate(bytes);
    try {
      packer->pack(key, packed, run);
    } catch (...) {
      backend_of(device).memory(device).release(packed);
      throw;
    }
    keep_packed(key, packed);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (packed == nullptr) return;
    forget_packed(key, packed);
    backend_of(device).memory(device).release(packed);
  }
};

PackedOperand::PackedOperand(void* stream, ConstMatrixView<float> b, Compute compute, bool transposed)
    : state_(std::make_shared<const State>(stream, detail::any(b), compute, transposed)) {}

std::size_t PackedOperand::bytes() const { return state_->bytes; }

}  // namespace tessera::matmul
