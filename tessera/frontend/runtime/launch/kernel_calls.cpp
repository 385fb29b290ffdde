// SPDX-License-Identifier: Apache-2.0
// The functions that the threads of a kernel call.
#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>
#include "tessera/core/text/error.hpp"
#include "tessera/core/device/thread.hpp"
#include "tessera/frontend/include/cooperative_groups.h"
#include "tessera/frontend/include/device_functions.h"
#include "tessera/frontend/include/math_functions.h"
#include "tessera/frontend/runtime/launch/kernels.hpp"
#include "tessera/simt/executor/executor.hpp"
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace tessera_cuda {
namespace {

using tessera::SourceLocation;
using tessera::simt::current_thread;
using tessera::simt::WarpCollective;

bool in_kernel() { return current_thread != nullptr; }
uint3 of(const tessera::Index3& index) {
  return {static_cast<unsigned>(index.x), static_cast<unsigned>(index.y), static_cast<unsigned>(index.z)};
}
SourceLocation location(CallSite at) { return {at.file, at.line}; }
int lane() { return current_thread->rank % 32; }

std::int64_t block_number() {
  const tessera::Index3 &block = current_thread->of->block, &grid = current_thread->of->grid;
  return block.x + std::int64_t{grid.x} * (block.y + std::int64_t{grid.y} * block.z);
}

}  // namespace

uint3 thread_index() noexcept { return of(current_thread->index); }
uint3 block_index() noexcept { return of(current_thread->of->block); }
uint3 block_extent() noexcept { return of(current_thread->of->size); }
uint3 grid_extent() noexcept { return of(current_thread->of->grid); }
bool on_device() noexcept { return in_kernel(); }
unsigned thread_rank() noexcept { return static_cast<unsigned>(current_thread->rank); }

// --- Shared memory ---

void* shared_member(SharedStruct* of_struct, const char* name, std::size_t offset,
                    const ElementsOf* type) noexcept {
  auto& declaration = *static_cast<SharedDeclaration*>(of_struct->known_to_runtime);
  bool is_known = false;
  for (int i = 0; i < declaration.names_known.load(std::memory_order_acquire); ++i)
    is_known = is_known || declaration.names[static_cast<std::size_t>(i)].offset == offset;
  if (!is_known) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    for (const SharedName& other : declaration.names) is_known = is_known || other.offset == offset;
    // Only as many names are kept as were reserved; findings about later members do not name them.
    if (!is_known && declaration.names.size() < declaration.names.capacity()) {
      declaration.names.push_back({name, offset, type});
      declaration.names_known.store(static_cast<int>(declaration.names.size()), std::memory_order_release);
    }
  }
  return running.shared + running.kernel->offset_of(declaration) + offset;
}

void* dynamic_shared_address(const char* name, std::size_t element_bytes) noexcept {
  Kernel& kernel = *running.kernel;
  if (kernel.dynamic_element.load(std::memory_order_relaxed) == 0) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    if (kernel.dynamic_element.load() == 0) {
      kernel.dynamic_name = name;
      kernel.dynamic_element = element_bytes;
    }
  }
  return running.shared + running.dynamic_offset;
}

// --- Barriers and warp functions ---

void barrier(CallSite at) { tessera::simt::sync(location(at)); }

// Uses two sets of counters alternately, because a thread may reach the next call before others have left
// this one.
int barrier_count(Count what, bool holds, CallSite at) {
  auto& counters = *reinterpret_cast<BlockCounters*>(running.shared + running.counters_offset);
  if (counters.mark != BlockCounters::fresh)
    counters = {.mark = BlockCounters::fresh, .calls = 0, .held = {}, .arrived = {}};
  const unsigned call = counters.calls, set = call % 2;
  if (counters.arrived[set] == 0) counters.held[set] = 0;
  ++counters.arrived[set];
  counters.held[set] += holds;
  barrier(at);
  if (counters.calls == call) {
    counters.calls = call + 1;
    counters.arrived[1 - set] = 0;
  }
  switch (what) {
    case Count::count:
      return static_cast<int>(counters.held[set]);
    case Count::all:
      return counters.held[set] == counters.arrived[set];
    case Count::any:
      break;
  }
  return counters.held[set] != 0;
}

void sync_warp(unsigned lanes, CallSite at) {
  tessera::simt::collective(WarpCollective::sync_warp, lanes, 0, 0, location(at));
}

// Shuffles like the instruction, within the `width` lanes that this lane belongs to; a lane whose source lies
// outside keeps its own value.
std::uint64_t shuffle(Shuffle how, unsigned lanes, std::uint64_t word, int operand, int width, CallSite at) {
  const int own = lane(), first = own & ~(width - 1), last = first + width - 1;
  int source = own;
  WarpCollective collective = WarpCollective::shuffle;
  switch (how) {
    case Shuffle::index:
      source = first | (operand & (width - 1));
      break;
    case Shuffle::up:
      collective = WarpCollective::shuffle_up;
      source = own - (operand & 31) < first ? own : own - (operand & 31);
      break;
    case Shuffle::down:
      collective = WarpCollective::shuffle_down;
      source = own + (operand & 31) > last ? own : own + (operand & 31);
      break;
    case Shuffle::exclusive_or:
      collective = WarpCollective::shuffle_xor;
      source = (own ^ operand) > last ? own : own ^ (operand & 31);
      break;
  }
  return tessera::simt::collective(collective, lanes, word, source, location(at));
}

unsigned vote(Vote what, unsigned lanes, bool holds, CallSite at) {
  const auto meet = [&](WarpCollective collective) {
    return static_cast<unsigned>(tessera::simt::collective(collective, lanes, holds, 0, location(at)));
  };
  switch (what) {
    case Vote::any:
      return meet(WarpCollective::any);
    case Vote::all:
      return meet(WarpCollective::all);
    case Vote::ballot:
      return meet(WarpCollective::ballot);
    case Vote::unanimous:
      break;
  }
  return meet(WarpCollective::match_all) != 0;
}

unsigned match_any(unsigned lanes, std::uint64_t word, CallSite at) {
  return static_cast<unsigned>(
      tessera::simt::collective(WarpCollective::match_any, lanes, word, 0, location(at)));
}
unsigned match_all(unsigned lanes, std::uint64_t word, CallSite at) {
  return static_cast<unsigned>(
      tessera::simt::collective(WarpCollective::match_all, lanes, word, 0, location(at)));
}

unsigned active_lanes(CallSite at) { return tessera::simt::active_lanes(location(at)); }
void grid_barrier(CallSite at) { tessera::simt::sync_grid(location(at)); }
bool grid_is_cooperative() noexcept { return running.cooperative; }

void sleep(unsigned) {}

long long ticks() {
#if defined(__x86_64__)
  return static_cast<long long>(__rdtsc());
#else
  timespec t = {};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
#endif
}

namespace {

// Ends this block and the launch by an exception, through frames that the compiler assumed not to throw.
[[noreturn]] void stop_kernel(const std::string& text) {
  throw tessera::Error(tessera::Error::Kind::memory, text);
}

}  // namespace

void trap(CallSite at) {
  if (!in_kernel()) std::abort();
  running.output->trapped = true;
  stop_kernel("__trap() at " + std::string(at.file) + ":" + std::to_string(at.line));
}

// --- Rounding ---

namespace {

class Rounded {
 public:
  explicit Rounded(Rounding how) : before_(std::fegetround()) {
    constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
    std::fesetround(modes[static_cast<int>(how)]);
  }
  ~Rounded() { std::fesetround(before_); }
  Rounded(const Rounded&) = delete;
  Rounded& operator=(const Rounded&) = delete;

 private:
  int before_;
};

// Keeps the compiler from moving a computation across a change of the rounding mode.
template <class T>
T hidden(T value) {
  volatile T out = value;
  return out;
}

}  // namespace

#define TESSERA_ROUNDED(T)                                    \
  T rounded_add(T a, T b, Rounding how) noexcept {            \
    const Rounded mode(how);                                  \
    return hidden(hidden(a) + hidden(b));                     \
  }                                                           \
  T rounded_multiply(T a, T b, Rounding how) noexcept {       \
    const Rounded mode(how);                                  \
    return hidden(hidden(a) * hidden(b));                     \
  }                                                           \
  T rounded_divide(T a, T b, Rounding how) noexcept {         \
    const Rounded mode(how);                                  \
    return hidden(hidden(a) / hidden(b));                     \
  }                                                           \
  T rounded_fma(T a, T b, T c, Rounding how) noexcept {       \
    const Rounded mode(how);                                  \
    return hidden(std::fma(hidden(a), hidden(b), hidden(c))); \
  }                                                           \
  T rounded_root(T a, Rounding how) noexcept {                \
    const Rounded mode(how);                                  \
    return hidden(std::sqrt(hidden(a)));                      \
  }
TESSERA_ROUNDED(float)
TESSERA_ROUNDED(double)
#undef TESSERA_ROUNDED
#define TESSERA_ROUNDED(name, from, to)        \
  to name(from a, Rounding how) noexcept {     \
    const Rounded mode(how);                   \
    return hidden(static_cast<to>(hidden(a))); \
  }
TESSERA_ROUNDED(to_float, double, float)
TESSERA_ROUNDED(to_float, long long, float)
TESSERA_ROUNDED(to_float, unsigned long long, float)
TESSERA_ROUNDED(to_double, long long, double)
TESSERA_ROUNDED(to_double, unsigned long long, double)
#undef TESSERA_ROUNDED

// All lanes that are to make a call print it together. The k-th call of a line is the same for each lane.
std::string text_of_warp(const std::vector<Output::Line>& lines) {
  static auto& sources = *new std::map<const void*, int>;  // lines: a call may be compiled twice
  using Call = std::tuple<int, const char*, int>;          // line, format, number of earlier ones
  std::deque<std::pair<Call, const std::string*>> lanes[32];
  std::map<Call, int> left;  // lanes that have yet to make the call
  std::map<std::pair<int, Call>, int> earlier;
  for (const Output::Line& line : lines) {
    const auto [source, is_new] = sources.try_emplace(line.call);
    if (is_new) source->second = line_of(reinterpret_cast<std::uint64_t>(line.call)).line;
    Call call{source->second, line.format, 0};
    std::get<2>(call) = earlier[{line.lane, call}]++;
    lanes[line.lane].emplace_back(call, &line.text);
    ++left[call];
  }
  std::string out;
  while (!left.empty()) {
    std::map<Call, int> next;
    for (const auto& lane : lanes)
      if (!lane.empty()) ++next[lane.front().first];
    auto together = std::ranges::find_if(next, [&](const auto& of) { return of.second == left[of.first]; });
    if (together == next.end()) together = next.begin();
    for (auto& lane : lanes)
      if (!lane.empty() && lane.front().first == together->first) {
        out += *lane.front().second;
        lane.pop_front();
      }
    if ((left[together->first] -= together->second) == 0) left.erase(together->first);
  }
  return out;
}

}  // namespace tessera_cuda

// --- printf and assert of a CUDA file, in kernels and in host code ---

extern "C" {

int tessera_cuda_printf(const char* format, ...) __attribute__((format(printf, 1, 2)));
void tessera_cuda_assert_fail(const char* text, const char* file, unsigned line, const char* function)
    __attribute__((noreturn));

// Buffers a kernel's output, which is shown in the order of blocks and warps when the kernel is done, so that
// it is reproducible.
int tessera_cuda_printf(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = 0;
  if (!tessera_cuda::in_kernel()) {
    length = std::vprintf(format, arguments);
  } else {
    va_list again;
    va_copy(again, arguments);
    length = std::vsnprintf(nullptr, 0, format, again);
    va_end(again);
    if (length > 0) {
      std::string text(static_cast<std::size_t>(length) + 1, '\0');
      std::vsnprintf(text.data(), text.size(), format, arguments);
      text.pop_back();
      tessera_cuda::Output& output = *tessera_cuda::running.output;
      const std::lock_guard lock(output.mutex);
      output.printed = true;
      const int rank = tessera::simt::current_thread->rank;
      output.lines[{tessera_cuda::block_number(), tessera::simt::barriers_passed(), rank / 32}].push_back(
          {rank % 32, __builtin_return_address(0), format, std::move(text)});
    }
  }
  va_end(arguments);
  return length;
}

void tessera_cuda_assert_fail(const char* text, const char* file, unsigned line, const char* function) {
  if (!tessera_cuda::in_kernel()) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, text);
    std::abort();
  }
  const auto block = tessera_cuda::block_index(), thread = tessera_cuda::thread_index();
  const auto list = [](uint3 i) {
    return "[" + std::to_string(i.x) + "," + std::to_string(i.y) + "," + std::to_string(i.z) + "]";
  };
  const std::string_view of_kernel(function);  // a kernel's body is a lambda
  const std::string said = std::string(file) + ":" + std::to_string(line) + ": " +
                           std::string(of_kernel.substr(0, of_kernel.find("::<lambda"))) +
                           ": block: " + list(block) + ", thread: " + list(thread) + " Assertion `" + text +
                           "` failed.";
  {
    const std::lock_guard lock(tessera_cuda::running.output->mutex);
    if (tessera_cuda::running.output->assertion.empty()) tessera_cuda::running.output->assertion = said;
  }
  std::fprintf(stderr, "%s\n", said.c_str());
  tessera_cuda::stop_kernel(said);
}
}
