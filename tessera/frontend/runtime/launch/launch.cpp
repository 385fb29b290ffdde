// SPDX-License-Identifier: Apache-2.0
// Launches a kernel on the executor: checks limits, places shared memory, traces, and writes the record.
#include "tessera/frontend/runtime/launch/kernels.hpp"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string_view>
#include <thread>
#include <tuple>
#include "tessera/bench/code.hpp"
#include "tessera/core/text/error.hpp"
#include "tessera/frontend/runtime/findings/findings.hpp"
#include "tessera/frontend/runtime/graphs.hpp"
#include "tessera/frontend/runtime/memory/heap.hpp"
#include "tessera/frontend/runtime/launch/unused_reads.hpp"
#include "tessera/simt/executor/executor.hpp"
#include "tessera/core/array/rounding.hpp"

namespace tessera_cuda {

thread_local Running running __attribute__((tls_model("initial-exec")));

namespace {

using tessera::Error;
using tessera::Launch;
using tessera::simt::Act;
using tessera::simt::Finding;
using tessera::simt::Tracer;

struct KernelRegistry {
  std::map<const KernelCode*, std::unique_ptr<Kernel>> kernels;
  std::vector<std::unique_ptr<SharedDeclaration>> declarations;
  struct Address {
    std::string name;
    Code code;
    void (*call)(Code, void**);
    Kernel* kernel = nullptr;
  };
  std::map<const void*, Address> addresses;
};
KernelRegistry& kernel_registry() {
  static auto* const all = new KernelRegistry;
  return *all;
}

// The configuration of a host thread's next launch.
struct Configured {
  Launch shape;
  std::size_t shared_bytes = 0;
  bool cooperative = false;
  cudaStream_t stream = nullptr;
  tessera_work* keep = nullptr;  // set: the launch is kept there instead of run
  CallSite at{"", 0};
};
thread_local std::optional<Configured> configured;
// If set, the kernel is only identified, not run.
thread_local Kernel** identify = nullptr;

// Returns X of "[with T = X]".
std::string spelled(const char* text) {
  std::string type = text;
  const std::size_t first = type.find("T = ");
  if (first != std::string::npos) type = type.substr(first + 4);
  if (!type.empty() && type.back() == ']') type.pop_back();
  return type;
}

// Returns "scale<32>" of "ns::scale<32>(float*)::<lambda()>", the name of the lambda that scale<32> launches.
std::string name_with_arguments(const std::string& name, const std::string& type) {
  std::size_t end = type.rfind("::<lambda");
  if (end == std::string::npos || end == 0) return name;
  // Skips the parameters backwards.
  int depth = 0;
  do {
    --end;
    if (type[end] == ')') ++depth;
    if (type[end] == '(') --depth;
  } while (end > 0 && depth > 0);
  if (end == 0 || type[end - 1] != '>') return name;
  std::size_t first = end;
  do {
    --first;
    if (type[first] == '>') ++depth;
    if (type[first] == '<') --depth;
  } while (first > 0 && depth > 0);
  return name + type.substr(first, end - first);
}

// True if a type is local to a kernel's body (a lambda).
bool is_in(const std::string& type, const std::string& kernel) {
  return type.starts_with(kernel + "::") || type.starts_with(kernel + " mutable::");
}

}  // namespace

SharedStruct::SharedStruct(const char* text, std::size_t size, std::size_t align)
    : type(text), bytes(size), alignment(align) {
  const Lock lock(Runtime::get().mutex);
  auto declaration = std::make_unique<SharedDeclaration>();
  declaration->of = this;
  declaration->type = spelled(text);
  declaration->names.reserve(64);
  kernel_registry().declarations.push_back(std::move(declaration));
  known_to_runtime = kernel_registry().declarations.back().get();
}

Kernel& kernel_of(KernelCode& code) {
  auto& kernel = kernel_registry().kernels[&code];
  if (kernel) return *kernel;
  kernel = std::make_unique<Kernel>();
  kernel->code = &code;
  kernel->type = spelled(code.type);
  kernel->name = name_with_arguments(code.name, kernel->type);
  kernel->placements.reserve(256);
  std::size_t others = 0;
  for (const auto& declaration : kernel_registry().declarations) {
    const std::size_t bytes = tessera::round_up(declaration->of->bytes, shared_gap) + shared_gap;
    if (is_in(declaration->type, kernel->type)) {
      declaration->owner = kernel.get();
      declaration->owner_offset = kernel->own_end;
      kernel->placements.push_back({declaration.get(), kernel->own_end});
      kernel->own_end += bytes;
    } else if (declaration->type.find("::<lambda") == std::string::npos) {
      others += bytes;  // device functions'
    }
  }
  kernel->placed = static_cast<int>(kernel->placements.size());
  kernel->capacity = kernel->own_end + others;
  return *kernel;
}

std::size_t Kernel::static_bytes() const {
  std::size_t sum = 0;
  for (int i = 0; i < placed.load(); ++i) {
    const SharedStruct& of = *placements[static_cast<std::size_t>(i)].declaration->of;
    sum = tessera::round_up(sum, of.alignment) + of.bytes;
  }
  return sum;
}

std::size_t Kernel::offset_of(const SharedDeclaration& declaration) {
  if (declaration.owner == this) return declaration.owner_offset;
  const auto find_placed = [&]() -> std::optional<std::size_t> {
    for (int i = 0; i < placed.load(std::memory_order_acquire); ++i)
      if (placements[static_cast<std::size_t>(i)].declaration == &declaration)
        return placements[static_cast<std::size_t>(i)].offset;
    return std::nullopt;
  };
  if (const auto offset = find_placed()) return *offset;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const auto offset = find_placed()) return *offset;
  const std::size_t offset = own_end;
  own_end += tessera::round_up(declaration.of->bytes, shared_gap) + shared_gap;
  if (own_end > capacity || placements.size() == placements.capacity()) {
    say_once("internal error: no place for the shared variables of " + declaration.type + " in " + name);
    std::abort();
  }
  placements.push_back({&declaration, offset});
  placed.store(static_cast<int>(placements.size()), std::memory_order_release);
  return offset;
}

namespace {

// The traced part of a launch: all blocks of the first launch of a line, and of the second if its arguments
// differ; some blocks of later ones; none of a repeat of the previous launch.
enum class TraceShare { none, some, whole };

// Returns the variable at an offset of a block's shared memory, for the tracer.
std::optional<tessera::simt::SharedVariable> variable_at(const Kernel& kernel, std::size_t dynamic_offset,
                                                         std::size_t dynamic_bytes,
                                                         std::size_t counters_offset, std::size_t offset) {
  tessera::simt::SharedVariable out;
  if (offset >= counters_offset) return std::nullopt;
  if (offset >= dynamic_offset) {
    if (offset - dynamic_offset >= dynamic_bytes) return std::nullopt;
    out.name = kernel.dynamic_name.empty() ? "dynamic shared memory" : kernel.dynamic_name;
    out.first = dynamic_offset;
    out.bytes = dynamic_bytes;
    out.element_bytes = std::max<std::size_t>(1, kernel.dynamic_element.load());
    return out;
  }
  for (int i = 0; i < kernel.placed.load(std::memory_order_acquire); ++i) {
    const SharedPlacement& placement = kernel.placements[static_cast<std::size_t>(i)];
    const SharedDeclaration& declaration = *placement.declaration;
    if (offset - placement.offset >= declaration.of->bytes) continue;
    for (int n = 0; n < declaration.names_known.load(std::memory_order_acquire); ++n) {
      const SharedName& name = declaration.names[static_cast<std::size_t>(n)];
      if (offset - placement.offset - name.offset >= name.type->bytes) continue;
      out.name = name.name;
      out.first = placement.offset + name.offset;
      out.bytes = name.type->bytes;
      out.element_bytes = name.type->element_bytes;
      for (int d = 0; d < name.type->rank; ++d)
        out.extents.push_back(static_cast<std::int64_t>(name.type->extents[d]));
      return out;
    }
  }
  return std::nullopt;
}

// The reason why a launch is refused; "": it is accepted.
struct Refusal {
  cudaError_t error = cudaSuccess;
  std::string text;
};
Refusal refusal_of(const Kernel& kernel, const Configured& launch) {
  const auto& grid = launch.shape.grid;
  const tessera::Index3& block = launch.shape.block;
  const std::string name = kernel.name + ": ";
  const auto list = [](std::int64_t x, std::int64_t y, std::int64_t z) {
    return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
  };
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 2147483647 || grid.y > 65535 || grid.z > 65535)
    return {cudaErrorInvalidConfiguration, name + "a grid of " + list(grid.x, grid.y, grid.z) +
                                               " blocks; each extent must be at least 1, and at most "
                                               "2147483647, 65535 and 65535"};
  const auto unsigned_of = [](int v) { return static_cast<std::int64_t>(static_cast<unsigned>(v)); };
  const std::int64_t bx = unsigned_of(block.x), by = unsigned_of(block.y), bz = unsigned_of(block.z);
  if (bx == 0 || by == 0 || bz == 0 || bx > 1024 || by > 1024 || bz > 64 || bx * by * bz > 1024)
    return {cudaErrorInvalidConfiguration, name + "a block of " + list(bx, by, bz) + " threads" +
                                               (bx * by * bz > 1024 && bx <= 1024 && by <= 1024
                                                    ? ", " + std::to_string(bx * by * bz) + " in all"
                                                    : "") +
                                               "; a block has 1 to 1024, at most 64 of them along z"};
  if (bx * by * bz > kernel.max_threads())
    return {cudaErrorInvalidConfiguration, name + "a block of " + std::to_string(bx * by * bz) +
                                               " threads; its __launch_bounds__ allows " +
                                               std::to_string(kernel.max_threads())};
  const std::size_t statics = kernel.static_bytes();
  const std::string bytes = std::to_string(statics) + " bytes of static and " +
                            std::to_string(launch.shared_bytes) + " bytes of dynamic shared memory";
  if (statics > (48u << 10))
    return {cudaErrorInvalidValue, name + bytes + "; nvcc refuses more than 49152 static ones"};
  if (launch.shared_bytes > kernel.largest_dynamic ||
      statics + launch.shared_bytes > gpu().max_shared_per_block)
    return {cudaErrorInvalidValue,
            name + bytes + "; the limit is 49152, and " + std::to_string(gpu().max_shared_per_block) +
                " after cudaFuncSetAttribute(…, cudaFuncAttributeMaxDynamicSharedMemorySize, …)"};
  const std::int64_t blocks = grid.x * grid.y * grid.z;
  if (launch.cooperative) {
    const auto fits =
        tessera::bench::occupancy(tessera::bench::multiprocessor_of(gpu().major * 10 + gpu().minor),
                                  bx * by * bz, static_cast<std::int64_t>(statics + launch.shared_bytes));
    if (blocks > std::int64_t{fits.blocks} * gpu().multiprocessors)
      return {cudaErrorCooperativeLaunchTooLarge,
              name + "a cooperative launch of " + std::to_string(blocks) + " blocks; on a " + gpu().name +
                  " " + std::to_string(fits.blocks * gpu().multiprocessors) + " run at once"};
    if (blocks * bx * by * bz > tessera::simt::max_cooperative_threads)
      return {cudaErrorCooperativeLaunchTooLarge,
              name + "a cooperative launch of " + std::to_string(blocks * bx * by * bz) + " threads; a " +
                  gpu().name + " runs them, the executor at most " +
                  std::to_string(tessera::simt::max_cooperative_threads) + " at once"};
  }
  if (kernel.largest_dynamic <= (48u << 10) && statics + launch.shared_bytes > (48u << 10))
    return {cudaErrorInvalidValue, name + bytes + "; the limit is 49152"};
  return {};
}

cudaError_t error_of(const std::exception& e, const Output& output) {
  if (!output.assertion.empty()) return cudaErrorAssert;
  if (output.trapped) return cudaErrorLaunchFailure;
  const std::string text = e.what();
  const auto says = [&](const char* part) { return text.find(part) != std::string::npos; };
  if (says("past a multiple of")) return cudaErrorMisalignedAddress;
  if (says("no memory") || says("impossible address")) return cudaErrorIllegalAddress;
  if (says("no progress")) return cudaErrorLaunchTimeout;
  if (says("stack overflow")) return cudaErrorLaunchOutOfResources;
  return cudaErrorLaunchFailure;
}

const char* kind_of(Finding::Kind kind) {
  return kind == Finding::Kind::writes_input ? "out of bounds" : tessera::simt::name_of(kind);
}

tessera::Index3 index_of(std::int64_t rank, std::int64_t x, std::int64_t y) {
  return {static_cast<int>(rank % x), static_cast<int>(rank / x % y), static_cast<int>(rank / x / y)};
}

// Merges findings of the same lines and array: keeps the text of the widest race. A line that reads and
// writes beside an array, as "a[i] += 1", has one finding: of the writes.
void merge(FindingRecord& known, const FindingRecord& more) {
  if (known.writes != more.writes) {
    if (more.writes) known = more;
    return;
  }
  FindingRecord out = more.scope > known.scope ? more : known;
  for (const auto count : {&FindingRecord::times, &FindingRecord::both_write, &FindingRecord::together})
    out.*count = known.*count + more.*count;
  for (const auto is : {&FindingRecord::is_first, &FindingRecord::other_is_first, &FindingRecord::read_first})
    out.*is = known.*is || more.*is;
  for (const auto line : {&FindingRecord::release_line, &FindingRecord::lock_line, &FindingRecord::read_line})
    out.*line = known.*line != 0 ? known.*line : more.*line;
  known = std::move(out);
}

std::string place_of_fault(std::uint64_t address, unsigned width);

// Adds what the runtime knows of the array that an access of global memory missed or read too early.
void explain(FindingRecord& out, const Finding& f, const LaunchRecord& launch) {
  Runtime& r = Runtime::get();
  if (f.kind == Finding::Kind::host_pointer)
    if (const std::string place = place_of_fault(f.address, f.site.width()); !place.empty()) {
      out.what = kind_of(Finding::Kind::out_of_bounds);
      out.text = out.text.substr(0, out.text.find(" at ") + 4) + place;
    }
  out.remedy = remedy_of(out, f.address, launch.at.line);
  if (f.kind == Finding::Kind::race) return;
  out.writes = f.site.act() != Act::read;
  const Array* const array = r.array_near(reinterpret_cast<const void*>(f.address));
  if (array != nullptr && array->kind != Array::Kind::heap)
    out.array_at = reinterpret_cast<std::uint64_t>(array->data);
}

// The kernels and arrays beside which the tracer has found an access.
std::set<std::pair<std::string, std::string>>& known_beside() {
  static auto& all = *new std::set<std::pair<std::string, std::string>>;
  return all;
}

// Returns an upper bound of the accesses that one execution of the line makes: more steps lie between those
// of two iterations.
std::size_t accesses_of_line(const Tracer& tracer, const FindingRecord& of) {
  return static_cast<std::size_t>(std::ranges::count_if(tracer.sites, [&](const auto& site) {
    const SourceLine at = line_of(site.site.address());
    return at.line == of.line && at.file == of.file;
  }));
}

// Reports an error once for each line, or pair of lines, and array, however often the compiler duplicated the
// line and whichever launch repeats it. Memory that was never set is one error for all lines that read it.
void find_all(const Tracer& tracer, const LaunchRecord& launch, std::vector<FindingRecord> of_indices) {
  using Line = std::pair<std::string, int>;
  static auto& reported = *new std::set<std::tuple<std::string, std::string, std::string, bool, Line, Line>>;
  std::vector<FindingRecord> found;
  std::vector<std::tuple<std::string, std::string, std::string, bool, Line, Line>> keys;
  for (const Finding& f : tracer.findings) {
    FindingRecord out;
    out.what = kind_of(f.kind);
    out.serious = f.serious;
    out.text = f.text;
    out.array = f.array;
    out.kernel = launch.kernel;
    out.launch = launch.number;
    out.times = f.times;
    if (f.kind == Finding::Kind::race) out.scope = f.scope;
    out.is_first = f.site_is_first;
    out.other_is_first = f.other_is_first;
    const bool reads = f.site.act() == tessera::simt::Act::read,
               other_reads = f.other.act() == tessera::simt::Act::read;
    out.both_write = f.both_write;
    out.together = f.together;
    if (f.release.bits != 0) out.release_line = line_of(f.release.address()).line;
    if (f.lock.bits != 0) out.lock_line = line_of(f.lock.address()).line;
    out.block = index_of(f.block, launch.shape.grid.x, launch.shape.grid.y);
    if (f.thread >= 0) out.thread = index_of(f.thread, launch.shape.block.x, launch.shape.block.y);
    if (f.site.bits != 0) {
      const SourceLine at = line_of(f.site.address());
      out.file = at.file;
      out.line = at.line;
    } else {
      out.file = f.location.file;
      out.line = f.location.line;
    }
    if (f.other.bits != 0) {
      const SourceLine other = line_of(f.other.address());
      out.other_file = other.file;
      out.other_line = other.line;
    }
    if (f.kind == Finding::Kind::race && (reads || other_reads))
      out.read_line = reads ? out.line : out.other_line;
    out.read_first = out.line == out.other_line && f.steps_to_write < accesses_of_line(tracer, out);
    explain(out, f, launch);
    if (out.text.find("a null pointer") != std::string::npos && find_failed_allocation()) continue;
    const auto key_of = [](const FindingRecord& r) {
      const bool unset = r.what == "uninitialised" && r.array_at != 0;
      return std::tuple(r.what, r.kernel, r.array, r.serious, unset ? Line() : Line(r.file, r.line),
                        Line(r.other_file, r.other_line));
    };
    const auto key = key_of(out);
    const auto same = std::ranges::find_if(
        found, [&](const FindingRecord& r) { return key_of(r) == key && r.array_at == out.array_at; });
    if (same != found.end()) merge(*same, out);
    else if (!reported.contains(key)) found.push_back(std::move(out));
    if (same == found.end()) keys.push_back(key);
  }
  reported.insert(keys.begin(), keys.end());
  // The tracer has seen the access, if it leaves the whole array.
  for (FindingRecord& out : of_indices)
    if (std::ranges::none_of(found, [&](const FindingRecord& known) {
          return known.what == out.what && known.line == out.line && known.array == out.array;
        })) {
      out.launch = launch.number;
      found.push_back(std::move(out));
    }
  for (FindingRecord& out : found) {
    if (out.what == "out of bounds") known_beside().emplace(out.kernel, out.array);
    if (out.what == "uninitialised" && out.array_at != 0)
      release_marks(Runtime::get().arrays.at(static_cast<std::uintptr_t>(out.array_at)));
    find(std::move(out));
  }
}

// Reports a kernel's writes to red zones, unless the tracer reported them.
void check_red_zones(const LaunchRecord& launch, const Tracer* tracer) {
  for (const auto& [first, array] : Runtime::get().arrays) {
    std::ptrdiff_t byte = 0;
    if (zones_are_whole(array, byte)) continue;
    mend_zones(array);
    const auto is_known = [&array](const Finding& f) {
      return f.kind == Finding::Kind::out_of_bounds && f.array == array.name;
    };
    if (tracer != nullptr && std::ranges::any_of(tracer->findings, is_known)) continue;
    if (known_beside().contains({launch.kernel, array.name})) continue;
    FindingRecord out = finding_of("out of bounds", launch);
    out.array = array.name;
    // The first bytes of a value may equal those of the zone.
    const auto size = static_cast<std::ptrdiff_t>(array.element_bytes == 0 ? 4 : array.element_bytes);
    const std::ptrdiff_t index = byte < 0 ? (byte - size + 1) / size : byte / size;
    out.text = launch.kernel + " writes beside " + array.name +
               (array.element_bytes == 0
                    ? ": at byte " + std::to_string(index * size) + " of " + std::to_string(array.bytes)
                    : ": at element " + std::to_string(index) + ", and it has " +
                          std::to_string(array.bytes / array.element_bytes)) +
               "; `tessera trace` names the line";
    find(out);
  }
}

std::vector<tessera::simt::TracedArray> traced_arrays(bool whole) {
  std::vector<tessera::simt::TracedArray> out;
  for (auto& [first, array] : Runtime::get().arrays) {
    if (whole) mark_host_writes(array);
    tessera::simt::TracedArray traced;
    traced.name = array.name;
    traced.data = array.data;
    traced.bytes = array.bytes;
    constexpr std::size_t beside_variables = 256;  // unused bytes that the front end puts beside variables
    traced.red_zone_bytes = array.mapping == nullptr && array.kind != Array::Kind::registered
                                ? beside_variables
                                : array.zone_bytes;
    traced.element_bytes = array.element_bytes;
    if (whole) traced.written = array.written;
    traced.zeros = array.is_variable();
    if (array.kind == Array::Kind::heap) describe_heap(traced);
    for (const std::size_t extent : array.extents)
      traced.extents.push_back(static_cast<std::int64_t>(extent));
    out.push_back(std::move(traced));
  }
  return out;
}

// The process's writable memory. An address in it that belongs to no device array is host memory: callers
// look up only addresses outside all device arrays, and the program's constants are in read-only memory.
class WritableMemory {
 public:
  WritableMemory() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      Range range;
      char writes = 0;
      if (std::sscanf(line.c_str(), "%lx-%lx %*c%c", &range.first, &range.end, &writes) == 3 && writes == 'w')
        ranges_.push_back(range);
    }
  }
  bool holds(std::uint64_t address) const {
    const auto after = std::ranges::upper_bound(ranges_, address, {}, &Range::first);
    return after != ranges_.begin() && address < std::prev(after)->end;
  }

 private:
  struct Range {
    std::uint64_t first = 0, end = 0;
  };
  std::vector<Range> ranges_;  // in order
};

// Updates each array's unread_since; it is reset if some blocks of the launch were not traced.
void note_use(const Tracer& tracer, bool whole, const LaunchRecord& launch) {
  enum : unsigned { read = 1, written = 2 };
  std::vector<unsigned> use(tracer.arrays.size());
  for (const auto& site : tracer.sites)
    if (site.space == tessera::simt::Space::global) {
      const Act act = site.site.act();
      if (act != Act::read) use[site.array] |= written;
      if (act == Act::read || (act == Act::atomic && !is_result_unused(site.site))) use[site.array] |= read;
    }
  std::size_t i = 0;
  Runtime& r = Runtime::get();
  for (auto& [first, array] : r.arrays) {
    const unsigned used = i < use.size() ? use[i++] : 0;
    if ((used & written) != 0 || array.host_write.bytes != 0) array.never_set = false;
    if (used == written) array.written_at = launch.at.line;
    if ((used & written) != 0) {
      r.results_used = r.results_used || array.kind != Array::Kind::device;
      r.last_result = array;
      r.last_result->unread_since = Array::Writer{launch.kernel, launch.at, launch.number};
    }
    if (array.never_set && used == read && !array.reader)
      array.reader = Array::Writer{launch.kernel, launch.at, launch.number};
    if (!whole || (used & read) != 0) array.unread_since.reset();
    else if (used == written) array.unread_since = Array::Writer{launch.kernel, launch.at, launch.number};
  }
}

void run_one_thread(const void* context, void* shared) {
  running = *static_cast<const Running*>(context);
  running.shared = static_cast<char*>(shared);
  running.kernel->code->body();
}

// Calls `use` with each word of a kernel's arguments that may be an address.
template <class Use>
void each_pointer(const void* closure, std::size_t bytes, const Use& use) {
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bytes; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, static_cast<const char*>(closure) + at, sizeof word);
    if (word >= (std::uint64_t{1} << 32) && word >> 47 == 0) use(word);
  }
}

const Array* array_meant(std::uint64_t address);

std::string place_of_fault(std::uint64_t address, unsigned width) {
  const void* const at = reinterpret_cast<const void*>(address);
  if (address < 4096) return "a null pointer";
  Runtime& r = Runtime::get();
  const Array* array = r.array_near(at);
  if (array == nullptr) array = array_meant(address);
  if (array == nullptr) return "";
  tessera::simt::TracedArray of;
  of.name = array->name;
  of.data = array->data;
  of.bytes = array->bytes;
  of.element_bytes = array->element_bytes;
  std::string fault = tessera::simt::place_in(of, address, width);
  constexpr std::int64_t far_before = std::int64_t{1} << 24;  // elements
  if ((static_cast<const char*>(at) - array->data) / static_cast<std::int64_t>(width) < -far_before)
    fault += ": the int index overflowed";
  return r.arrays.contains(reinterpret_cast<std::uintptr_t>(array->data)) ? fault
                                                                          : fault + ", which was freed";
}

// Finds host pointers in a kernel's arguments: without tracing, a kernel that reads host memory works here,
// but not on a GPU.
void find_host_arguments(const Kernel& kernel, const void* closure, const LaunchRecord& launch) {
  std::optional<WritableMemory> memory;
  each_pointer(closure, kernel.code->closure_bytes, [&](std::uint64_t word) {
    FindingRecord finding = finding_of("host pointer", launch);
    finding.text = kernel.name + " is given a pointer to host memory, which a GPU cannot use";
    if (const Array* const array = Runtime::get().array_at(reinterpret_cast<const void*>(word))) {
      if (!array->is_variable() || array->address_taken) return;
      finding.text = kernel.name + " is given " + array->name +
                     ", a variable of the device, whose name is no address in host code";
      finding.array = array->name;
      finding.remedy = "use " + array->name + " in the kernel by its name, or pass the address that " +
                       "cudaGetSymbolAddress gives";
      return find(finding);
    }
    if (Runtime::get().traced) return;  // found where it is used
    if (!memory) memory.emplace();
    if (memory->holds(word)) find(finding);
  });
}

// Records the failure of a kernel; its error is sticky.
void keep_failure(const std::exception_ptr& failure, const Output& output, const Tracer& tracer,
                  LaunchRecord& record_of) {
  Runtime& r = Runtime::get();
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    record_of.error = error_of(e, output);
    if (!output.assertion.empty() || !tracer.explained) {
      FindingRecord stopped = finding_of("stopped", record_of);
      if (const auto* const stop = dynamic_cast<const tessera::simt::Stopped*>(&e))
        for (void* const frame : std::views::reverse(stop->frames))
          if (const SourceLine at =
                  frame == nullptr ? SourceLine{} : line_of(reinterpret_cast<std::uint64_t>(frame));
              at.line != 0 && is_users(at.file))
            stopped.file = at.file, stopped.line = at.line;
      stopped.text = output.assertion.empty() ? e.what() : output.assertion;
      constexpr const char* at = "to the address 0x";
      if (const std::size_t found = stopped.text.find(at); found != std::string::npos) {
        const auto address = std::strtoull(stopped.text.c_str() + found + std::strlen(at), nullptr, 16);
        if (const std::string beside = place_of_fault(address, 1); !beside.empty())
          stopped.text += ": " + beside;
      }
      if (stopped.text.find("a null ") == std::string::npos || !find_failed_allocation()) find(stopped);
    }
  }
  r.sticky = record_of.error;
  last_error = {record_of.error, record_of.number};
}

void print(const Output& output) {
  for (const auto& [warp, lines] : output.lines) std::fputs(text_of_warp(lines).c_str(), stdout);
}

// The latest launch, which may be repeated.
struct Latest {
  const Kernel* kernel = nullptr;
  std::vector<std::byte> closure;
  Launch shape;
  std::size_t shared_bytes = 0;
  std::uint64_t version_after = 0;   // memory's version
  std::uint64_t contents_after = 0;  // 0: not computed
  bool changed_nothing = false;
  double seconds = 0;
  std::int64_t number = 0, not_repeated = 0;
  int times = 0, next_look = 1;  // a hash reads all memory, so hashes get rarer after mismatches
};
Latest& latest = *new Latest;  // never destroyed, like the runtime

// Returns the array of whose pointer, an argument of the kernel, an int index may have led to an address.
// A kernel that is given host memory may use that; then there is none, unless the overflow explains the
// address. Padding between arguments may look like such a pointer.
const Array* array_meant(std::uint64_t address) {
  const Array* out = nullptr;
  bool host = false, wraps = false;
  const WritableMemory memory;
  each_pointer(latest.closure.data(), latest.closure.size(), [&](std::uint64_t word) {
    const Array* const array = Runtime::get().array_at(reinterpret_cast<const void*>(word));
    if (array == nullptr) {
      host = host || memory.holds(word);
      return;
    }
    const std::uint64_t width = std::max<std::size_t>(1, array->element_bytes), range = width << 31;
    const std::uint64_t first = reinterpret_cast<std::uint64_t>(array->data);
    if (address - word + range >= 2 * range) return;
    const bool would_fit = address + 2 * range - first < array->bytes;  // without the overflow
    if (out == nullptr || (would_fit && !wraps)) out = array;
    wraps = wraps || would_fit;
  });
  return host && !wraps ? nullptr : out;
}

bool is_same(const Latest& before, const Kernel& kernel, const Configured& spec, const void* closure) {
  const auto &a = before.shape, &b = spec.shape;
  return before.kernel == &kernel && before.shared_bytes == spec.shared_bytes && !spec.cooperative &&
         a.grid.x == b.grid.x && a.grid.y == b.grid.y && a.grid.z == b.grid.z && a.block.x == b.block.x &&
         a.block.y == b.block.y && a.block.z == b.block.z &&
         std::memcmp(before.closure.data(), closure, before.closure.size()) == 0;
}

// Hashes all memory that kernels may use, or only the part that the host can write without a call.
std::uint64_t contents(bool of_hosts_only) {
  std::uint64_t sum = 0x9e3779b97f4a7c15;
  const auto mix = [&sum](std::uint64_t word) {
    sum = (sum ^ word) * 0xff51afd7ed558ccd;
    sum ^= sum >> 32;
  };
  for (const auto& [first, array] : Runtime::get().arrays) {
    if (of_hosts_only && array.is_protected()) continue;
    mix(first);
    const std::size_t bytes = array.kind == Array::Kind::heap ? heap_extent() : array.bytes;
    std::size_t at = 0;
    for (std::uint64_t word; at + sizeof word <= bytes; at += sizeof word) {
      std::memcpy(&word, array.data + at, sizeof word);
      mix(word);
    }
    for (; at < bytes; ++at) mix(static_cast<unsigned char>(array.data[at]));
  }
  return sum;
}

// Returns the number of blocks of each launch to trace; 0: as trace_share() says; negative: all.
std::int64_t requested_blocks() {
  static const std::int64_t requested = [] {
    const char* const text = std::getenv("TESSERA_CUDA_BLOCKS");
    return text == nullptr ? 0 : std::string_view(text) == "all" ? -1 : std::atoll(text);
  }();
  return requested;
}

TraceShare trace_share(const Kernel& kernel, const void* closure, CallSite at, bool repeats) {
  struct Line {
    int launches = 0;
    std::vector<std::byte> first;  // its arguments
  };
  static auto& seen = *new std::map<std::tuple<std::string, int, const Kernel*>, Line>;
  if (!Runtime::get().traced) return TraceShare::none;
  if (requested_blocks() != 0) return requested_blocks() < 0 ? TraceShare::whole : TraceShare::some;
  auto& [launches, first] = seen[{at.file, at.line, &kernel}];
  const int before = launches++;
  const auto* const bytes = static_cast<const std::byte*>(closure);
  if (before == 0) first.assign(bytes, bytes + kernel.code->closure_bytes);
  // Two arrays may have been swapped: the second launch then reads what the first one wrote.
  if (before == 1 && !repeats && std::memcmp(first.data(), bytes, first.size()) != 0)
    return TraceShare::whole;
  if (before == 0) return TraceShare::whole;
  constexpr int max_sampled = 20;
  return repeats || before > max_sampled ? TraceShare::none : TraceShare::some;
}

// Forgets which bytes of all arrays were written.
void forget_marks() {
  for (auto& [first, array] : Runtime::get().arrays) {
    if (array.written != nullptr) release_marks(array);
  }
}

// Prints an estimate of a launch's time, once it has taken two seconds; none if its later blocks may not be
// traced.
class Waiting {
 public:
  Waiting(const std::string& kernel, CallSite at, std::int64_t blocks, const std::atomic<std::int64_t>& done,
          bool speeds_up)
      : thread_([=, this, &done](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          if (changed_.wait_for(lock, stop, std::chrono::seconds(2), [] { return false; }) ||
              stop.stop_requested())
            return;
          const std::int64_t ready = done.load();
          std::string text = kernel + " (" + at.file + ":" + std::to_string(at.line) +
                             ") has run for 2 s: " + std::to_string(ready) + " of " + std::to_string(blocks) +
                             " blocks";
          if (ready > 0 && !speeds_up)
            text += ", about " + std::to_string(std::max<std::int64_t>(3, 2 * blocks / ready)) +
                    " s in all; a smaller size tells as much";
          say_once(text);
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;
};

// Drops findings of unset memory whose value is not used, for later launches, too.
void drop_unused_reads(Tracer& tracer, const tessera::simt::Task& task, const MemoryBefore* before,
                       Running& context) {
  static auto& unused = *new std::set<std::uint64_t>;  // sites
  const auto is_unset = [](const Finding& f) { return f.kind == Finding::Kind::uninitialised && f.serious; };
  if (std::ranges::none_of(tracer.findings, is_unset)) return;
  Output nowhere;
  Output* const output = std::exchange(context.output, &nowhere);
  if (before != nullptr && !before->unset_values_matter(task))
    for (const Finding& f : tracer.findings)
      if (is_unset(f)) unused.insert(f.site.bits);
  context.output = output;
  std::erase_if(tracer.findings,
                [&](const Finding& f) { return is_unset(f) && unused.contains(f.site.bits); });
}

void run(Kernel& kernel, const Configured& spec, const void* closure, LaunchRecord& record_of) {
  Runtime& r = Runtime::get();
  const bool same = is_same(latest, kernel, spec, closure);
  const bool unchanged = same && r.version == latest.version_after;
  if (unchanged && latest.changed_nothing && contents(true) == latest.contents_after) {
    --r.launches;
    ++latest.not_repeated;
    r.time_credit += latest.seconds;
    return;
  }
  r.finish_repeats();
  if (!same) {
    latest = {};
    latest.kernel = &kernel;
    latest.shape = spec.shape;
    latest.shared_bytes = spec.shared_bytes;
    const auto* const bytes = static_cast<const std::byte*>(closure);
    latest.closure.assign(bytes, bytes + kernel.code->closure_bytes);
  }
  latest.number = record_of.number;

  Output output;
  Running context;
  context.kernel = &kernel;
  context.closure = closure;
  context.output = &output;
  context.cooperative = spec.cooperative;
  context.dynamic_offset = kernel.capacity;
  // A launch may pass fewer bytes than its kernel uses, most often none; such writes hit unused memory.
  constexpr std::size_t beyond_dynamic = std::size_t{16} << 10;
  context.counters_offset =
      tessera::round_up(kernel.capacity + spec.shared_bytes, shared_gap) + beyond_dynamic;

  std::atomic<std::int64_t> blocks_done{0};
  tessera::simt::Task task;
  task.type = kernel.name.c_str();
  task.body = run_one_thread;
  task.context = &context;
  task.shared_bytes = context.counters_offset + sizeof(BlockCounters);
  task.may_return_early = true;
  task.launch = spec.shape;
  task.blocks_done = &blocks_done;
  task.cooperative = spec.cooperative;
  Tracer tracer;
  open_heap();
  const TraceShare share = trace_share(kernel, closure, spec.at, unchanged);
  if (share != TraceShare::none) {
    constexpr std::int64_t usual_watched = 16, max_accesses = std::int64_t{1} << 26;
    tracer.arrays = traced_arrays(share == TraceShare::whole);
    if (share == TraceShare::some)
      tracer.watched = requested_blocks() > 0 ? requested_blocks() : usual_watched;
    if (requested_blocks() >= 0) tracer.accesses = max_accesses / r.os_threads;
    tracer.shared_variable_at = [&](std::size_t offset) {
      return variable_at(kernel, context.dynamic_offset, spec.shared_bytes, context.counters_offset, offset);
    };
    // The memory map is read at the first address outside all arrays.
    tracer.is_host_memory = [memory = std::optional<WritableMemory>(),
                             once = std::make_shared<std::once_flag>()](std::uint64_t address) mutable {
      std::call_once(*once, [&] { memory.emplace(); });
      return memory->holds(address);
    };
    tracer.early_returns = true;
    constexpr std::size_t max_words = std::size_t{1} << 23;
    tracer.words = max_words / static_cast<std::size_t>(r.os_threads);
    tracer.place_of_fault = place_of_fault;
    task.tracer = &tracer;
  }
  find_host_arguments(kernel, closure, record_of);
  r.let_kernels(true);
  const bool looks = unchanged && ++latest.times >= latest.next_look;
  const std::uint64_t before = looks ? contents(false) : 0;
  const double begin = now();
  std::exception_ptr failure;
  std::optional<MemoryBefore> memory_before;
  if (share == TraceShare::whole) memory_before.emplace();
  try {
    const Waiting waiting(kernel.name, spec.at, spec.shape.blocks(), blocks_done, tracer.accesses != 0);
    r.launch_runs = r.traced;
    tessera::simt::execute(task, r.os_threads);
  } catch (...) {
    failure = std::current_exception();
  }
  running = {};
  record_of.seconds = now() - begin;
  const bool whole = share == TraceShare::whole && !tracer.cut_short;
  check_red_zones(record_of, share == TraceShare::none ? nullptr : &tracer);
  auto of_indices = take_index_findings();
  if (!tracer.cut_short && tessera::simt::interrupted() == 0)
    drop_unused_reads(tracer, task, memory_before && !failure ? &*memory_before : nullptr, context);
  take_index_findings();  // drops those of its runs
  if (looks) {
    latest.changed_nothing = contents(false) == before && !output.printed;
    if (latest.changed_nothing) latest.contents_after = contents(true);
    else latest.next_look = 2 * latest.times;
  }
  r.let_kernels(false);
  r.results_used = r.results_used || output.printed;
  latest.version_after = ++r.version;
  latest.seconds = record_of.seconds;
  if (r.traced && !whole && !same) forget_marks();
  if (r.traced && !same) note_use(tracer, whole, record_of);
  forget_unread_textures();
  print(output);
  record_of.static_shared = kernel.static_bytes();
  if (share != TraceShare::none) {
    record_of.blocks_traced = static_cast<std::int64_t>(tracer.blocks_run);
    record_of.traced = record_of.blocks_traced == spec.shape.blocks() ? "whole" : "sampled";
    record_of.tracer = &tracer;
  }
  // OS threads report their sites in the order in which they end, which varies.
  std::ranges::sort(tracer.sites, {}, [](const auto& s) {
    return std::tuple(s.site.address(), s.site.bits, s.space, s.array);
  });
  std::ranges::sort(tracer.barriers, {},
                    [](const auto& b) { return std::tuple(b.location.line, b.location.column); });
  std::ranges::sort(tracer.findings, {}, [](const Finding& f) {
    return std::tuple(f.block, f.site.address(), f.kind, f.other.address(), f.location.line);
  });
  const bool interrupted = failure && tessera::simt::interrupted() != 0;
  if (std::ranges::any_of(of_indices, &FindingRecord::damages_stack)) {
    tracer.findings.clear();  // the stacks of threads are damaged, and what they do next is arbitrary
    tracer.explained = true;
  }
  if (failure && !interrupted) keep_failure(failure, output, tracer, record_of);
  close_heap(record_of);
  record(record_of);
  if (share != TraceShare::none) find_all(tracer, record_of, std::move(of_indices));
  if (tracer.race_table_full)
    record_note(kernel.name + " touches so much memory that races are looked for in a part of it; " +
                "--set NAME=VALUE gives a constant of the program a smaller value");
  const std::string place = kernel.name + " (" + spec.at.file + ":" + std::to_string(spec.at.line) + ")";
  if (interrupted)
    record_note(place + " was interrupted after " + std::to_string(std::lround(record_of.seconds)) +
                " s: " + std::to_string(blocks_done) + " of " + std::to_string(spec.shape.blocks()) +
                " blocks were done; findings and costs are those until then");
  else if (tracer.cut_short && !failure)
    record_note(place + " is large: " +
                (record_of.blocks_traced == spec.shape.blocks()
                     ? "its blocks were traced in part"
                     : std::to_string(record_of.blocks_traced) + " of " +
                           std::to_string(spec.shape.blocks()) +
                           " blocks were traced, the others ran untraced") +
                "; --blocks all traces every one");
  r.launch_runs = false;
  end_if_interrupted();
}

}  // namespace

void Runtime::finish_repeats() {
  if (latest.not_repeated > 0) record_repeats(latest.number, latest.not_repeated);
  latest.not_repeated = 0;
}

void configure(dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream, CallSite at) {
  Configured next;
  next.shape.grid = {grid.x, grid.y, grid.z};
  next.shape.block = {static_cast<int>(block.x), static_cast<int>(block.y), static_cast<int>(block.z)};
  next.shared_bytes = shared_bytes;
  next.stream = stream;
  next.at = at;
  configured = next;
}

namespace {

cudaError_t launch_now(Kernel& kernel, const Configured& spec, const void* closure) {
  Runtime& r = Runtime::get();
  if (r.sticky != cudaSuccess) return r.fail(r.sticky);
  LaunchRecord out;
  out.number = ++r.launches;
  out.kernel = kernel.name;
  out.at = spec.at;
  out.kernel_at = kernel.code->at;
  out.shape = spec.shape;
  out.static_shared = kernel.static_bytes();
  out.dynamic_shared = spec.shared_bytes;
  out.cooperative = spec.cooperative;
  if (const Refusal refusal = refusal_of(kernel, spec); refusal.error != cudaSuccess) {
    out.error = refusal.error;
    record(out);
    FindingRecord finding = finding_of("launch error", out);
    finding.text = refusal.text + " (" + cudaGetErrorName(refusal.error) + ")";
    finding.serious = false;
    find(finding);
    last_error = {refusal.error, out.number};
    r.failed.push_back({out.number, refusal.error, kernel.name, refusal.text, spec.at});
    return refusal.error;
  }
  run(kernel, spec, closure, out);
  return r.sticky;
}

}  // namespace

void launch(KernelCode& code, const void* closure) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  Kernel& kernel = kernel_of(code);
  if (identify != nullptr) {
    *identify = &kernel;
    return;
  }
  if (!configured) {
    r.fail(find_copy(cudaErrorMissingConfiguration, std::string(code.name) + " is called without <<< >>>",
                     nullptr, code.at));
    return;
  }
  const Configured spec = *configured;
  configured.reset();
  const auto* const bytes = static_cast<const std::byte*>(closure);
  const auto later = [&kernel, spec, copy = std::vector<std::byte>(bytes, bytes + code.closure_bytes)] {
    return launch_now(kernel, spec, copy.data());
  };
  if (spec.keep != nullptr) *spec.keep = later;
  else if (!captured(spec.stream, later) && refuse_legacy_in_capture(spec.stream) == cudaSuccess)
    launch_now(kernel, spec, closure);
}

void get_closure(void* to) noexcept { std::memcpy(to, running.closure, running.kernel->code->closure_bytes); }

void make_known(const char* name, const void* address, Code code, void (*call)(Code, void**)) {
  const Lock lock(Runtime::get().mutex);
  auto& at = kernel_registry().addresses[address];
  if (*name != '\0' || at.call == nullptr) at.name = name;
  at.code = code;
  at.call = call;
}

// Finds a kernel by calling it with all-zero arguments; launch() then only identifies it.
Kernel* kernel_at(const void* address) {
  const auto found = kernel_registry().addresses.find(address);
  if (found == kernel_registry().addresses.end()) return nullptr;
  auto& at = found->second;
  if (at.kernel == nullptr) {
    alignas(64) static std::byte zeros[8192] = {};
    void* arguments[128];
    std::ranges::fill(arguments, static_cast<void*>(zeros));
    identify = &at.kernel;
    at.call(at.code, arguments);
    identify = nullptr;
  }
  return at.kernel;
}

cudaError_t launch_by_address(const void* address, dim3 grid, dim3 block, void** arguments,
                              std::size_t shared_bytes, cudaStream_t stream, bool cooperative, CallSite at) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  const auto found = kernel_registry().addresses.find(address);
  if (found == kernel_registry().addresses.end())
    return r.fail(
        find_copy(cudaErrorInvalidDeviceFunction,
                  "cudaLaunchKernel: the kernel is not known by this pointer; pass the kernel itself, "
                  "without a cast to void*",
                  nullptr, at));
  const std::int64_t before = r.launches;
  configure(grid, block, shared_bytes, stream, at);
  configured->cooperative = cooperative;
  found->second.call(found->second.code, arguments);
  return last_error.launch > before ? last_error.error : r.state();
}

cudaError_t keep_launch(tessera_work& work, const void* address, dim3 grid, dim3 block, void** arguments,
                        std::size_t shared_bytes, CallSite at) {
  Runtime& r = Runtime::get();
  const auto found = kernel_registry().addresses.find(address);
  if (found == kernel_registry().addresses.end()) return r.fail(cudaErrorInvalidDeviceFunction);
  configure(grid, block, shared_bytes, nullptr, at);
  configured->keep = &work;
  found->second.call(found->second.code, arguments);
  return cudaSuccess;
}

}  // namespace tessera_cuda
