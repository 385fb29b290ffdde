// SPDX-License-Identifier: Apache-2.0
#include "compiled_source.hpp"
#include <fmt/format.h>
#include <string_view>
#include "tessera/formula/emit.hpp"

namespace tessera::integrate_batch {
namespace {

// What all builds share, then what is NVRTC's alone.
constexpr std::string_view rule[] = {
#include "ops/integrate_batch/rule-inl.h.text"
    ,
#include "ops/integrate_batch/adaption-inl.h.text"
    ,
#include "ops/integrate_batch/cells-inl.h.text"
    ,
#include "ops/integrate_batch/warp-inl.h.text"
    ,
#include "ops/integrate_batch/work-inl.h.text"
};
constexpr std::string_view kernel_text =
#include "ops/integrate_batch/kernels-inl.h.text"
    ;

// A formula of one number, with the parameters of one integral in registers.
std::string callable(const std::string& type, const std::string& function, std::size_t parameters) {
  std::string members, reads, arguments;
  for (std::size_t i = 0; i < parameters; ++i) {
    members += fmt::format("  double p{};\n", i);
    reads += fmt::format("    p{} = parameter_of(work.columns[{}], index, work.count);\n", i, i);
    arguments += fmt::format(", p{}", i);
  }
  return fmt::format(
      "struct {0} {{\n{1}  static constexpr bool crowded = false;\n  __device__ __forceinline__ {0}(const "
      "Work& work, long long index) {{\n    "
      "(void)work, (void)index;\n{2}  }}\n"
      "  __device__ __forceinline__ double operator()(double first) const {{ return {3}(first{4}); }}\n}};\n",
      type, members, reads, function, arguments);
}

}  // namespace

std::string source_of(const Setting& setting, const Compiled& how) {
  std::string out(formula::elementary_source());
  out +=
      "\n#define BATCH_FN __device__ __forceinline__\n#define BATCH_ROLLED _Pragma(\"unroll 1\")\nnamespace "
      "batch {\n"
      "constexpr bool middle_twice = true;\n";
  out +=
      setting.measured ? "constexpr bool may_be_narrow = true;\n" : "constexpr bool may_be_narrow = false;\n";
  out += fmt::format("constexpr bool may_be_endless = {};\n", setting.endless);
  out += "BATCH_FN double power(double a, double b) { return formula::pow(a, b); }\n";
  for (const std::string_view text : rule) out += text;
  out += formula::source_of(setting.integrand, "integrand");
  out += formula::source_of(setting.end, "end_of_range");
  out += callable("Integrand", "integrand", setting.parameters.size());
  out += callable(setting.searched > 0 ? "End" : "Ends", "end_of_range", setting.parameters.size());
  if (setting.searched > 0) {
    out += fmt::format("constexpr int places_searched = {};\n", setting.searched);
    out += formula::source_of(setting.signs, "signs_of_parts");
    out += callable("Signs", "signs_of_parts", setting.parameters.size());
    out +=
        "struct Ends : SearchedEnds<End, Signs> {\n"
        "  __device__ __forceinline__ Ends(const Work& work, long long index)\n"
        "      : SearchedEnds<End, Signs>{End(work, index), Signs(work, index), work.breaks - "
        "places_searched, places_searched, false, {}} {\n"
        "    search();\n  }\n};\n";
  }
  const auto constant = [&out](const char* name, std::size_t value) {
    out += fmt::format("constexpr int {} = {};\n", name, value);
  };
  constant("own_cells", static_cast<std::size_t>(how.cells));
  constant("own_pieces", 2 * static_cast<std::size_t>(setting.breaks() + 2));
  constant("own_threads", static_cast<std::size_t>(how.threads));
  constant("resident", static_cast<std::size_t>(how.resident));
  constant("warps", static_cast<std::size_t>(how.warps));
  std::string kernels(kernel_text);
  if (how.cells == 0) {  // no thread keeps any
    const std::size_t few = kernels.find("// Few cells"), spare = kernels.find("// Where integrals go"),
                      alone = kernels.find("extern \"C\""),
                      together = kernels.find("extern \"C\"", alone + 1);
    kernels = kernels.substr(0, few) + kernels.substr(spare, alone - spare) + kernels.substr(together);
  }
  return out + kernels + "}\n";
}

}  // namespace tessera::integrate_batch
