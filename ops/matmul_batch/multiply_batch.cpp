// SPDX-License-Identifier: Apache-2.0
// The calls for batches of one size, then those for groups of any sizes.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include "ops/matmul/api/gemm_calls.hpp"
#include "ops/matmul/gemm/checks.hpp"
#include "ops/matmul/gemm/gemm.hpp"
#include "tessera/run/overlap.hpp"
#include "tessera/check.hpp"
#include "tessera/matmul_batch.hpp"
#include "matmul_batch.hpp"
#include "ops/matmul/gemm/operands.hpp"
#include "tessera/core/device/parallel.hpp"
#include "tessera/run/typed_call.hpp"

namespace tessera::matmul_batch {

using matmul::Gemm;

namespace {

Error wrong(const char* name, const std::string& what) { return Error(std::string(name) + " has " + what); }

// Removes the dimension of entries from an operand of one matrix, which serves all entries.
ArrayView operand(ArrayView view, std::int64_t entries) {
  if (view.extents[0] != 1 || entries == 1) return view;
  view.extents.erase_front();
  view.strides.erase_front();
  return view;
}

// Throws if C's entries overlap. One matrix cannot overlap itself, as its leading dimension has been checked.
void check_apart(const ArrayView& c) {
  if (overlaps_itself(c))
    throw wrong("C", "the step " + std::to_string(c.strides[0]) + ", with which its entries overlap");
}

const Operation& the_batch() {
  const Operation* operation = find_operation("matmul_batch");
  if (operation == nullptr) throw Error(Error::Kind::internal, "the batched product is not linked");
  return *operation;
}

ArrayView view_of(const char* name, const detail::AnyBatch& batch) {
  if (batch.count < 0) throw wrong(name, "a negative extent");
  if (batch.step < 0) throw wrong(name, "the negative step " + std::to_string(batch.step));
  matmul::detail::AnyMatrix first = batch.first;
  if (batch.count == 0) first.data = reinterpret_cast<const void*>(std::uintptr_t{256});  // never read
  ArrayView view = matmul::view_of(name, first);
  const std::size_t lines = first.order == Order::rows ? 0 : 1;
  const bool empty = view.extents[0] == 0 || view.extents[1] == 0;
  const std::int64_t step = batch.step != 0 ? batch.step
                            : empty         ? 0
                                            : view.extents[lines] * view.strides[lines];
  if (!empty) matmul::check_reach(name, batch.count, step, first.element);
  view.extents.insert_front(batch.count);
  view.strides.insert_front(step);
  if (batch.count == 0) view.data = nullptr;
  return view;
}

ArrayView result_of(const detail::AnyBatch& c) {
  ArrayView out = view_of("C", c);
  check_apart(out);
  return out;
}

ArrayView addend_of(const Options& options, const ArrayView& c) {
  const matmul::detail::AnyMatrix first{
      options.c0.data, c.element, c.extents[1], c.extents[2], options.c0.leading_dimension, options.c0.order};
  return view_of("C0", {first, c.extents[0], options.c0.step});
}

// Returns one vector for each entry or, with a step of 0, one for all.
ArrayView vector_of(const char* name, const void* data, Element element, std::int64_t entries,
                    std::int64_t count, std::int64_t step) {
  matmul::check_vector(name, data, element, step);
  auto* const device_arguments = const_cast<void*>(data);
  if (step == 0) return {device_arguments, element, {count}, {1}};
  matmul::check_reach(name, entries, step, element);
  return {device_arguments, element, {entries, count}, {step, 1}};
}

void add_vectors(std::map<std::string, ArrayView>& inputs, const Options& options, const ArrayView& c) {
  const auto add = [&](const char* name, const void* data, Element element, std::int64_t count,
                       std::int64_t step) {
    if (data != nullptr) inputs[name] = vector_of(name, data, element, c.extents[0], count, step);
  };
  const auto& [scale_a, scale_b, bias] = std::tie(options.scale_a, options.scale_b, options.bias);
  add("scale-a", scale_a.data, Element::f32, scale_a.of_each ? c.extents[1] : 1, scale_a.step);
  add("scale-b", scale_b.data, Element::f32, scale_b.of_each ? c.extents[2] : 1, scale_b.step);
  add("bias", bias.data, bias.element, c.extents[bias.along_rows ? 1 : 2], bias.step);
}

Arguments batch_arguments(const ArrayView& a, const ArrayView& b, const ArrayView& c, const Options& options,
                          const ArrayView* added) {
  matmul::check_elements(a.element, b.element, c.element);
  Arguments::Words words = Gemm::of(a.element, b.element, c.element, options).words();
  const std::int64_t entries = c.extents[0];
  std::map<std::string, ArrayView> inputs{{"A", operand(a, entries)}, {"B", operand(b, entries)}};
  if (added != nullptr) inputs["C0"] = *added;
  add_vectors(inputs, options, c);
  // At least one input must have the dimension of entries, because the signature infers their number.
  if (inputs["A"].extents.size() == 2 && inputs["B"].extents.size() == 2 && added == nullptr) {
    inputs["A"] = a;
    inputs["A"].extents[0] = entries;
    inputs["A"].strides[0] = 0;
  }
  Arguments out(the_batch().signature, a.element, std::move(inputs), std::move(words));
  out.set_array("C", c);
  return out;
}

Arguments arguments_in_place(const detail::AnyBatch& a, const detail::AnyBatch& b, const detail::AnyBatch& c,
                             const Options& options) {
  matmul::check_enqueued(options);
  const ArrayView out = result_of(c);
  ArrayView added = out;
  if (options.beta != 0 && options.c0.data != nullptr) added = addend_of(options, out);
  return batch_arguments(view_of("A", a), view_of("B", b), out, options,
                         options.beta != 0 ? &added : nullptr);
}

}  // namespace

namespace detail {

Outcome multiply_batch(const AnyBatch& a, const AnyBatch& b, const AnyBatch& c, const Options& options) {
  return typed_call([&] {
    const ArrayView out = result_of(c);
    // If C0 is C, it is copied first: C is written, or poisoned before a check, while C0 is still needed.
    Array kept;
    ArrayView added;
    if (options.beta != 0)
      added = options.c0.data == nullptr ? matmul::set_aside(out, kept) : addend_of(options, out);
    Arguments arguments =
        batch_arguments(view_of("A", a), view_of("B", b), out, options, options.beta != 0 ? &added : nullptr);
    return run(the_batch(), arguments, options.request, options.check);
  });
}

std::size_t workspace_bytes(const AnyBatch& a, const AnyBatch& b, const AnyBatch& c, const Options& options) {
  return typed_call([&]() -> std::size_t {
    const Arguments device_arguments = arguments_in_place(a, b, c, options);
    if (device_arguments.array("C").count() == 0) return 0;
    return PreparedCall(the_batch(), device_arguments, options.request).workspace_bytes();
  });
}

Plan enqueue(void* stream, const AnyBatch& a, const AnyBatch& b, const AnyBatch& c, const Options& options,
             const Workspace& workspace) {
  return typed_call([&]() -> Plan {
    const Arguments device_arguments = arguments_in_place(a, b, c, options);
    if (device_arguments.array("C").count() == 0) return {};
    const PreparedCall call(the_batch(), device_arguments, options.request);
    tessera::enqueue(call, device_arguments, stream, workspace, "C0");
    return call.plan();
  });
}

}  // namespace detail

namespace {

Element element_of(const matmul::Scale&) { return Element::f32; }
Element element_of(const matmul::Bias& bias) { return bias.element; }
const void* moved(const void* data, std::int64_t bytes) { return static_cast<const char*>(data) + bytes; }

// Returns the product's own vector if it has one, else the one from Options, advanced by `step` elements per
// product.
template <class Vector>
Vector own_or_shared(const char* name, const Vector& own, const Vector& shared, std::size_t product) {
  if (own.data != nullptr && own.step != 0)
    throw Error(std::string("its own ") + name + " has the step " + std::to_string(own.step) +
                ": it is for one product");
  Vector out = own.data != nullptr ? own : shared;
  if (out.data == nullptr || out.step == 0) return out;
  if (out.step < 0) throw Error(std::string(name) + " has the negative step " + std::to_string(out.step));
  const auto at = static_cast<std::int64_t>(product),
             bytes = static_cast<std::int64_t>(size_of(element_of(out)));
  matmul::check_reach(name, at + 1, out.step, element_of(out));
  out.data = static_cast<decltype(out.data)>(moved(out.data, at * out.step * bytes));
  out.step = 0;
  return out;
}

constexpr std::pair<matmul::ProductArray, const char*> apart[] = {{matmul::out_c, "C"},
                                                                  {matmul::in_a, "A"},
                                                                  {matmul::in_b, "B"},
                                                                  {matmul::in_scale_a, "scale-a"},
                                                                  {matmul::in_scale_b, "scale-b"},
                                                                  {matmul::in_bias, "bias"}};

class Group {
 public:
  // `in_place`: β multiplies C itself; else a copy of C, because C may be poisoned before it is written.
  // Throws Error that names the product by its number.
  Group(std::span<const detail::AnyProduct> products, const Options& options, bool in_place);

  const std::vector<Gemm>& entries() const { return entries_; }

 private:
  void check_apart() const;
  void add(const detail::AnyProduct& product, const Options& options, bool in_place);

  std::deque<Array> kept_;
  std::vector<Gemm> entries_;
};

Group::Group(std::span<const detail::AnyProduct> products, const Options& options, bool in_place) {
  if (options.c0.data != nullptr) throw Error("in a group β multiplies C, not C0");
  for (std::size_t i = 0; i < products.size(); ++i) try {
      add(products[i], options, in_place);
    } catch (const Error& error) {
      throw Error(error.kind(), "product " + std::to_string(i) + ": " + error.what());
    }
  check_apart();
}

// The products run concurrently, so none may write memory that another reads or writes.
void Group::check_apart() const {
  std::vector<Access> accesses;
  std::vector<const char*> names;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    for (const auto& [array, name] : apart)
      if (const ArrayView view = entries_[i].in_memory(array); view.data != nullptr) {
        accesses.push_back({view, array == matmul::out_c, i});
        names.push_back(name);
      }
  const auto found = find_conflict(accesses);
  if (!found) return;
  const auto [writer, other] = *found;
  throw Error("product " + std::to_string(accesses[writer].call) + ": C overlaps " + names[other] +
              " of product " + std::to_string(accesses[other].call) +
              "; a group's products are computed at the same time");
}

void Group::add(const detail::AnyProduct& product, const Options& options, bool in_place) {
  Options own = options;
  own.scale_a = own_or_shared("scale-a", product.scale_a, options.scale_a, entries_.size());
  own.scale_b = own_or_shared("scale-b", product.scale_b, options.scale_b, entries_.size());
  own.bias = own_or_shared("bias", product.bias, options.bias, entries_.size());
  Gemm entry = Gemm::of(product.a, product.b, product.c, own);
  const ArrayView c = entry.in_memory(matmul::out_c);
  if (entry.adds_in_place && !in_place) {
    entry.set(matmul::in_c0, matmul::set_aside(c, kept_.emplace_back()));
    entry.adds_in_place = false;
  }
  matmul::check_scales(entry.a_element, entry.scale_a.data != nullptr || entry.scale_b.data != nullptr);
  entry.post_op.check(entry.c_element);
  for (const auto& [array, name] : apart)
    if (array != matmul::out_c && overlap(entry.in_memory(array), c))
      throw Error(std::string("C overlaps ") + name);
  // Properties that all entries share are checked once.
  const bool is_special = product.bias.data != nullptr || entry.accuracy_of != Gemm::AccuracyOf::none;
  if (entries_.empty() || is_special)
    entry = Gemm::of(entry.arguments());  // throws; replaces an accuracy by the arithmetic that meets it
  entries_.push_back(entry);
}

}  // namespace

void compute_on_cpu(std::span<const Gemm> entries, int threads) {
  static const Request one_core{.device = "cpu:threads=1", .cached = false};
  std::atomic<std::size_t> next = 0;
  const int useful =
      static_cast<int>(std::clamp<std::size_t>(entries.size(), 1, static_cast<std::size_t>(threads)));
  parallel(useful, [&](int) {
    for (std::size_t e = next++; e < entries.size(); e = next++)
      (void)matmul::enqueue(nullptr, entries[e], one_core);
  });
}

namespace {

using matmul::matmul_operation;

std::optional<GroupKernel>& the_kernel() {
  static std::optional<GroupKernel> kernel;
  return kernel;
}

// Holds all inputs in one allocation and all outputs in another, and transfers each by one copy.
class PlacedGroup {
 public:
  PlacedGroup(std::span<const Gemm> entries, const Device& device)
      : host_(entries),
        device_entries_(entries.begin(), entries.end()),
        device_(device),
        backend_(backend_of(device)) {
    for (std::size_t i = 0; i < matmul::product_arrays; ++i) lay_out(static_cast<ProductArray>(i));
    inputs_ = memory(input_bytes_);
    outputs_ = memory(output_bytes_);
    for (std::size_t e = 0; e < device_entries_.size(); ++e)
      for (std::size_t i = 0; i < matmul::product_arrays; ++i) {
        const auto array = static_cast<ProductArray>(i);
        ArrayView view = device_entries_[e].in_memory(array);
        if (view.data == nullptr) continue;
        view.data = base_of(array).as<char>() + offset_[e][i];
        device_entries_[e].set(array, view);
      }
  }

  double run(const GroupKernel& kernel) {
    const std::size_t workspace_bytes = kernel.workspace_bytes(device_entries_);
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
  using ProductArray = matmul::ProductArray;

  double run_on(const GroupKernel& kernel, Run& run) {
    std::vector<char> staged(std::max(input_bytes_, output_bytes_));
    for (std::size_t e = 0; e < host_.size(); ++e)
      for (std::size_t i = 0; i < matmul::out_c; ++i) {
        const ArrayView view = host_[e].in_memory(static_cast<ProductArray>(i));
        if (view.data == nullptr || view.bytes() == 0) continue;
        std::memcpy(staged.data() + offset_[e][i], packed_copy(view).view().data, view.bytes());
      }
    backend_.copy(run, inputs_.view().data, staged.data(), input_bytes_);
    const double seconds = backend_.seconds(run, [&] { kernel.run(device_entries_, run); });
    backend_.copy(run, staged.data(), outputs_.view().data, output_bytes_);
    backend_.synchronize(run);
    for (std::size_t e = 0; e < host_.size(); ++e)
      unpack(staged.data() + offset_[e][matmul::out_c], host_[e].in_memory(matmul::out_c));
    return seconds;
  }

  // Places each entry's array row-major, at a multiple of 256 bytes.
  void lay_out(ProductArray array) {
    std::size_t& bytes = array == matmul::out_c ? output_bytes_ : input_bytes_;
    for (std::size_t e = 0; e < device_entries_.size(); ++e) {
      ArrayView view = device_entries_[e].in_memory(array);
      if (view.data == nullptr) continue;
      view.strides = row_major_strides(view.extents);
      device_entries_[e].set(array, view);
      offset_[e][array] = bytes;
      bytes += (view.bytes() + 255) / 256 * 256;
    }
  }
  Array& base_of(ProductArray array) { return array == matmul::out_c ? outputs_ : inputs_; }
  Array memory(std::size_t bytes) const {
    return Array(Element::u8, {static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1))},
                 backend_.memory(device_));
  }

  std::span<const Gemm> host_;
  std::vector<Gemm> device_entries_;
  std::vector<std::array<std::size_t, matmul::product_arrays>> offset_{device_entries_.size()};
  Device device_;
  Backend& backend_;
  std::size_t input_bytes_ = 0, output_bytes_ = 0;
  Array inputs_, outputs_;
};

GroupOutcome run_one_by_one(std::span<const Gemm> entries, const Device& device, const Options& options) {
  GroupOutcome out;
  Request request = options.request;
  request.device = device.label();
  for (const Gemm& entry : entries) {
    const Outcome one = run(matmul_operation(), entry.arguments(), request);
    out.how = one.plan.variant->name + ", one after another";
    out.seconds += one.kernel_seconds;
  }
  return out;
}

GroupOutcome run_group(std::span<const Gemm> entries, const Options& options) {
  if (entries.empty()) return {};
  const auto largest = std::ranges::max_element(entries, {}, [](const Gemm& g) {
    return static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
  });
  const Device device = choose_device(matmul_operation(), largest->arguments(), options.request);
  if (options.request.variant || options.request.tuning) return run_one_by_one(entries, device, options);
  if (device.where == Where::cpu) {
    GroupOutcome out{.how = "a core for each"};
    Run run{&device};
    out.seconds = backend_of(device).seconds(run, [&] { compute_on_cpu(entries, device.threads); });
    return out;
  }
  const GroupKernel* const kernel = group_kernel();
  if (device.where != Where::cuda || kernel == nullptr || kernel->refuses(entries, device))
    return run_one_by_one(entries, device, options);
  return {.how = kernel->name + ", one launch", .seconds = PlacedGroup(entries, device).run(*kernel)};
}

void check(std::span<const Gemm> entries, GroupOutcome& out) {
  out.passed = true;
  for (std::size_t e = 0; e < entries.size() && *out.passed; ++e) {
    const Verdict verdict = verify(matmul_operation(), entries[e].arguments());
    out.passed = verdict.passed;
    if (!verdict.passed) out.wrong = "product " + std::to_string(e) + ": " + describe(verdict);
  }
}

}  // namespace

const GroupKernel* group_kernel() { return the_kernel() ? &*the_kernel() : nullptr; }
void register_group_kernel(GroupKernel kernel) { the_kernel() = std::move(kernel); }

GroupOutcome detail::multiply_group(std::span<const AnyProduct> products, const Options& options) {
  return typed_call([&] {
    const Group group(products, options, false);
    GroupOutcome out = run_group(group.entries(), options);
    if (options.check) check(group.entries(), out);
    return out;
  });
}

namespace {

// The plan for a group that is computed in place.
struct GroupPlan {
  std::vector<Gemm> entries;  // those whose C has elements
  Device device;
  const GroupKernel* kernel = nullptr;  // null: no kernel computes the group at once
  std::vector<Plan> plans;              // one for each entry if there is no kernel, except on the CPU
};

GroupPlan plan_of(std::span<const detail::AnyProduct> products, const Options& options) {
  matmul::check_enqueued(options);
  GroupPlan out;
  const Group group(products, options, true);
  for (const Gemm& entry : group.entries())
    if (!entry.is_empty()) out.entries.push_back(entry);
  if (out.entries.empty()) return out;
  out.device = options.request.device == "auto" ? device_holding(out.entries.front().c.data)
                                                : find_device(options.request.device);
  const bool named = options.request.variant.has_value() || options.request.tuning.has_value();
  if (out.device.where == Where::cpu && !named) return out;
  const GroupKernel* const kernel = group_kernel();
  if (out.device.where == Where::cuda && !named && kernel != nullptr &&
      !kernel->refuses(out.entries, out.device))
    out.kernel = kernel;
  else
    for (const Gemm& entry : out.entries)
      out.plans.push_back(
          choose_in_place(out.device, matmul_operation(), entry.arguments(), options.request));
  return out;
}

std::size_t bytes_of(const GroupPlan& plan) {
  if (plan.kernel != nullptr) return plan.kernel->workspace_bytes(plan.entries);
  std::size_t bytes = 0;
  for (std::size_t e = 0; e < plan.plans.size(); ++e)
    bytes = std::max(bytes, workspace_bytes(plan.plans[e], plan.entries[e].arguments()));
  return bytes;
}

}  // namespace

namespace detail {

std::size_t group_workspace_bytes(std::span<const AnyProduct> products, const Options& options) {
  return typed_call([&] { return bytes_of(plan_of(products, options)); });
}

std::string enqueue_group(void* stream, std::span<const AnyProduct> products, const Options& options,
                          const Workspace& workspace) {
  return typed_call([&]() -> std::string {
    const GroupPlan plan = plan_of(products, options);
    if (plan.entries.empty()) return {};
    check_in_place(plan.device, plan.entries.front().arguments(), stream, "C0");
    for (const Gemm& entry : plan.entries)
      if (!matmul::lies_in_place(entry, plan.device))
        check_in_place(plan.device, entry.arguments(), stream, "C0");  // throws the reason, or finds none
    if (plan.kernel != nullptr) {
      std::vector<Arguments> beside;  // arrays that the caller's workspace must not overlap
      if (workspace.data != nullptr)
        for (const Gemm& entry : plan.entries) beside.push_back(entry.arguments());
      ScopedWorkspace workspace_scope(plan.device, stream, workspace, bytes_of(plan), beside);
      plan.kernel->run(plan.entries, workspace_scope.run());
      return plan.kernel->name + ", one launch";
    }
    if (plan.plans.empty()) {
      compute_on_cpu(plan.entries, plan.device.threads);
      return "a core for each";
    }
    // The previous product may have written to the workspace, so its front is not zero.
    const Workspace again{workspace.data, workspace.bytes, false};
    for (std::size_t e = 0; e < plan.plans.size(); ++e)
      tessera::enqueue(plan.plans[e], plan.entries[e].arguments(), stream, again, "C0");
    return plan.plans.back().variant->name + ", one after another";
  });
}

}  // namespace detail

}  // namespace tessera::matmul_batch

namespace tessera::matmul_batch::detail {

Finding check_any(const AnyBatch& c, const AnyBatch& a, const AnyBatch& b, const matmul::Options& options,
                  const std::string& arithmetic) {
  return typed_call([&] {
    matmul::require_addend(options);
    const Device device = device_holding(c.first.data);
    return the_batch().examine(arguments_in_place(a, b, c, options), arithmetic, &device);
  });
}

}  // namespace tessera::matmul_batch::detail
