// SPDX-License-Identifier: Apache-2.0
// Remedies of findings about memory. The runtime knows how each array was made, set and freed.
#include "tessera/frontend/runtime/findings/findings.hpp"

namespace tessera_cuda {
namespace {

std::string text_of(CallSite at) { return "line " + std::to_string(at.line); }

// Returns the array that was freed at these addresses; null: there is none.
const Array* freed_array(const void* pointer) {
  Runtime& r = Runtime::get();
  const Array* const near = r.array_near(pointer);
  return near != nullptr && r.arrays.contains(reinterpret_cast<std::uintptr_t>(near->data)) ? nullptr : near;
}

std::string remedy_of_pitch(const Array& array) {
  return array.name + " came from cudaMallocPitch: its pitch counts bytes; row y begins at (char *)" +
         array.name + " + y * pitch";
}

// Returns the remedy for rows that a copy has not set: its width and pitch count bytes, as the kernel's pitch
// does.
std::string remedy_of_rows(const Array& array, std::size_t offset) {
  const auto& host = array.host_write;
  if (host.bytes == 0 || offset % array.pitch >= array.row_bytes) return remedy_of_pitch(array);
  const std::string call = std::string(host.call) + " at " + text_of(host.at);
  if (host.width < array.row_bytes)
    return call + " copies " + std::to_string(host.width) + " of the " + std::to_string(array.row_bytes) +
           " bytes of a row of " + array.name +
           ": its width counts bytes, not elements; multiply by sizeof(…)";
  if (host.pitch != array.pitch)
    return call + " lays rows " + std::to_string(host.pitch) + " bytes apart, and the pitch of " +
           array.name + " is " + std::to_string(array.pitch) +
           ": give the pitch of cudaMallocPitch to the call for two dimensions";
  return remedy_of_pitch(array);
}

std::string remedy_of_unwritten(const Array& array, bool updates, int launch_line) {
  const auto& host = array.host_write;
  const std::string bytes = std::to_string(array.bytes),
                    before = " before line " + std::to_string(launch_line);
  if (host.bytes != 0 && host.bytes < array.bytes)
    return std::string(host.call) + " at " + text_of(host.at) + " sets " + std::to_string(host.bytes) +
           " of " + bytes + " bytes of " + array.name +
           (array.element_bytes > 1 && host.bytes * array.element_bytes == array.bytes
                ? ": it counts bytes, not elements; multiply by sizeof(…)"
                : ": let it set all that is read");
  if (array.written_at != 0 && array.written_at != launch_line)
    return "the launch at line " + std::to_string(array.written_at) +
           " wrote the rest: let its grid, guard and indices reach these elements, or set them" + before;
  const std::string copy = " with cudaMemcpy(" + array.name + ", …, " + bytes + ", cudaMemcpyHostToDevice)";
  if (updates)
    return "clear it with cudaMemset(" + array.name + ", 0, " + bytes + ")" + before +
           ", or copy first values to it";
  return "copy the data to " + array.name + copy + before + ", or set it with cudaMemset";
}

}  // namespace

std::string remedy_of_freed(const void* pointer) {
  const Array* const array = freed_array(pointer);
  return array == nullptr
             ? ""
             : array->name + " was freed at " + text_of(array->freed_at) + ": free it after its last use";
}

std::string remedy_of(const FindingRecord& finding, std::uint64_t address, int launch_line) {
  const auto* const pointer = reinterpret_cast<const void*>(address);
  const auto says = [&](const char* words) { return finding.text.find(words) != std::string::npos; };
  const Array* const array = Runtime::get().array_near(pointer);
  if (finding.what == "uninitialised") {
    const Array* const at = Runtime::get().array_at(pointer);
    if (at == nullptr) return {};
    if (at->kind == Array::Kind::heap) return "set what malloc() or new gives before it is read";
    if (at->is_variable() && at->host_write.bytes == 0)
      return "copy the values to " + at->name + " with cudaMemcpyToSymbol(" + at->name + ", …, " +
             std::to_string(at->bytes) + ") before line " + std::to_string(launch_line);
    if (at->pitch != 0) return remedy_of_rows(*at, address - reinterpret_cast<std::uint64_t>(at->data));
    return remedy_of_unwritten(*at, says(" updates ") || says(" and writes "), launch_line);
  }
  if (finding.what != "out of bounds") return {};
  if (says("a null pointer"))
    return "give the pointer memory with cudaMalloc before line " + std::to_string(launch_line);
  if (says("overflowed"))
    return "compute the index in size_t: convert a factor first, as (size_t)row * columns";
  if (array == nullptr) return {};
  if (std::string freed = remedy_of_freed(pointer); !freed.empty()) return freed;
  if (array->kind == Array::Kind::heap && says("which was freed")) return "free it after its last use";
  return array->pitch == 0 ? std::string() : remedy_of_pitch(*array);
}

std::string remedy_of_copy(const Array* to, const Array* from) {
  const auto on_device = [](const Array* array) { return array != nullptr && array->on_device(); };
  if (!on_device(to) && !on_device(from)) return "pass memory of cudaMalloc for the pointer of the device";
  return std::string("use cudaMemcpy") + (on_device(from) ? "Device" : "Host") + "To" +
         (on_device(to) ? "Device" : "Host") + ", or exchange the pointers; the first one is written";
}

std::string remedy_of_size(const Array& array, std::size_t bytes) {
  return array.name + " has " + std::to_string(array.bytes) + " bytes (" + text_of(array.at) + "), " +
         std::to_string(bytes) + " are needed: allocate count * sizeof(…) bytes, or let the call take fewer";
}

std::string remedy_of_symbol(const Array& array, bool reads) {
  return reads ? "use cudaMemcpyFromSymbol(…, " + array.name + ", …)"
               : "use cudaMemcpyToSymbol(" + array.name +
                     ", …), or the address that cudaGetSymbolAddress gives";
}

std::string describe(const void* pointer) {
  if (pointer == nullptr) return "a null pointer";
  const Array* const freed = freed_array(pointer);
  return freed == nullptr ? "host memory" : freed->name + ", which was freed";
}

std::string remedy_of_pointer(const void* pointer) {
  if (pointer == nullptr) return "give it memory with cudaMalloc first";
  const std::string freed = remedy_of_freed(pointer);
  return freed.empty() ? "pass memory of cudaMalloc" : freed;
}

std::string remedy_of_release(const void* pointer, bool host) {
  if (const Array* const freed = freed_array(pointer))
    return "free it once; " + text_of(freed->freed_at) + " freed it";
  const Array* const array = Runtime::get().array_at(pointer);
  if (array == nullptr) return "free memory of malloc with free(), of new with delete";
  if (array->mapping == nullptr) return "leave the call out: " + array->name + " is no memory of cudaMalloc";
  if (array->data != pointer) return "pass the pointer that the allocation gave, not one into its middle";
  return array->name + (host ? " is freed by cudaFree" : " is freed by cudaFreeHost");
}

}  // namespace tessera_cuda
