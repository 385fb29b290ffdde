// SPDX-License-Identifier: Apache-2.0
// The public calls: from views and Options to a Gemm, and to the plan that a thread caches for it.
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <utility>
#include "ops/matmul/emulated_fp32/packed_operands.hpp"
#include "ops/matmul/gemm/checks.hpp"
#include "ops/matmul/api/gemm_calls.hpp"
#include "ops/matmul/gemm/gemm.hpp"
#include "ops/matmul/operation/matmul_operation.hpp"
#include "tessera/check.hpp"
#include "tessera/matmul.hpp"
#include "ops/matmul/gemm/operands.hpp"
#include "tessera/core/device/streams.hpp"
#include "tessera/run/typed_call.hpp"

namespace tessera::matmul {
namespace detail {
namespace {

const Plan no_plan;  // for products without elements

// Everything that determines a plan, besides the machine. No addresses.
struct CallKey {
  Gemm gemm;
  char device[15] = {};
  bool cached = true;
  std::int64_t holder = 0;       // the GPU that holds C, host_call, or -1
  std::uint64_t generation = 0;  // changes with the sets of variants and of packed operands

  static constexpr std::int64_t host_call = -2;  // multiply(), which may copy to a GPU

  // Returns nullopt if the plan depends on more than a key holds.
  static std::optional<CallKey> of(const Gemm& gemm, const Request& request, std::int64_t holder) {
    if (request.variant || request.tuning || request.device.size() > sizeof device) return std::nullopt;
    // CPUs need no alignment beyond that of elements.
    const bool on_processors = holder < 0 && (request.device == "auto" || request.device.starts_with("cpu"));
    CallKey key{.gemm = gemm.key(on_processors), .cached = request.cached, .holder = holder};
    std::memcpy(key.device, request.device.data(), request.device.size());
    const bool has_parts = is_emulated_fp32(gemm.compute) || gemm.accuracy_of != Gemm::AccuracyOf::none;
    key.generation = all_variants().size() << 32 | (has_parts ? packed_changes() & 0xffffffff : 0);
    return key;
  }

  bool operator==(const CallKey& other) const { return std::memcmp(this, &other, sizeof *this) == 0; }
  // Hashes the members that vary most between a program's products.
  std::size_t hash() const {
    std::uint64_t out = 0, factor = 0x9e3779b97f4a7c15ull;
    for (const std::int64_t word : {gemm.m, gemm.n, gemm.k, gemm.a.row_stride, gemm.a.col_stride,
                                    gemm.b.row_stride, gemm.b.col_stride, holder})
      out += static_cast<std::uint64_t>(word) * (factor += 0x632be59bd9b4e01aull);
    out += std::bit_cast<std::uint64_t>(gemm.alpha) + std::bit_cast<std::uint64_t>(gemm.beta) * factor;
    out += static_cast<std::uint64_t>(gemm.a_element) * 0x100000001b3ull;
    return (out ^ out >> 32) * 0x9e3779b97f4a7c15ull >> 32;
  }
};
static_assert(sizeof(CallKey) == sizeof(Gemm) + 32);

struct Remembered {
  CallKey key;
  std::shared_ptr<const PreparedCall> call;  // null: the slot is empty, or …
  bool elsewhere = false;                    // … the product does not run on the CPU
};

// Returns the slot for a key in the thread's cache of its last calls: set-associative with four ways,
// replaced round-robin, without locks.
Remembered& place_of(const CallKey& key) {
  struct Set {
    std::array<Remembered, 4> places;
    std::size_t next = 0;
  };
  thread_local std::array<Set, 32> sets;
  thread_local Remembered* latest = &sets[0].places[0];  // most calls repeat the one before
  if (latest->key == key) return *latest;
  Set& set = sets[key.hash() % sets.size()];
  for (Remembered& place : set.places)
    if (place.key == key) return *(latest = &place);
  return *(latest = &set.places[set.next++ % set.places.size()]);
}

// False if unknown, because arrays may interleave by rows.
bool overlaps_nothing(const Gemm& gemm, const ByteRange& c) {
  const auto is_apart = [&](ProductArray array, const void* data) {
    return data == nullptr || !c.intersects(gemm.range_of(array));
  };
  return is_apart(in_a, gemm.a.data) && is_apart(in_b, gemm.b.data) &&
         is_apart(in_scale_a, gemm.scale_a.data) && is_apart(in_scale_b, gemm.scale_b.data) &&
         is_apart(in_bias, gemm.bias.data) && (gemm.adds_in_place || is_apart(in_c0, gemm.c0.data));
}

bool lies_on(const void* data, const Device& device, StreamOrderedMemory* gpus) {
  const bool on_gpu = device.where == Where::cuda;
  if (gpus == nullptr) return !on_gpu;
  const std::optional<int> holder = gpus->holder_of(data);
  return on_gpu ? holder == device.index : !holder;
}

// `known`: an address that is known to be on the device.
bool lies_in_place(const Gemm& gemm, const Device& device, StreamOrderedMemory* gpus,
                   const void* known = nullptr) {
  if (!overlaps_nothing(gemm, gemm.range_of(out_c))) return false;
  for (const void* const data : gemm.addresses())
    if (data != nullptr && data != known && !lies_on(data, device, gpus)) return false;
  return true;
}

// True if enqueue()'s requirements on addresses and stream certainly hold; otherwise the slow path checks
// them and reports the violated one.
bool passes_fast_checks(const PreparedCall& call, void* stream, const Gemm& gemm, const Workspace& workspace,
                        StreamOrderedMemory* gpus, int holder_of_c) {
  const Device& device = call.plan().device;
  const bool on_gpu = device.where == Where::cuda;
  if (!on_gpu && stream != nullptr) return false;  // a GPU's launch refuses a stream that is not its own
  if (on_gpu ? holder_of_c != device.index : holder_of_c >= 0) return false;
  if (!lies_in_place(gemm, device, gpus, gemm.c.data)) return false;
  if (call.workspace_bytes() == 0 || workspace.data == nullptr) return true;
  const auto spare_first = reinterpret_cast<std::uintptr_t>(workspace.data);
  const ByteRange spare{spare_first, spare_first + call.workspace_bytes()};
  if (!lies_on(workspace.data, device, gpus)) return false;
  for (std::size_t i = 0; i < product_arrays; ++i)
    if (gemm.addresses()[i] != nullptr && spare.intersects(gemm.range_of(ProductArray(i)))) return false;
  return true;
}

// Computes a product on the CPU by its cached plan. False: not computed; the general path has to be used.
bool multiply_at_once(const Gemm& gemm, const Request& request, Outcome& outcome) {
  if (gemm.is_empty() || gemm.accuracy_of != Gemm::AccuracyOf::none) return false;
  if (!overlaps_nothing(gemm, gemm.range_of(out_c))) return false;
  const auto key = CallKey::of(gemm, request, CallKey::host_call);
  if (!key) return false;
  Remembered& last = place_of(*key);
  const bool known = (last.call != nullptr || last.elsewhere) && last.key == *key;
  if (!known) {
    const Arguments arguments = gemm.arguments();
    Plan plan = choose(matmul_operation(), arguments, request);
    last = {*key, nullptr, true};
    if (plan.device.where == Where::cpu && !plan.variant->baseline) {
      const auto call = std::make_shared<const PreparedCall>(std::move(plan), arguments);
      if (call->workspace_bytes() == 0) last = {*key, call, false};
    }
  }
  if (last.elsewhere) return false;
  // Reading the clock takes as long as a product of a few elements.
  constexpr double worth_timing = 96.0 * 96 * 96;
  const bool timed =
      static_cast<double>(gemm.m) * static_cast<double>(gemm.n) * static_cast<double>(gemm.k) >= worth_timing;
  const auto start = timed ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
  last.call->enqueue(nullptr, gemm.addresses());
  if (timed)
    outcome.kernel_seconds = outcome.round_trip_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  outcome.plan = last.call->plan().without_names();
  return true;
}

}  // namespace

namespace {

Outcome multiply_gemm(const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c, const Options& options) {
  const Gemm gemm = Gemm::of(a, b, c, options);
  Outcome outcome;
  if (!options.check && multiply_at_once(gemm, options.request, outcome)) return outcome;
  Arguments arguments = gemm.arguments();
  // Copies C0: C is written, and poisoned before a check, while C0 is still needed.
  Array kept;
  if (gemm.adds_in_place) arguments.set_array("C0", set_aside(arguments.array("C"), kept));
  return run(matmul_operation(), arguments, options.request, options.check);
}

}  // namespace

Outcome multiply(const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c, const Options& options) {
  return typed_call([&] { return multiply_gemm(a, b, c, options); });
}

struct PreparedProduct::State {
  Gemm gemm;
  std::optional<PreparedCall> call;  // nullopt: C has no elements
  Gemm alignments;                   // see Gemm::key()

  State(const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c, const Options& options)
      : gemm((check_enqueued(options), Gemm::of(a, b, c, options))) {
    const Arguments device_arguments = gemm.arguments();
    if (gemm.is_empty()) return;
    call.emplace(matmul_operation(), device_arguments, options.request);
    alignments = gemm.key(false);
  }
};

PreparedProduct::PreparedProduct(const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c,
                                 const Options& options)
    : state_(typed_call([&] { return std::make_shared<const State>(a, b, c, options); })) {}

const Plan& PreparedProduct::plan() const { return state_->call ? state_->call->plan() : no_plan; }

std::size_t PreparedProduct::workspace_bytes() const {
  return state_->call ? state_->call->workspace_bytes() : 0;
}

void PreparedProduct::enqueue(void* stream, const void* a, const void* b, void* c,
                              const Workspace& workspace) const {
  const State& s = *state_;
  if (!s.call) return;
  // CPUs need no alignment beyond that of elements.
  const bool on_processors = s.call->plan().device.where == Where::cpu;
  const auto check = [on_processors](const char* name, const void* data, const void* aligned,
                                     Element element) {
    const auto planned = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(aligned));
    const auto to = on_processors || planned == 0 ? size_of(element) : planned;
    if ((reinterpret_cast<std::uintptr_t>(data) & (to - 1)) != 0)
      throw Error(std::string(name) + "'s address is no multiple of " + std::to_string(to) +
                  ", as that was with which the product was prepared");
  };
  check("A", a, s.alignments.a.data, s.gemm.a_element);
  check("B", b, s.alignments.b.data, s.gemm.b_element);
  check("C", c, s.alignments.c.data, s.gemm.c_element);
  Addresses arrays = s.gemm.addresses();
  arrays[in_a] = const_cast<void*>(a);
  arrays[in_b] = const_cast<void*>(b);
  arrays[out_c] = c;
  if (s.gemm.adds_in_place) arrays[in_c0] = c;
  s.call->enqueue(stream, arrays, workspace);
}

std::size_t workspace_bytes(const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c,
                            const Options& options) {
  return PreparedProduct(a, b, c, options).workspace_bytes();
}

const Plan& enqueue(void* stream, const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c,
                    const Options& options, const Workspace& workspace) {
  return typed_call([&]() -> const Plan& {
    check_enqueued(options);
    return matmul::enqueue(stream, Gemm::of(a, b, c, options), options.request, workspace);
  });
}

}  // namespace detail

bool lies_in_place(const Gemm& gemm, const Device& device) {
  return detail::lies_in_place(gemm, device, find_stream_ordered_memory(Where::cuda));
}

const Plan& enqueue(void* stream, const Gemm& gemm, const Request& request, const Workspace& workspace) {
  using namespace detail;
  StreamOrderedMemory* const gpus = find_stream_ordered_memory(Where::cuda);
  const int holder =
      gpus == nullptr || gemm.c.data == nullptr ? -1 : gpus->holder_of(gemm.c.data).value_or(-1);
  const auto key = CallKey::of(gemm, request, holder);
  thread_local Remembered named;  // for requests that are not cached
  Remembered& last = key ? place_of(*key) : named;
  const bool known = key && last.call != nullptr && last.key == *key;
  if (known && passes_fast_checks(*last.call, stream, gemm, workspace, gpus, holder)) {
    last.call->enqueue(stream, gemm.addresses(), workspace);
    return last.call->plan();
  }
  const Arguments device_arguments = gemm.arguments();
  if (gemm.is_empty()) return no_plan;
  if (!known)
    last = {key.value_or(CallKey()),
            std::make_shared<const PreparedCall>(matmul_operation(), device_arguments, request)};
  tessera::enqueue(*last.call, device_arguments, stream, workspace, "C0");
  return last.call->plan();
}

}  // namespace tessera::matmul

namespace tessera::matmul::detail {

Finding check_any(const AnyMatrix& c, const AnyMatrix& a, const AnyMatrix& b, const Options& options,
                  const std::string& arithmetic) {
  return typed_call([&] {
    require_addend(options);
    const Device device = device_holding(c.data);
    return examine(Gemm::of(a, b, c, options).arguments(), arithmetic, &device);
  });
}

}  // namespace tessera::matmul::detail
