// SPDX-License-Identifier: Apache-2.0
#include "tessera/check.hpp"
#include "ops/matmul/gemm/gemm.hpp"
#include "ops/matmul/verify/examine.hpp"
#include "tessera/run/typed_call.hpp"

namespace tessera::detail {

Finding check(const matmul::detail::AnyMatrix& c, const matmul::detail::AnyMatrix& a,
              const matmul::detail::AnyMatrix& b, const matmul::Options& options,
              const std::string& arithmetic) {
  return typed_call([&] {
    const auto gemm = matmul::Gemm::of(a, b, c, options);
    if (gemm.adds_in_place) throw Error("β is not 0: Options::c0 has to be what C held before the product");
    return matmul::examine(gemm.arguments(), arithmetic);
  });
}

}  // namespace tessera::detail
