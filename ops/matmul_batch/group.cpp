// SPDX-License-Identifier: Apache-2.0
#include "group.hpp"
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include "group_kernel.hpp"
#include "ops/matmul/naive.hpp"
#include "ops/matmul/simd.hpp"
#include "tessera/core/parallel.hpp"
#include "tessera/run/overlap.hpp"

namespace tessera::matmul_batch {
namespace {

std::optional<GroupKernel>& the_kernel() {
  static std::optional<GroupKernel> kernel;
  return kernel;
}

const Operation& the_product() {
  const Operation* operation = find_operation("matmul");
  if (operation == nullptr) throw Error(Error::Kind::internal, "the matrix product is not linked");
  return *operation;
}

std::string exactly(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

template <class T>
ArrayView view_of(const char* name, const MatrixView<T>& matrix) {
  using Plain = std::remove_const_t<T>;
  const std::string what(name);
  if (matrix.rows < 0 || matrix.cols < 0) throw Error(what + " has a negative extent");
  const std::int64_t step = matrix.leading_dimension == 0 ? matrix.cols : matrix.leading_dimension;
  if (step < matrix.cols)
    throw Error(what + " has the leading dimension " + std::to_string(step) + ", but rows of " +
                std::to_string(matrix.cols));
  if (matrix.data == nullptr && matrix.rows != 0 && matrix.cols != 0) throw Error(what + " has no data");
  return {const_cast<Plain*>(matrix.data), element_of<Plain>, {matrix.rows, matrix.cols}, {step, 1}};
}

// The single product's arguments of every entry; what is added is set aside, for C is written.
class Group {
 public:
  void add(const ArrayView& a, const ArrayView& b, const ArrayView& c, const Options& options) {
    std::map<std::string, ArrayView> inputs{{"A", a}, {"B", b}};
    if (options.beta != 0) {
      kept_.push_back(packed_copy(c));
      inputs["C0"] = kept_.back().view();
    }
    Arguments::Words words{{"alpha", exactly(options.alpha)},
                           {"beta", exactly(options.beta)},
                           {"op-a", options.transpose_a ? "transpose" : "none"},
                           {"op-b", options.transpose_b ? "transpose" : "none"}};
    if (c.element != a.element) words["output-element"] = std::string(name_of(c.element));
    Arguments entry(the_product().signature, a.element, std::move(inputs), words);
    entry.set_array("C", c);
    for (const char* input : {"A", "B"})
      if (overlap(entry.array(input), c)) throw Error(std::string("C overlaps ") + input);
    entries_.push_back(std::move(entry));
  }

  const std::vector<Arguments>& entries() const { return entries_; }

 private:
  std::vector<Array> kept_;
  std::vector<Arguments> entries_;
};

void compute_on_processor(const Arguments& entry) {
  const auto plain = [&]<class T>(std::type_identity<T>) {
    matmul::multiply_simd(matmul::Problem<T>::of(entry), 1);
  };
  switch (entry.element()) {
    case Element::f32:
      return plain(std::type_identity<float>{});
    case Element::f64:
      return plain(std::type_identity<double>{});
    case Element::i32:
      return plain(std::type_identity<std::int32_t>{});
    default:
      return matmul::naive_low(matmul::LowProblem::of(entry));
  }
}

// Whoever is free takes the next entry.
void compute_on_processors(std::span<const Arguments> entries, int threads) {
  std::atomic<std::size_t> next = 0;
  const int useful =
      static_cast<int>(std::clamp<std::size_t>(entries.size(), 1, static_cast<std::size_t>(threads)));
  parallel(useful, [&](int) {
    for (std::size_t e = next++; e < entries.size(); e = next++) compute_on_processor(entries[e]);
  });
}

// All inputs in one piece of memory, all outputs in another, there and back by one copy each.
class PlacedGroup {
 public:
  PlacedGroup(std::span<const Arguments> entries, const Device& device)
      : host_(entries),
        there_(entries.begin(), entries.end()),
        device_(device),
        backend_(backend_of(device)) {
    for (const char* name : {"A", "B", "C0"}) lay_out(name, input_bytes_);
    lay_out("C", output_bytes_);
    inputs_ = memory(input_bytes_);
    outputs_ = memory(output_bytes_);
    for (Arguments& entry : there_) {
      for (const char* name : {"A", "B", "C0"}) set_base(entry, name, inputs_);
      set_base(entry, "C", outputs_);
    }
  }

  double run(const GroupKernel& kernel) {
    const std::size_t workspace_bytes = kernel.workspace_bytes(there_);
    const Array workspace = memory(workspace_bytes);
    Run run{&device_, nullptr, workspace.view().data, workspace_bytes};
    run.stream = backend_.make_stream(device_);
    try {
      const double seconds = run_on(kernel, run);
      backend_.release_stream(device_, run.stream);
      return seconds;
    } catch (...) {
      backend_.release_stream(device_, run.stream);
      throw;
    }
  }

 private:
  double run_on(const GroupKernel& kernel, Run& run) {
    std::vector<char> staged(std::max(input_bytes_, output_bytes_));
    for (std::size_t e = 0; e < host_.size(); ++e)
      for (const char* name : {"A", "B", "C0"})
        if (host_[e].has(name)) {
          const Array packed = packed_copy(host_[e].array(name));
          if (packed.view().bytes() != 0)
            std::memcpy(staged.data() + offset(there_[e], name, inputs_), packed.view().data,
                        packed.view().bytes());
        }
    backend_.copy(run, inputs_.view().data, staged.data(), input_bytes_);
    const double seconds = backend_.seconds(run, [&] { kernel.run(there_, run); });
    backend_.copy(run, staged.data(), outputs_.view().data, output_bytes_);
    backend_.synchronize(run);
    for (std::size_t e = 0; e < host_.size(); ++e)
      unpack(staged.data() + offset(there_[e], "C", outputs_), host_[e].array("C"));
    return seconds;
  }

  // Row after row, from a multiple of 256 bytes on; the address is the offset, until memory is there.
  void lay_out(const char* name, std::size_t& bytes) {
    for (Arguments& entry : there_) {
      if (!entry.has(name)) continue;
      ArrayView view = entry.array(name);
      view.strides = row_major_strides(view.extents);
      view.data = reinterpret_cast<void*>(bytes);
      bytes += (view.bytes() + 255) / 256 * 256;
      entry.set_array(name, view);
    }
  }
  static void set_base(Arguments& entry, const char* name, const Array& base) {
    if (!entry.has(name)) return;
    const auto at = reinterpret_cast<std::uintptr_t>(entry.array(name).data);
    entry.set_array(name, static_cast<char*>(base.view().data) + at);
  }
  static std::size_t offset(const Arguments& entry, const char* name, const Array& base) {
    return static_cast<std::size_t>(static_cast<const char*>(entry.array(name).data) - base.as<char>());
  }
  Array memory(std::size_t bytes) const {
    return Array(Element::u8, {static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1))},
                 backend_.memory(device_));
  }

  std::span<const Arguments> host_;
  std::vector<Arguments> there_;
  Device device_;
  Backend& backend_;
  std::size_t input_bytes_ = 0, output_bytes_ = 0;
  Array inputs_, outputs_;
};

GroupOutcome run_one_by_one(std::span<const Arguments> entries, const Device& device,
                            const Options& options) {
  GroupOutcome out;
  Request request = options.request;
  request.device = device.label();
  for (const Arguments& entry : entries) {
    Arguments arguments = entry;
    const Outcome one = run(the_product(), arguments, request);
    out.how = one.plan.variant->name + ", one after another";
    out.seconds += one.kernel_seconds;
  }
  return out;
}

GroupOutcome run_group(std::span<const Arguments> entries, const Options& options) {
  if (entries.empty()) return {};
  const auto largest =
      std::ranges::max_element(entries, {}, [](const Arguments& a) { return the_product().flops(a); });
  const Device device = choose_device(the_product(), *largest, options.request);
  if (options.request.variant) return run_one_by_one(entries, device, options);
  if (device.where == Where::cpu) {
    GroupOutcome out{.how = "a core for each"};
    Run run{&device};
    out.seconds = backend_of(device).seconds(run, [&] { compute_on_processors(entries, device.threads); });
    return out;
  }
  const GroupKernel* const kernel = group_kernel();
  if (device.where != Where::cuda || kernel == nullptr || kernel->refuses(entries, device))
    return run_one_by_one(entries, device, options);
  return {.how = kernel->name + ", one launch", .seconds = PlacedGroup(entries, device).run(*kernel)};
}

void check(std::span<const Arguments> entries, GroupOutcome& out) {
  out.passed = true;
  for (std::size_t e = 0; e < entries.size() && *out.passed; ++e) {
    const Verdict verdict = verify(the_product(), entries[e]);
    out.passed = verdict.passed;
    if (!verdict.passed) out.wrong = "product " + std::to_string(e) + ": " + describe(verdict);
  }
}

}  // namespace

const GroupKernel* group_kernel() { return the_kernel() ? &*the_kernel() : nullptr; }
void enlist(GroupKernel kernel) { the_kernel() = std::move(kernel); }

template <class T, class Out>
GroupOutcome multiply_group(std::span<const std::type_identity_t<Product<T, Out>>> products,
                            const Options& options) {
  Group group;
  for (std::size_t i = 0; i < products.size(); ++i) try {
      const auto& p = products[i];
      group.add(view_of("A", p.a), view_of("B", p.b), view_of("C", p.c), options);
    } catch (const Error& error) {
      throw Error(error.kind(), "product " + std::to_string(i) + ": " + error.what());
    }
  GroupOutcome out = run_group(group.entries(), options);
  if (options.check) check(group.entries(), out);
  return out;
}

template GroupOutcome multiply_group<float, float>(std::span<const Product<float, float>>, const Options&);
template GroupOutcome multiply_group<double, double>(std::span<const Product<double, double>>,
                                                     const Options&);
template GroupOutcome multiply_group<std::int32_t, std::int32_t>(
    std::span<const Product<std::int32_t, std::int32_t>>, const Options&);
template GroupOutcome multiply_group<bf16, bf16>(std::span<const Product<bf16, bf16>>, const Options&);
template GroupOutcome multiply_group<bf16, float>(std::span<const Product<bf16, float>>, const Options&);
template GroupOutcome multiply_group<f16, f16>(std::span<const Product<f16, f16>>, const Options&);
template GroupOutcome multiply_group<f16, float>(std::span<const Product<f16, float>>, const Options&);
template GroupOutcome multiply_group<std::int8_t, std::int32_t>(
    std::span<const Product<std::int8_t, std::int32_t>>, const Options&);

}  // namespace tessera::matmul_batch
