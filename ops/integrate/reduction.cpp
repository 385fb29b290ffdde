// SPDX-License-Identifier: Apache-2.0
// The integral as several devices compute it: sums of segments of its strips, joined in the one order that
// each of them alone would have; or the heights at samples, of which one makes the integral.
#include "asked.hpp"
#include "ops/strip_sums/strip_sums.hpp"
#include "samples.hpp"
#include "strips_words.hpp"
#include "tessera/core/division.hpp"
#include "tessera/core/operation.hpp"

namespace tessera::integration {
namespace {

constexpr const char *partial = "strip_sums", *of_samples = "sample_heights";

std::string partial_for(const Arguments& whole) { return has_samples(whole) ? of_samples : partial; }

void check(const Arguments& arguments) {
  if (asks_for_rule(arguments))
    throw Error(
        "a rule that decides by what it has seen is one piece: several devices, and pieces that fit "
        "--memory, are "
        "for a sum of --strips");
  if (!has_fixed_order(sum_named(arguments.text("sum"))))
    throw Error("--sum " + arguments.text("sum") +
                " adds in the order of one device; several have one device's bits by pairwise, "
                "double_float or exact");
  if (!arguments.text("most-seconds").empty()) throw Error("--most-seconds is for one device");
}

Arguments divide_samples(const Arguments& whole) {
  check_samples(whole);
  return {find_operation(of_samples)->signature,
          whole.element(),
          {{"X", whole.array("X")}, {"Y", whole.array("Y")}},
          {{"FORMULA", whole.text("FORMULA")}, {"LIMITS", whole.text("LIMITS")}}};
}

Arguments divide(const Arguments& whole) {
  if (has_samples(whole)) return divide_samples(whole);
  check(whole);
  Arguments::Words words;
  for (const char* name : {"FORMULA", "LIMITS", "sum", "abscissa", "scale-at"})
    words[name] = whole.text(name);
  words["strips"] = std::to_string(setting_of(whole).strips);
  return {find_operation(partial)->signature, whole.element(), {}, words};
}

template <class T>
T joined(const Problem<T>& p, const ArrayView& sums) {
  if (p.sum == Sum::exact) {
    Exact<T> total;
    for (std::int64_t i = 0; i < sums.extents[0]; ++i) {
      const auto* const half = static_cast<const std::int32_t*>(sums.data) + i * sums.strides[0];
      std::int64_t word[Exact<T>::words];
      for (int k = 0; k < Exact<T>::words; ++k)
        word[k] = (std::int64_t{half[2 * k + 1]} << 32) | static_cast<std::uint32_t>(half[2 * k]);
      total.add_stored(word);
    }
    total.carry();
    return p.concluded(total);
  }
  Tree<T> tree(p.sum);
  for (std::int64_t i = 0; i < sums.extents[0]; ++i) {
    const auto* const pair = static_cast<const T*>(sums.data) + i * sums.strides[0];
    tree.add({pair[0], pair[1]});
  }
  return p.concluded(tree.sum());
}

void combine_samples(const Arguments& sampled, const Arguments& whole, Values& values) {
  const Array heights = packed_copy(sampled.array("heights"));
  const double scale = whole.real("scale");
  quadrature::Answer answer =
      answer_from_heights(whole, {heights.as<double>(), static_cast<std::size_t>(heights.view().count())});
  void* const to = whole.array("integral").data;
  if (whole.element() == Element::f32) *static_cast<float*>(to) = rounded_value<float>(answer, scale);
  else *static_cast<double*>(to) = rounded_value<double>(answer, scale);
  values = told_of(answer, scale);
}

void combine(const Arguments& sums, const Arguments& whole, Values& values) {
  if (has_samples(whole)) return combine_samples(sums, whole, values);
  const auto conclude = [&]<class T>(T) {
    const auto p = Problem<T>::of(whole);
    *p.result = joined(p, sums.array("sums"));
  };
  if (whole.element() == Element::f32) conclude(float());
  else conclude(double());
}

[[maybe_unused]] const bool reduction_registered =
    (register_reduction("integrate", {partial, divide, combine, partial_for}), true);

}  // namespace
}  // namespace tessera::integration
