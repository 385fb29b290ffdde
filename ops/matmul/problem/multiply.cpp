// SPDX-License-Identifier: Apache-2.0
// The calls for programs: from views and Options to arguments, to a choice, to a run.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <utility>
#include "ops/matmul/problem/call_arguments.hpp"
#include "ops/matmul/problem/accuracy.hpp"
#include "ops/matmul/problem/operands.hpp"
#include "ops/matmul/problem/multiply.hpp"
#include "ops/matmul/problem/small_call.hpp"
#include "ops/matmul/kernels/ampere/mma_plan.hpp"
#include "ops/matmul/kernels/hopper/tile_plan.hpp"
#include "ops/matmul/kernels/packed_operands.hpp"
#include "ops/matmul/kernels/simt/warp_plan.hpp"
#include "tessera/core/streams.hpp"

namespace tessera::matmul {
namespace {

const char* word_of(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return "relu";
    case Activation::gelu:
      return "gelu";
    case Activation::gelu_tanh:
      return "gelu-tanh";
    case Activation::silu:
      return "silu";
    case Activation::none:
      break;
  }
  return "none";
}

void check_alignment(const char* name, const void* data, Element element) {
  if (reinterpret_cast<std::uintptr_t>(data) % size_of(element) != 0)
    throw Error(std::string(name) + " is not aligned to its elements");
}

// `step`: from one entry to the next; 0: one serves all, and the array has one dimension.
ArrayView vector_of(const char* name, const void* data, Element element, std::int64_t count,
                    std::int64_t step, const std::int64_t* batch) {
  check_alignment(name, data, element);
  if (step < 0) throw Error(std::string(name) + " has the negative step " + std::to_string(step));
  auto* const there = const_cast<void*>(data);
  if (batch == nullptr || step == 0) return {there, element, {count}, {1}};
  check_reach(name, *batch, step, element);
  return {there, element, {*batch, count}, {step, 1}};
}

}  // namespace

void check_reach(const char* name, std::int64_t count, std::int64_t step, Element element) {
  const auto bytes = static_cast<std::int64_t>(size_of(element));
  std::int64_t reach = 0;
  if (__builtin_mul_overflow(count, step, &reach) || __builtin_mul_overflow(reach, bytes, &reach))
    throw Error(std::string(name) + " reaches beyond any memory: " + std::to_string(count) + " times " +
                std::to_string(step) + " elements");
}

const Operation& matmul_operation() {
  const Operation* operation = find_operation("matmul");
  if (operation == nullptr) throw Error(Error::Kind::internal, "the matrix product is not linked");
  return *operation;
}

std::string round_trip(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

ArrayView view_of(const char* name, const detail::AnyMatrix& x) {
  const std::string what(name);
  check_named((what + "'s order").c_str(), x.order, Order::columns);
  if (x.rows < 0 || x.cols < 0) throw Error(what + " has a negative extent");
  const bool by_rows = x.order == Order::rows;
  const std::int64_t line = by_rows ? x.cols : x.rows;
  const std::int64_t step = x.leading_dimension == 0 ? line : x.leading_dimension;
  if (step < line)
    throw Error(what + " has the leading dimension " + std::to_string(step) + ", but " +
                (by_rows ? "rows" : "columns") + " of " + std::to_string(line));
  if (line != 0) check_reach(name, by_rows ? x.rows : x.cols, step, x.element);
  if (x.data == nullptr && x.rows != 0 && x.cols != 0) throw Error(what + " has no data");
  check_alignment(name, x.data, x.element);
  Extents strides = by_rows ? Extents{step, 1} : Extents{1, step};
  return {const_cast<void*>(x.data), x.element, {x.rows, x.cols}, std::move(strides)};
}

void check_elements(Element a, Element b, Element c) {
  const auto name = [](Element element) { return std::string(name_of(element)); };
  const auto& known = matmul_operation().elements;
  if (std::ranges::find(known, a) == known.end()) throw Error("there is no product of " + name(a));
  if (a != b && !(is_fp8(a) && is_fp8(b)))
    throw Error("B holds " + name(b) + ", A " + name(a) + ": only 8-bit floats may be mixed");
  try {
    (void)element_of_c(a, {{"output-element", name(c)}});
  } catch (const Error& error) {
    const std::string text = error.what();
    throw Error("C holds " + name(c) + text.substr(text.find(':')));
  }
}

Arguments::Words words_of(Element a, Element b, Element c, const Options& options) {
  check_named("activation", options.activation, Activation::silu);
  check_named("compute", options.compute, Compute::f16x3);
  check_named("accumulate", options.accumulate, Accumulate::fast);
  Arguments::Words words{{"alpha", round_trip(options.alpha)},
                         {"beta", round_trip(options.beta)},
                         {"op-a", options.transpose_a ? "transpose" : "none"},
                         {"op-b", options.transpose_b ? "transpose" : "none"},
                         {"compute", std::string(text_of(options.compute))},
                         {"accumulate", options.accumulate == Accumulate::fast ? "fast" : "promoted"},
                         {"scale-a-per", options.scale_a.of_each ? "row" : "tensor"},
                         {"scale-b-per", options.scale_b.of_each ? "column" : "tensor"},
                         {"bias-along", options.bias.along_rows ? "rows" : "columns"},
                         {"activation", word_of(options.activation)}};
  if (const auto* const type = std::get_if<Element>(&options.accuracy))
    words["accuracy"] = std::string(name_of(*type));
  if (const auto* const number = std::get_if<double>(&options.accuracy))
    words["accuracy"] = round_trip(*number);
  if (b != a) words["element-b"] = std::string(name_of(b));
  if (c != element_of_c(a, {})) words["output-element"] = std::string(name_of(c));
  return words;
}

void add_vectors(std::map<std::string, ArrayView>& inputs, const Options& options, std::int64_t m,
                 std::int64_t n, const std::int64_t* batch) {
  const auto add_scale = [&](const char* name, const Scale& scale, std::int64_t count) {
    if (scale.data == nullptr) return;
    inputs[name] = vector_of(name, scale.data, Element::f32, scale.of_each ? count : 1, scale.step, batch);
  };
  add_scale("scale-a", options.scale_a, m);
  add_scale("scale-b", options.scale_b, n);
  const Bias& bias = options.bias;
  if (bias.data != nullptr) check_named("bias's element", bias.element, all_elements().back());
  if (bias.data != nullptr)
    inputs["bias"] = vector_of("bias", bias.data, bias.element, bias.along_rows ? m : n, bias.step, batch);
}

ArrayView set_aside(const ArrayView& c, Array& kept) {
  const bool by_columns = c.strides.back() != 1;
  kept = packed_copy(by_columns ? c.transposed() : c);
  return by_columns ? kept.view().transposed() : kept.view();
}

ArrayView addend_of(const Options& options, Element c, std::int64_t m, std::int64_t n) {
  return view_of("C0", {options.c0.data, c, m, n, options.c0.leading_dimension, options.c0.order});
}

Arguments arguments_of(const ArrayView& a, const ArrayView& b, const ArrayView& c, const Options& options,
                       const ArrayView* added) {
  check_elements(a.element, b.element, c.element);
  std::map<std::string, ArrayView> inputs{{"A", a}, {"B", b}};
  if (added != nullptr) inputs["C0"] = *added;
  add_vectors(inputs, options, c.extents[0], c.extents[1]);
  Arguments out(matmul_operation().signature, a.element, std::move(inputs),
                words_of(a.element, b.element, c.element, options));
  out.set_array("C", c);
  if (!std::holds_alternative<std::monostate>(options.accuracy)) (void)compute_of(out);  // throws
  return out;
}

namespace detail {

Outcome multiply(const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c, const Options& options) {
  Outcome outcome;
  if (multiply_at_once(a, b, c, options, outcome)) return outcome;
  const ArrayView out = view_of("C", c);
  // What is added is set aside: C is written, and poisoned before a check, while C0 is still needed.
  Array kept;
  ArrayView added;
  if (options.beta != 0)
    added = options.c0.data == nullptr ? set_aside(out, kept) : addend_of(options, c.element, c.rows, c.cols);
  Arguments arguments =
      arguments_of(view_of("A", a), view_of("B", b), out, options, options.beta != 0 ? &added : nullptr);
  outcome = run(matmul_operation(), arguments, options.request, options.check);
  return outcome;
}

}  // namespace detail

namespace {

Arguments arguments_in_place(const detail::AnyMatrix& a, const detail::AnyMatrix& b,
                             const detail::AnyMatrix& c, const Options& options) {
  check_enqueued(options);
  const ArrayView out = view_of("C", c);
  ArrayView added = out;
  if (options.beta != 0 && options.c0.data != nullptr) added = addend_of(options, c.element, c.rows, c.cols);
  return arguments_of(view_of("A", a), view_of("B", b), out, options, options.beta != 0 ? &added : nullptr);
}

}  // namespace

void check_enqueued(const Options& options) {
  if (options.check) throw Error("check is not supported for asynchronous calls");
}

std::size_t workspace_bytes_in_place(const Operation& operation, const Arguments& there,
                                     const Options& options) {
  if (there.array("C").count() == 0) return 0;
  return tessera::workspace_bytes(choose_in_place(operation, there, options.request), there);
}

Plan enqueue_in_place(const Operation& operation, void* stream, const Arguments& there,
                      const Options& options, const Workspace& workspace) {
  if (there.array("C").count() == 0) return {};
  Plan plan = choose_in_place(operation, there, options.request);
  tessera::enqueue(plan, there, stream, workspace, "C0");
  return plan;
}

namespace detail {

namespace {

const Plan no_plan;  // of products without elements

// The largest power of two, up to the 128 bytes of a line of the caches, that the address is a multiple of.
std::uintptr_t alignment_of(const void* data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data) | 128;
  return address & ~(address - 1);
}

}  // namespace

struct PreparedProduct::State {
  std::optional<PreparedCall> call;  // nothing: C has no elements
  ProductArrays places{matmul_operation().signature};
  const void *c0 = nullptr, *bias = nullptr, *scale_a = nullptr, *scale_b = nullptr;
  std::uintptr_t of_a = 1, of_b = 1, of_c = 1;  // alignments
  bool adds_in_place = false;
  std::optional<SmallCall> small;  // of processors, where the product may be one for them

  State(const Arguments& there, const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c,
        const Options& options) {
    if (there.array("C").count() == 0) return;
    call.emplace(choose_in_place(matmul_operation(), there, options.request), there);
    // Processors take any address of an element.
    const bool on_processors = call->plan().device.where == Where::cpu;
    const auto needed = [&](const AnyMatrix& x) {
      return on_processors ? size_of(x.element) : alignment_of(x.data);
    };
    of_a = needed(a), of_b = needed(b), of_c = needed(c);
    adds_in_place = options.beta != 0 && options.c0.data == nullptr;
    take_vectors(options);
    small = SmallCall::of(a, b, c, options, call->plan());
  }

  // The addresses that Options hold.
  void take_vectors(const Options& options) {
    c0 = options.beta != 0 ? options.c0.data : nullptr;
    bias = options.bias.data;
    scale_a = options.scale_a.data, scale_b = options.scale_b.data;
  }

  void launch(void* stream, const void* a, const void* b, void* c, const Workspace& workspace) const {
    Addresses arrays{};
    const auto put = [&](std::size_t place, const void* data) { arrays[place] = const_cast<void*>(data); };
    put(places.a, a), put(places.b, b), put(places.c, c);
    put(places.c0, adds_in_place ? c : c0);
    put(places.bias, bias), put(places.scale_a, scale_a), put(places.scale_b, scale_b);
    call->enqueue(stream, arrays, workspace);
  }
};

PreparedProduct::PreparedProduct(const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c,
                                 const Options& options)
    : state_(std::make_shared<const State>(arguments_in_place(a, b, c, options), a, b, c, options)) {}

const Plan& PreparedProduct::plan() const { return state_->call ? state_->call->plan() : no_plan; }

std::size_t PreparedProduct::workspace_bytes() const {
  return state_->call ? state_->call->workspace_bytes() : 0;
}

void PreparedProduct::enqueue(void* stream, const void* a, const void* b, void* c,
                              const Workspace& workspace) const {
  const State& s = *state_;
  if (!s.call) return;
  const auto check = [](const char* name, const void* data, std::uintptr_t to) {
    if ((reinterpret_cast<std::uintptr_t>(data) & (to - 1)) != 0)
      throw Error(std::string(name) + "'s address is no multiple of " + std::to_string(to) +
                  ", as that was with which the product was prepared");
  };
  check("A", a, s.of_a), check("B", b, s.of_b), check("C", c, s.of_c);
  if (s.small && stream == nullptr && s.small->multiply(a, b, c)) return;
  s.launch(stream, a, b, c, workspace);
}

namespace {

// All that a plan depends on but for the machine: sizes, layouts, alignments, options. No address.
using CallKey = std::array<std::uint64_t, 16>;

CallKey key_of(const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c, const Options& o, int device) {
  std::uint64_t bits = 0;
  const auto add = [&](auto value, int width) { bits = bits << width | static_cast<std::uint64_t>(value); };
  const auto word = [&] { return std::exchange(bits, 0); };
  const auto wide = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  CallKey key{};
  for (const AnyMatrix* x : {&a, &b, &c}) add(x->element, 8), add(x->order, 8);
  key[0] = word();
  add(o.bias.element, 8), add(o.c0.order, 8), add(o.activation, 8), add(o.compute, 8), add(o.accumulate, 8);
  for (const bool flag :
       {o.transpose_a, o.transpose_b, o.scale_a.of_each, o.scale_b.of_each, o.bias.along_rows,
        o.scale_a.data != nullptr, o.scale_b.data != nullptr, o.bias.data != nullptr, o.c0.data != nullptr,
        o.request.cached, o.request.device == "cuda", std::holds_alternative<double>(o.accuracy)})
    add(flag, 1);
  key[1] = word();
  for (const void* data :
       {a.data, b.data, c.data, o.c0.data, o.bias.data, static_cast<const void*>(o.scale_a.data),
        static_cast<const void*>(o.scale_b.data)})
    add(std::countr_zero(alignment_of(data)), 3);
  add(device + 1, 16);
  // Parts that are kept decide whether parts are multiplied.
  const bool has_parts = is_emulated_fp32(o.compute) || !std::holds_alternative<std::monostate>(o.accuracy);
  add(has_parts ? packed_changes() & 0xffffff : 0, 24);
  key[2] = word();
  std::size_t at = 3;
  for (const AnyMatrix* x : {&a, &b, &c})
    for (const std::int64_t size : {x->rows, x->cols, x->leading_dimension}) key[at++] = wide(size);
  key[at++] = wide(o.c0.leading_dimension);
  key[at++] = std::bit_cast<std::uint64_t>(o.alpha);
  key[at++] = std::bit_cast<std::uint64_t>(o.beta);
  // A number's bits have a sign of 0, so nothing else and no type is taken for one.
  if (const auto* const number = std::get_if<double>(&o.accuracy))
    key[at] = std::bit_cast<std::uint64_t>(*number);
  if (const auto* const type = std::get_if<Element>(&o.accuracy))
    key[at] = ~std::uint64_t{0} - static_cast<std::uint64_t>(*type);
  return key;
}

std::size_t hash_of(const CallKey& key) {
  std::uint64_t out = 0;
  for (const std::uint64_t word : key) out = (out ^ word) * 0x9e3779b97f4a7c15ull, out ^= out >> 32;
  return out;
}

// A thread's last calls: nobody waits for anybody.
struct Remembered {
  CallKey key{};
  std::shared_ptr<PreparedProduct::State> state;
};

Remembered& place_of(const CallKey& key) {
  constexpr std::size_t places = 64;
  thread_local std::array<Remembered, places> all;
  return all[hash_of(key) % places];
}

// Whether a plan follows from a CallKey.
bool is_remembered(const Request& request) {
  return !request.variant && !request.tuning && (request.device == "auto" || request.device == "cuda");
}

// From an array's first byte to its last.
struct Reach {
  const void* data;
  std::uintptr_t first, end;

  Reach(const void* at, std::int64_t elements, Element element)
      : data(at),
        first(reinterpret_cast<std::uintptr_t>(at)),
        end(first + static_cast<std::uintptr_t>(elements) * size_of(element)) {}
  explicit Reach(const AnyMatrix& x) : Reach(x.data, elements_of(x), x.element) {}

  bool is_apart(const Reach& other) const { return end <= other.first || other.end <= first; }

 private:
  static std::int64_t elements_of(const AnyMatrix& x) {
    const bool by_rows = x.order == Order::rows;
    const std::int64_t lines = by_rows ? x.rows : x.cols, line = by_rows ? x.cols : x.rows;
    if (lines == 0 || line == 0) return 0;
    return (lines - 1) * (x.leading_dimension == 0 ? line : x.leading_dimension) + line;
  }
};

// Whether what enqueue() demands of addresses and stream holds for certain; else the long way finds out, and
// says why not. The sizes are those of a call that was made.
bool passes_fast_checks(const PreparedCall& call, void* stream, const AnyMatrix& a, const AnyMatrix& b,
                        const AnyMatrix& c, const Options& o, const Workspace& workspace,
                        StreamOrderedMemory* gpus) {
  const Device& device = call.plan().device;
  const bool on_gpu = device.where == Where::cuda;
  const Reach out(c);
  const Reach spare(workspace.data,
                    call.workspace_bytes() == 0 || workspace.data == nullptr
                        ? 0
                        : static_cast<std::int64_t>(workspace.bytes),
                    Element::u8);
  const auto lies_there = [&](const void* data) {
    if (gpus == nullptr) return !on_gpu;
    const std::optional<int> holder = gpus->holder_of(data);
    return on_gpu ? holder == device.index : !holder;
  };
  const auto serves = [&](const Reach& x) {
    return x.data != nullptr && x.is_apart(out) && x.is_apart(spare) && lies_there(x.data);
  };
  if (!serves(Reach(a)) || !serves(Reach(b)) || !out.is_apart(spare)) return false;
  if (spare.first != spare.end && !lies_there(workspace.data)) return false;
  if (o.beta != 0 && o.c0.data != nullptr &&
      !serves(Reach({o.c0.data, c.element, c.rows, c.cols, o.c0.leading_dimension, o.c0.order})))
    return false;
  if (o.bias.data != nullptr &&
      !serves(Reach(o.bias.data, o.bias.along_rows ? c.rows : c.cols, o.bias.element)))
    return false;
  for (const auto& [scale, count] : {std::pair(o.scale_a, c.rows), std::pair(o.scale_b, c.cols)})
    if (scale.data != nullptr && !serves(Reach(scale.data, scale.of_each ? count : 1, Element::f32)))
      return false;
  return on_gpu || stream == nullptr;  // a GPU's launch itself refuses a stream that is none of its own
}

}  // namespace

std::size_t workspace_bytes(const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c,
                            const Options& options) {
  return PreparedProduct(a, b, c, options).workspace_bytes();
}

const Plan& enqueue(void* stream, const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c,
                    const Options& options, const Workspace& workspace) {
  if (!is_remembered(options.request)) {
    const Arguments there = arguments_in_place(a, b, c, options);
    thread_local Plan plan;
    plan = enqueue_in_place(matmul_operation(), stream, there, options, workspace);
    return plan;
  }
  StreamOrderedMemory* const gpus = find_stream_ordered_memory(Where::cuda);
  const int device = gpus == nullptr || c.data == nullptr ? -1 : gpus->holder_of(c.data).value_or(-1);
  const CallKey key = key_of(a, b, c, options, device);
  Remembered& last = place_of(key);
  if (last.state && last.key == key && !options.check &&
      passes_fast_checks(*last.state->call, stream, a, b, c, options, workspace, gpus)) {
    const auto& small = last.state->small;
    if (small && small->multiply(a.data, b.data, const_cast<void*>(c.data))) return last.state->call->plan();
    last.state->take_vectors(options);
    last.state->launch(stream, a.data, b.data, const_cast<void*>(c.data), workspace);
    return last.state->call->plan();
  }
  const Arguments there = arguments_in_place(a, b, c, options);
  if (there.array("C").count() == 0) return no_plan;
  if (!last.state || last.key != key)
    last = {key, std::make_shared<PreparedProduct::State>(there, a, b, c, options)};
  tessera::enqueue(*last.state->call, there, stream, workspace, "C0");
  return last.state->call->plan();
}

}  // namespace detail

}  // namespace tessera::matmul
