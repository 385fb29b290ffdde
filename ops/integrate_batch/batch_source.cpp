// SPDX-License-Identifier: Apache-2.0
#include "batch_source.hpp"
#include <fmt/format.h>
#include <string_view>
#include "tessera/formula/emit.hpp"

namespace tessera::integrate_batch {
namespace {

// Texts that all builds share, then one for NVRTC only.
constexpr std::string_view rule[] = {
#include "ops/integrate_batch/rule-inl.h.text"
    ,
#include "ops/integrate_batch/cells-inl.h.text"
};
constexpr std::string_view kernel_text =
#include "ops/integrate_batch/kernels-inl.h.text"
    ;

// Returns a formula of one number, with the parameters of one integral in registers.
std::string callable(const std::string& type, const std::string& function, std::size_t parameters) {
  std::string members, reads, arguments;
  for (std::size_t i = 0; i < parameters; ++i) {
    members += fmt::format("  double p{};\n", i);
    reads += fmt::format("    p{} = parameter_of(work.columns[{}], index, work.count);\n", i, i);
    arguments += fmt::format(", p{}", i);
  }
  return fmt::format(
      "struct {0} {{\n{1}  __device__ __forceinline__ {0}(const Work& work, long long index) {{\n    "
      "(void)work, (void)index;\n{2}  }}\n"
      "  __device__ __forceinline__ double operator()(double first) const {{ return {3}(first{4}); }}\n}};\n",
      type, members, reads, function, arguments);
}

}  // namespace

std::string source_of(const BatchOptions& options, const Compiled& how) {
  std::string out(formula::elementary_source());
  out +=
      "\n#define BATCH_FN __device__ __forceinline__\n#define BATCH_ROLLED _Pragma(\"unroll 1\")\nnamespace "
      "batch {\n"
      "constexpr bool middle_twice = true;\n";
  out += fmt::format("constexpr bool may_be_endless = {};\n", options.endless);
  out += "BATCH_FN double power(double a, double b) { return formula::pow(a, b); }\n";
  for (const std::string_view text : rule) out += text;
  out += formula::source_of(options.integrand, "integrand");
  out += formula::source_of(options.end, "end_of_range");
  out += callable("Integrand", "integrand", options.parameters.size());
  out += callable("Ends", "end_of_range", options.parameters.size());
  const auto constant = [&out](const char* name, std::size_t value) {
    out += fmt::format("constexpr int {} = {};\n", name, value);
  };
  constant("own_cells", static_cast<std::size_t>(how.cells));
  constant("own_pieces", 2 * static_cast<std::size_t>(options.breaks() + 2));
  constant("own_threads", static_cast<std::size_t>(how.threads));
  constant("resident", static_cast<std::size_t>(how.resident));
  constant("warps", static_cast<std::size_t>(how.warps));
  std::string kernels(kernel_text);
  if (how.cells == 0) {  // no thread holds an integral
    const std::size_t few = kernels.find("// Few cells"),
                      spare = kernels.find("// Takes the integrals that need more cells"),
                      alone = kernels.find("extern \"C\""),
                      together = kernels.find("extern \"C\"", alone + 1);
    kernels = kernels.substr(0, few) + kernels.substr(spare, alone - spare) + kernels.substr(together);
  }
  return out + kernels + "}\n";
}

}  // namespace tessera::integrate_batch
