// SPDX-License-Identifier: Apache-2.0
// Many products of one size as an operation: its arguments, what it costs, how it is checked, what to try.
// Every entry is checked as a product of its own.
#include "matmul_batch.hpp"
#include "cases.hpp"
#include "entries.hpp"
#include "ops/matmul/checking.hpp"
#include "ops/matmul/elements.hpp"

namespace tessera::matmul_batch {
namespace {

double flops(const Arguments& arguments) {
  double out = 2;
  for (const char* name : {"batch", "m", "n", "k"}) out *= static_cast<double>(arguments.dim(name));
  return out;
}

void fill(const Arguments& arguments, const std::string& input, Distribution distribution, std::uint64_t seed,
          const ArrayView& to) {
  const bool shared = arguments.signature().at(input).is_shared(arguments.words());
  const std::int64_t entries = shared ? 1 : arguments.dim("batch");
  if (to.count() == 0) return;  // of any number of entries
  Arguments target = arguments;
  target.set_array(input, to);
  for (std::int64_t e = 0; e < entries; ++e) {
    const Arguments one = entry_of(target, e);
    // Far from the seeds of other inputs.
    matmul::fill(one, input, distribution, seed + (static_cast<std::uint64_t>(e) << 32), one.array(input));
  }
}

// Rows count through all entries.
void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data data,
               Expected& expected) {
  const std::int64_t m = arguments.dim("m");
  std::vector<std::int64_t> own;
  for (std::size_t at = 0; at < rows.size();) {
    const std::int64_t entry = rows[at] / m;
    own.clear();
    for (; at < rows.size() && rows[at] / m == entry; ++at) own.push_back(rows[at] % m);
    matmul::reference(entry_of(arguments, entry), own, data, expected);
  }
}

std::vector<std::int64_t> suspect_rows(const Arguments& arguments, Data data, std::uint64_t seed) {
  const std::int64_t m = arguments.dim("m");
  std::vector<std::int64_t> out;
  for (std::int64_t e = 0; e < arguments.dim("batch"); ++e)
    for (const std::int64_t row :
         matmul::suspect_rows(entry_of(arguments, e), data, seed + static_cast<std::uint64_t>(e)))
      out.push_back(e * m + row);
  return out;
}

Operation operation() {
  Operation out;
  out.name = "matmul_batch";
  out.summary = "many matrix products of one size, C[e] = α·op(A[e])·op(B[e]) + β·C0[e]";
  out.signature = signature();
  out.elements = {Element::f32, Element::f64,  Element::i32,  Element::bf16,
                  Element::f16, Element::e4m3, Element::e5m2, Element::i8};
  out.output = "C";
  out.row_dimensions = 2;
  out.flops = flops;
  out.fill = fill;
  out.reference = reference;
  out.suspect_rows = suspect_rows;
  out.sampled_only = matmul::sampled_only;
  out.element_text = matmul::element_text;
  out.largest_norm_error = 1e-6;
  out.norm_demanded = matmul::norm_demanded;
  out.cases = cases();
  return out;
}

[[maybe_unused]] const bool matmul_batch_registered = (register_operation(operation()), true);

}  // namespace
}  // namespace tessera::matmul_batch
