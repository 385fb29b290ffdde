// SPDX-License-Identifier: Apache-2.0
// Device memory. Each array has its own mapping, between red zones, which a kernel can access without a
// fault, and guard pages, which it cannot. While host code runs, device memory is inaccessible.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <cstring>
#include <optional>
#include <regex>
#include <string_view>
#include <vector>
#include "tessera/frontend/include/host_use.h"
#include "tessera/frontend/runtime/findings/findings.hpp"
#include "tessera/frontend/runtime/runtime.hpp"
#include "tessera/frontend/runtime/graphs.hpp"
#include "tessera/frontend/runtime/memory/heap.hpp"
#include "tessera/core/array/rounding.hpp"

namespace tessera_cuda {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t zone = 64 << 10;   // red zone: accessible, but not allowed
constexpr std::size_t guard = 64 << 20;  // inaccessible
constexpr unsigned char zone_byte = 0xa5;
constexpr std::size_t watched_zone = 1024;  // bytes next to the array that are checked after launches

std::uintptr_t number(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

// Makes a protected array accessible or inaccessible.
void let(const Array& array, bool in) {
  char* const low = array.data - array.zone_bytes;
  mprotect(low, tessera::round_up(array.bytes + 2 * array.zone_bytes, page),
           in ? PROT_READ | PROT_WRITE : PROT_NONE);
}

bool map(Array& array) {
  const std::size_t inner = tessera::round_up(array.bytes + 2 * zone, page);
  array.zone_bytes = zone;
  array.mapping_bytes = inner + 2 * guard;
  void* const low =
      mmap(nullptr, array.mapping_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (low == MAP_FAILED) return false;
  array.mapping = static_cast<char*>(low);
  array.data = array.mapping + guard + zone;
  if (mprotect(array.mapping + guard, inner, PROT_READ | PROT_WRITE) != 0) {
    munmap(array.mapping, array.mapping_bytes);
    return false;
  }
  if (Runtime::get().traced && array.host_writes_unseen())
    array.untouched_bytes = tessera::round_up(array.bytes, page) - array.bytes;
  mend_zones(array);
  return true;
}

void map_written(Array& array) {
  void* const low =
      mmap(nullptr, array.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (low != MAP_FAILED) array.written = static_cast<std::uint8_t*>(low);
}

// The source or destination of a copy: its array, and if the copied bytes are inside it.
struct End {
  const void* pointer;
  std::size_t bytes;       // behind the array's first byte
  Array* array = nullptr;  // null: host memory
  bool fits = true;
};
End end_of(const void* pointer, std::size_t bytes) {
  Array* const array = Runtime::get().array_at(pointer);
  if (array == nullptr) return {pointer, bytes};
  const std::size_t offset = number(pointer) - number(array->data);
  return {pointer, offset + bytes, array, offset <= array->bytes && bytes <= array->bytes - offset};
}

// Keeps an array accessible for its lifetime.
class Let {
 public:
  explicit Let(const Array* array) : array_(array != nullptr && array->is_protected() ? array : nullptr) {
    if (array_ != nullptr) let(*array_, true);
  }
  ~Let() {
    if (array_ != nullptr) let(*array_, false);
  }
  Let(const Let&) = delete;
  Let& operator=(const Let&) = delete;

 private:
  const Array* array_;
};

void mark_written(Array* array, const void* at, std::size_t bytes) {
  if (array == nullptr || array->written == nullptr || bytes == 0) return;
  if (bytes == array->bytes) release_marks(*array);  // all of it is written: no marks are needed
  else std::memset(array->written + (static_cast<const char*>(at) - array->data), 1, bytes);
}

// A copy of as many bytes as the array has elements, or as a pointer has, counts as a mistake unless
// something reads the rest.
void note_read(Array& array, const void* from, std::size_t bytes, CallSite at) {
  Runtime::get().results_used = true;
  const bool counts_elements = bytes >= 32 && bytes * array.element_bytes == array.bytes;
  const bool is_of_pointer =
      bytes == sizeof(void*) && array.element_bytes < bytes && array.bytes >= 8 * bytes;
  if (array.unread_since && array.unread_since->copied == 0 && from == array.data &&
      array.element_bytes > 1 && (counts_elements || is_of_pointer)) {
    array.unread_since->copied = bytes;
    array.unread_since->copied_at = at;
  } else {
    array.unread_since.reset();
  }
}

// Copies one row; both ends were checked before.
void copy_row(const End& to, void* to_at, const End& from, const void* from_at, std::size_t bytes,
              CallSite at) {
  Runtime& r = Runtime::get();
  if (bytes == 0) return;
  if (from.array != nullptr) note_read(*from.array, from_at, bytes, at);
  if (from.array != nullptr && (to.array == nullptr || !to.array->on_device()))
    find_never_written(*from.array, from_at, bytes, at);
  const bool changes = to.array != nullptr && std::memcmp(to_at, from_at, bytes) != 0;
  if (changes) ++r.version;
  if (to.array == nullptr || changes) std::memmove(to_at, from_at, bytes);
  if (to.array == nullptr || to.array->written == nullptr) return;
  if (from.array != nullptr && from.array->written != nullptr && !from.array->is_variable())
    std::memmove(to.array->written + (static_cast<char*>(to_at) - to.array->data),
                 from.array->written + (static_cast<const char*>(from_at) - from.array->data), bytes);
  else mark_written(to.array, to_at, bytes);
}

const char* kind_name(cudaMemcpyKind kind) {
  constexpr const char* names[] = {"cudaMemcpyHostToHost", "cudaMemcpyHostToDevice", "cudaMemcpyDeviceToHost",
                                   "cudaMemcpyDeviceToDevice", "cudaMemcpyDefault"};
  return names[kind];
}

// True if the kind of a copy matches this end. Pinned and managed memory counts as both.
bool agrees(const End& end, bool device) {
  if (end.array == nullptr) return !device;
  return device || !end.array->on_device();
}

cudaError_t find_beyond(const End& end, const std::string& call, bool writes, CallSite at) {
  return find_copy(cudaErrorInvalidValue,
                   call + (writes ? " writes" : " reads") + " beyond the end of " + end.array->name +
                       ", which has " + std::to_string(end.array->bytes) + " bytes",
                   end.array, at, remedy_of_size(*end.array, end.bytes));
}

std::string remedy_of_kind(const End& to, const End& from) {
  for (const End* end : {&to, &from})
    if (end->pointer == nullptr || describe(end->pointer) != "host memory")
      return remedy_of_pointer(end->pointer);
  return remedy_of_copy(to.array, from.array);
}

// The host's name of a variable is no address of the device.
cudaError_t find_symbol(Array& array, const std::string& call, bool reads, CallSite at) {
  array.never_set = false;  // the call was to set it
  return find_copy(
      cudaErrorInvalidValue,
      call + " " + array.name + ", a variable of the device, whose name is no address in host code", &array,
      at, remedy_of_symbol(array, reads));
}

cudaError_t check_copy(const End& to, const End& from, cudaMemcpyKind kind, const char* call, CallSite at) {
  const std::string name = call;
  for (const End* end : {&to, &from}) {
    if (end->pointer == nullptr && find_failed_allocation()) return cudaErrorInvalidValue;
    if (end->array != nullptr && end->array->is_variable() && !end->array->address_taken &&
        !name.ends_with("Symbol"))
      return find_symbol(*end->array, name + " is given", end == &from, at);
  }
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
    return find_copy(cudaErrorInvalidMemcpyDirection, name + ": there is no such kind of copy", nullptr, at);
  if (kind != cudaMemcpyDefault) {
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (!agrees(to, to_device))
      return find_copy(
          cudaErrorInvalidValue,
          name + " with " + kind_name(kind) + " writes to " +
              (to.array == nullptr ? describe(to.pointer) : to.array->name + ", which is on the device"),
          to.array, at, remedy_of_kind(to, from));
    if (!agrees(from, from_device))
      return find_copy(cudaErrorInvalidValue,
                       name + " with " + kind_name(kind) + " reads " +
                           (from.array == nullptr ? describe(from.pointer)
                                                  : from.array->name + ", which is on the device"),
                       from.array, at, remedy_of_kind(to, from));
  }
  for (const End* end : {&to, &from})
    if (end->array != nullptr && end->array->kind == Array::Kind::heap)
      return find_copy(cudaErrorInvalidValue,
                       name + " of memory that a kernel allocated: it is for kernels only", end->array, at);
  if (const auto host = from.array == nullptr ? host_allocation(from.pointer) : std::nullopt;
      host && from.bytes > host->bytes)
    return find_copy(cudaErrorInvalidValue,
                     name + " reads " + std::to_string(from.bytes) +
                         " bytes of host memory, and the allocation of line " + std::to_string(host->line) +
                         " has " + std::to_string(host->bytes),
                     nullptr, at, "allocate count * sizeof(…) bytes, or let the call take fewer");
  for (const End* end : {&to, &from})
    if (!end->fits) return find_beyond(*end, name, end == &to, at);
  return cudaSuccess;
}

}  // namespace

namespace {

// Remembers the call for remedies. A variable that the host sets in part is watched from then on.
void note_host_write(Array* array, const char* call, CallSite at, std::size_t pitch, std::size_t width,
                     std::size_t rows) {
  if (array == nullptr) return;
  Runtime& r = Runtime::get();
  if (r.traced && array->kind == Array::Kind::variable && r.launches == 0 && array->host_write.bytes == 0 &&
      std::all_of(array->data, array->data + array->bytes, [](char byte) { return byte == 0; }))
    map_written(*array);
  array->host_write = {call, at, width * rows, width, rows > 1 ? pitch : array->row_bytes};
}

}  // namespace

cudaError_t copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                 std::size_t rows, cudaMemcpyKind kind, const char* call, CallSite at) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  if (r.state() != cudaSuccess) return r.fail(r.state());
  if (width == 0 || rows == 0) return cudaSuccess;
  const End end_to = end_of(to, to_pitch * (rows - 1) + width);
  const End end_from = end_of(from, from_pitch * (rows - 1) + width);
  const std::size_t pitch = std::min(to_pitch, from_pitch);
  const cudaError_t error =
      width <= pitch
          ? check_copy(end_to, end_from, kind, call, at)
          : find_copy(cudaErrorInvalidPitchValue,
                      std::string(call) + " copies rows of " + std::to_string(width) +
                          " bytes, more than a pitch of " + std::to_string(pitch),
                      end_to.array, at,
                      "pitches and the width count bytes, not elements: a row has columns * sizeof(…), and a "
                      "pitch no fewer");
  if (error != cudaSuccess) {
    if (end_to.array != nullptr) release_marks(*end_to.array);  // unset bytes follow from this
    for (const End* end : {&end_to, &end_from})
      if (end->array != nullptr) end->array->unread_since.reset();
    return r.fail(error);
  }
  if (to == nullptr || from == nullptr) return r.fail(cudaErrorInvalidValue);
  if (end_from.array != nullptr) mark_host_writes(*end_from.array);
  note_host_write(end_to.array, call, at, to_pitch, width, rows);
  // Such a copy may have been meant to go the other way.
  if (end_to.array != nullptr && end_to.array->unread_since) {
    if (end_from.array == nullptr && width == end_to.array->bytes)
      end_to.array->unread_since->overwritten_at = at;
    else end_to.array->unread_since.reset();
  }
  const Let let_to(end_to.array), let_from(end_from.array == end_to.array ? nullptr : end_from.array);
  for (std::size_t row = 0; row < rows; ++row)
    copy_row(end_to, static_cast<char*>(to) + row * to_pitch, end_from,
             static_cast<const char*>(from) + row * from_pitch, width, at);
  return cudaSuccess;
}

namespace {

cudaError_t set(void* to, std::size_t pitch, int byte, std::size_t width, std::size_t rows, const char* call,
                CallSite at) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  if (r.state() != cudaSuccess) return r.fail(r.state());
  if (width == 0 || rows == 0) return cudaSuccess;
  const End end = end_of(to, pitch * (rows - 1) + width);
  if (to == nullptr && find_failed_allocation()) return r.fail(cudaErrorInvalidValue);
  if (end.array == nullptr)
    return r.fail(find_copy(cudaErrorInvalidValue, std::string(call) + " writes to " + describe(to), nullptr,
                            at, remedy_of_pointer(to)));
  if (end.array->is_variable() && !end.array->address_taken)
    return r.fail(find_symbol(*end.array, std::string(call) + " is given", false, at));
  if (!end.fits) {
    release_marks(*end.array);
    return r.fail(find_beyond(end, call, true, at));
  }
  note_host_write(end.array, call, at, pitch, width, rows);
  const Let let_to(end.array);
  ++r.version;
  for (std::size_t row = 0; row < rows; ++row) {
    char* const first = static_cast<char*>(to) + row * pitch;
    std::memset(first, byte, width);
    mark_written(end.array, first, width);
  }
  return cudaSuccess;
}

cudaError_t release(void* pointer, bool host, CallSite at) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  if (pointer == nullptr) return cudaSuccess;
  const auto found = r.arrays.find(number(pointer));
  const Array::Kind kind = found == r.arrays.end() ? Array::Kind::variable : found->second.kind;
  const bool right =
      host ? kind == Array::Kind::pinned : kind == Array::Kind::device || kind == Array::Kind::managed;
  if (!right) {
    const char* const call = host ? "cudaFreeHost" : "cudaFree";
    const auto gone = r.freed.find(number(pointer));
    return r.fail(
        find_copy(cudaErrorInvalidValue,
                  std::string(call) + (gone != r.freed.end() ? ": " + gone->second.name + " is free already"
                                                             : " of what it did not allocate"),
                  nullptr, at, remedy_of_release(pointer, host), "free"));
  }
  found->second.freed_at = at;
  Array array = std::move(found->second);
  find_never_read(array);
  r.arrays.erase(found);
  ++r.version;
  release_marks(array);
  // Its addresses stay reserved, so that a use after free is detected.
  constexpr std::size_t max_freed = 512;
  mmap(array.mapping, array.mapping_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
       -1, 0);
  if (r.freed.size() >= max_freed) {
    munmap(r.freed.begin()->second.mapping, r.freed.begin()->second.mapping_bytes);
    r.freed.erase(r.freed.begin());
  }
  r.freed.emplace(number(array.data), std::move(array));
  return r.state() == cudaSuccess ? cudaSuccess : r.fail(r.state());
}

// Does the work at once or, in a captured stream, when the graph is launched.
template <class Work>
cudaError_t do_in(cudaStream_t stream, const Work& work) {
  return captured(stream, work) ? cudaSuccess : work();
}

}  // namespace

namespace {

int host_uses = 0;

}  // namespace

HostUse::HostUse() {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  if (host_uses++ == 0) r.let_kernels(true);
}
HostUse::~HostUse() {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  if (--host_uses == 0) r.let_kernels(false);
}
void note_host_use(const void* first, std::size_t bytes, bool writes) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  const End end = end_of(first, bytes);
  if (end.array == nullptr) return;
  if (!end.fits) find_beyond(end, "an algorithm", writes, {"", 0});
  end.array->unread_since.reset();
  r.results_used = true;
  if (!writes) return;
  ++r.version;
  if (end.fits) mark_written(end.array, first, bytes);
}

std::string name_in(const char* text) {
  std::string_view name = text;
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  // After the casts: the last name, with the object that it is a member or an element of.
  std::size_t end = name.size();
  while (end > 0 && !is_part(name[end - 1]) && name[end - 1] != ']') --end;
  std::size_t begin = end;
  int depth = 0;
  while (begin > 0) {
    const char c = name[begin - 1];
    if (c == ']') ++depth;
    const bool in = depth > 0 || is_part(c) || c == '.' ||
                    (c == '>' && begin > 1 && name[begin - 2] == '-') ||
                    (c == '-' && begin < name.size() && name[begin] == '>');
    if (!in) break;
    if (c == '[') --depth;
    --begin;
  }
  return begin == end ? "memory" : std::string(name.substr(begin, end - begin));
}

// The vectors of a line are made in the order of its declarators.
const char* declared_name(const char* type, CallSite at) {
  static auto& lines =
      *new std::map<std::pair<std::string, int>, std::pair<std::vector<std::string>, std::size_t>>;
  const Lock lock(Runtime::get().mutex);
  const auto [known, is_new] = lines.try_emplace({at.file, at.line});
  auto& [names, next] = known->second;
  if (is_new) {
    const std::string text = text_of_line(at);
    const std::size_t begin = std::min(text.find(type), text.size());
    int depth = 0;
    for (std::size_t i = begin; i < text.size() && (depth > 0 || text[i] != ';'); ++i) {
      if (std::string_view("<({[").find(text[i]) != std::string_view::npos) ++depth;
      if (std::string_view(">)}]").find(text[i]) != std::string_view::npos) --depth;
      if (depth > 0 || (text[i] != '>' && text[i] != ',')) continue;
      std::smatch name;
      const std::string rest = text.substr(i + 1);
      if (std::regex_search(rest, name, std::regex("^ *(\\w+)"))) names.push_back(name[1]);
    }
  }
  return names.empty() ? type : names[next++ % names.size()].c_str();
}

Array* Runtime::array_at(const void* address) {
  auto after = arrays.upper_bound(number(address));
  if (after == arrays.begin()) return nullptr;
  Array& array = std::prev(after)->second;
  const std::size_t offset = number(address) - number(array.data);
  // The address just past a mapping's array still belongs to it.
  return offset < array.bytes || (offset == array.bytes && array.mapping != nullptr) ? &array : nullptr;
}

Array* Runtime::array_near(const void* address) {
  for (auto* all : {&arrays, &freed})
    for (auto& [first, array] : *all)
      if (array.mapping != nullptr && number(address) - number(array.mapping) < array.mapping_bytes)
        return &array;
  return nullptr;
}

void Runtime::let_kernels(bool in) {
  for (const auto& [first, array] : arrays)
    if (array.is_protected()) let(array, in);
}

std::size_t Runtime::device_bytes() const {
  std::size_t sum = 0;
  for (const auto& [first, array] : arrays)
    if (array.kind == Array::Kind::device || array.kind == Array::Kind::managed) sum += array.bytes;
  return sum;
}

// True if no kernel wrote beside the array; else `byte` is the offset of a write.
bool zones_are_whole(const Array& array, std::ptrdiff_t& byte) {
  if (array.mapping == nullptr) return true;
  const auto* const data = reinterpret_cast<const unsigned char*>(array.data);
  for (std::ptrdiff_t i = 1; i <= static_cast<std::ptrdiff_t>(watched_zone); ++i) {
    if (data[-i] != zone_byte) return byte = -i, false;
    const auto behind = static_cast<std::ptrdiff_t>(array.bytes + array.untouched_bytes) + i - 1;
    if (data[behind] != zone_byte) return byte = behind, false;
  }
  return true;
}

void mend_zones(const Array& array) {
  if (array.mapping == nullptr) return;
  std::memset(array.data - watched_zone, zone_byte, watched_zone);
  std::memset(array.data + array.bytes + array.untouched_bytes, zone_byte, watched_zone);
}

namespace {

// True for pages in memory or swapped out; nullopt: the system does not report it.
std::optional<std::vector<bool>> pages_touched(const char* first, std::size_t bytes) {
  static const int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  std::vector<std::uint64_t> entries(tessera::round_up(bytes, page) / page);
  const std::size_t size = entries.size() * sizeof entries[0];
  const auto at = static_cast<off_t>(number(first) / page * sizeof entries[0]);
  if (pagemap < 0 || pread(pagemap, entries.data(), size, at) != static_cast<ssize_t>(size))
    return std::nullopt;
  std::vector<bool> out;
  for (const std::uint64_t entry : entries) out.push_back(entry >> 62 != 0);
  return out;
}
// True if the system reports present pages: tries one that is known to be present.
bool reports_pages() {
  static const bool reports = [] {
    const volatile char own = 1;
    const auto touched = pages_touched(const_cast<const char*>(&own), 1);
    return touched && (*touched)[0];
  }();
  return reports;
}

}  // namespace

void mark_host_writes(Array& array) {
  if (array.written == nullptr || !array.host_writes_unseen()) return;
  const auto touched = reports_pages() ? pages_touched(array.data, array.bytes) : std::nullopt;
  if (!touched || std::ranges::find(*touched, false) == touched->end()) return release_marks(array);
  for (std::size_t i = 0; i < touched->size(); ++i)
    if ((*touched)[i]) std::memset(array.written + i * page, 1, std::min(page, array.bytes - i * page));
}

void release_marks(Array& array) {
  if (array.written != nullptr) munmap(array.written, array.bytes);
  array.written = nullptr;
}

cudaError_t allocate(const char* text, void** pointer, std::size_t bytes, std::size_t element_bytes,
                     Memory memory, CallSite at) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  if (r.state() != cudaSuccess) return r.fail(r.state());
  if (pointer == nullptr) return r.fail(cudaErrorInvalidValue);
  if (bytes == 0) return *pointer = nullptr, cudaSuccess;
  if (memory != Memory::pinned && bytes > gpu().memory_bytes - std::min(gpu().memory_bytes, r.device_bytes()))
    return r.failed_allocation = {name_in(text), bytes, at}, *pointer = nullptr,
           r.fail(cudaErrorMemoryAllocation);
  Array array;
  array.name = name_in(text);
  array.bytes = bytes;
  array.element_bytes = element_bytes;
  array.at = at;
  array.kind = memory == Memory::device    ? Array::Kind::device
               : memory == Memory::managed ? Array::Kind::managed
                                           : Array::Kind::pinned;
  if (!map(array)) return r.fail(cudaErrorMemoryAllocation);
  if (r.traced) map_written(array);
  if (array.is_protected()) let(array, false);
  *pointer = array.data;
  ++r.version;
  if (r.failed_allocation && r.failed_allocation->name == array.name) r.failed_allocation.reset();
  r.arrays.emplace(number(array.data), std::move(array));
  return cudaSuccess;
}

Array* make_heap(std::size_t bytes) {
  Runtime& r = Runtime::get();
  Array array;
  array.name = heap_name;
  array.bytes = bytes;
  array.kind = Array::Kind::heap;
  if (!map(array)) return nullptr;
  if (r.traced) map_written(array);
  let(array, false);
  char* const data = array.data;
  return &r.arrays.emplace(number(data), std::move(array)).first->second;
}
void drop_heap(Array* heap) {
  release_marks(*heap);
  munmap(heap->mapping, heap->mapping_bytes);
  Runtime::get().arrays.erase(number(heap->data));
}

cudaError_t allocate_pitched(const char* text, void** pointer, std::size_t* pitch, std::size_t width,
                             std::size_t height, std::size_t element_bytes, CallSite at) {
  constexpr std::size_t unit = 512;  // GPUs round the pitch to this
  *pitch = tessera::round_up(width, unit);
  const cudaError_t error = allocate(text, pointer, *pitch * height, element_bytes, Memory::device, at);
  if (Array* const array = error == cudaSuccess ? Runtime::get().array_at(*pointer) : nullptr)
    array->pitch = *pitch, array->row_bytes = width;
  return error;
}

void Variable::add(const char* name, void* at, Kind kind, const ElementsOf* type, CallSite declared,
                   bool has_value) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  Array array;
  array.name = name;
  array.data = static_cast<char*>(at);
  array.bytes = type->bytes;
  array.kind = kind == constant  ? Array::Kind::constant
               : kind == managed ? Array::Kind::managed
                                 : Array::Kind::variable;
  array.at = declared;
  array.element_bytes = type->element_bytes;
  for (int d = 0; d < type->rank; ++d) array.extents.push_back(type->extents[d]);
  if (r.traced && kind == constant && !has_value) map_written(array);
  array.never_set = kind == device && !has_value;
  r.arrays.emplace(number(at), std::move(array));
}

cudaError_t copy_to_symbol(void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                           cudaMemcpyKind kind, CallSite at) {
  char* const to = static_cast<char*>(symbol) + offset;
  return copy(to, bytes, from, bytes, bytes, 1, kind, "cudaMemcpyToSymbol", at);
}
cudaError_t copy_from_symbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                             cudaMemcpyKind kind, CallSite at) {
  const char* const from = static_cast<const char*>(symbol) + offset;
  return copy(to, bytes, from, bytes, bytes, 1, kind, "cudaMemcpyFromSymbol", at);
}
cudaError_t symbol_address(void** pointer, const void* symbol) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  const auto found = r.arrays.find(number(symbol));
  if (found == r.arrays.end()) return r.fail(cudaErrorInvalidSymbol);
  found->second.address_taken = true;
  *pointer = const_cast<void*>(symbol);
  return cudaSuccess;
}
cudaError_t symbol_size(std::size_t* bytes, const void* symbol) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  const auto found = r.arrays.find(number(symbol));
  if (found == r.arrays.end()) return r.fail(cudaErrorInvalidSymbol);
  *bytes = found->second.bytes;
  return cudaSuccess;
}

}  // namespace tessera_cuda

using tessera_cuda::Array;
using tessera_cuda::CallSite;
using tessera_cuda::Lock;
using tessera_cuda::Runtime;

cudaError_t cudaFree(void* pointer, CallSite at) { return tessera_cuda::release(pointer, false, at); }
cudaError_t cudaFreeHost(void* pointer, CallSite at) { return tessera_cuda::release(pointer, true, at); }

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  *total = tessera_cuda::gpu().memory_bytes;
  *free = *total - std::min(*total, r.device_bytes());
  return cudaSuccess;
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned int, CallSite at) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  if (pointer == nullptr || bytes == 0) return r.fail(cudaErrorInvalidValue);
  if (r.array_at(pointer) != nullptr) return r.fail(cudaErrorHostMemoryAlreadyRegistered);
  Array array;
  array.name = "registered memory";
  array.data = static_cast<char*>(pointer);
  array.bytes = bytes;
  array.kind = Array::Kind::registered;
  array.at = at;
  r.arrays.emplace(reinterpret_cast<std::uintptr_t>(pointer), std::move(array));
  return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* pointer) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  const auto found = r.arrays.find(reinterpret_cast<std::uintptr_t>(pointer));
  if (found == r.arrays.end() || found->second.kind != Array::Kind::registered)
    return r.fail(cudaErrorHostMemoryNotRegistered);
  r.arrays.erase(found);
  return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned int) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  if (r.array_at(host) == nullptr) return r.fail(cudaErrorInvalidValue);
  *device = host;
  return cudaSuccess;
}

cudaError_t cudaHostGetFlags(unsigned int* flags, void*) {
  *flags = cudaHostAllocMapped;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  const Array* const array = r.array_at(pointer);
  void* const at = const_cast<void*>(pointer);
  if (array == nullptr) *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, at};
  else if (array->on_device()) *attributes = {cudaMemoryTypeDevice, 0, at, nullptr};
  else
    *attributes = {array->kind == Array::Kind::managed ? cudaMemoryTypeManaged : cudaMemoryTypeHost, 0, at,
                   at};
  return cudaSuccess;
}

cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaMemPrefetchAsync(const void*, size_t, cudaMemLocation, unsigned int, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, int) { return cudaSuccess; }
cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, cudaMemLocation) { return cudaSuccess; }

struct CUmemPoolHandle_st {
  std::map<cudaMemPoolAttr, std::uint64_t> attributes;
};

namespace {

CUmemPoolHandle_st& default_pool() {
  static auto* const only = new CUmemPoolHandle_st;
  return *only;
}
// Returns the size of an attribute: the first three are int, the others counts of bytes.
std::size_t bytes_of(cudaMemPoolAttr attribute) {
  return attribute <= cudaMemPoolReuseAllowInternalDependencies ? sizeof(int) : sizeof(std::uint64_t);
}

}  // namespace

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (pool == nullptr || device != 0) return Runtime::get().fail(cudaErrorInvalidValue);
  *pool = &default_pool();
  return cudaSuccess;
}
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return device == 0 && pool != nullptr ? cudaSuccess : Runtime::get().fail(cudaErrorInvalidValue);
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  if (pool == nullptr || properties == nullptr) return Runtime::get().fail(cudaErrorInvalidValue);
  *pool = new CUmemPoolHandle_st;
  return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  if (pool == nullptr || pool == &default_pool()) return Runtime::get().fail(cudaErrorInvalidValue);
  delete pool;
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  return pool != nullptr ? cudaSuccess : Runtime::get().fail(cudaErrorInvalidValue);
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (pool == nullptr || value == nullptr) return Runtime::get().fail(cudaErrorInvalidValue);
  std::memcpy(&pool->attributes[attribute], value, bytes_of(attribute));
  return cudaSuccess;
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (pool == nullptr || value == nullptr) return Runtime::get().fail(cudaErrorInvalidValue);
  std::memcpy(value, &pool->attributes[attribute], bytes_of(attribute));
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, CallSite at) {
  return tessera_cuda::copy(to, bytes, from, bytes, bytes, 1, kind, "cudaMemcpy", at);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream, CallSite at) {
  return tessera_cuda::do_in(stream, [=] {
    return tessera_cuda::copy(to, bytes, from, bytes, bytes, 1, kind, "cudaMemcpyAsync", at);
  });
}
cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes, CallSite at) {
  return tessera_cuda::copy(to, bytes, from, bytes, bytes, 1, cudaMemcpyDeviceToDevice, "cudaMemcpyPeer", at);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream,
                                CallSite at) {
  return tessera_cuda::do_in(stream, [=] {
    return tessera_cuda::copy(to, bytes, from, bytes, bytes, 1, cudaMemcpyDeviceToDevice,
                              "cudaMemcpyPeerAsync", at);
  });
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind, CallSite at) {
  return tessera_cuda::copy(to, to_pitch, from, from_pitch, width, height, kind, "cudaMemcpy2D", at);
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream, CallSite at) {
  return tessera_cuda::do_in(stream, [=] {
    return tessera_cuda::copy(to, to_pitch, from, from_pitch, width, height, kind, "cudaMemcpy2DAsync", at);
  });
}
cudaError_t cudaMemset(void* to, int byte, size_t bytes, CallSite at) {
  return tessera_cuda::set(to, bytes, byte, bytes, 1, "cudaMemset", at);
}
cudaError_t cudaMemsetAsync(void* to, int byte, size_t bytes, cudaStream_t stream, CallSite at) {
  return tessera_cuda::do_in(
      stream, [=] { return tessera_cuda::set(to, bytes, byte, bytes, 1, "cudaMemsetAsync", at); });
}
cudaError_t cudaMemset2D(void* to, size_t pitch, int byte, size_t width, size_t height, CallSite at) {
  return tessera_cuda::set(to, pitch, byte, width, height, "cudaMemset2D", at);
}
cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int byte, size_t width, size_t height,
                              cudaStream_t stream, CallSite at) {
  return tessera_cuda::do_in(
      stream, [=] { return tessera_cuda::set(to, pitch, byte, width, height, "cudaMemset2DAsync", at); });
}
