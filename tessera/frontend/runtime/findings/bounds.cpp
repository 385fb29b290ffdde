// SPDX-License-Identifier: Apache-2.0
// Indices beyond an array whose extent g++ knows: a thread's own array, or a row of one of several
// dimensions. g++ -fsanitize=bounds calls the function below; its name and data are
// UndefinedBehaviorSanitizer's.
#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include "tessera/frontend/runtime/findings/findings.hpp"
#include "tessera/frontend/runtime/launch/kernels.hpp"
#include "tessera/simt/executor/executor.hpp"

namespace tessera_cuda {
namespace {

struct Type {
  std::uint16_t kind, about;
  char name[1];  // "'int [4]'"
};
struct Place {
  const char* file;
  std::uint32_t line, column;  // the index's closing bracket
  const Type *array, *index;
};
struct Miss {
  std::intptr_t index = 0;
  std::uint64_t times = 0;
  const Kernel* kernel = nullptr;  // null: in host code
  tessera::Index3 block, thread;
};

std::mutex misses_mutex;
std::map<const Place*, Miss>& misses() {
  static auto& all = *new std::map<const Place*, Miss>;
  return all;
}

struct Element {
  std::string text = "an array";  // "tile[y][x + 1]"
  bool is_address = false;        // &tile[y][x + 1]
};

// Returns the element of an index, given the column of its last bracket or one near it.
Element element_at(const std::string& text, std::size_t column) {
  std::size_t at = text.rfind(']', column);
  if (at == std::string::npos) at = text.find(']');
  if (at == std::string::npos) return {};
  Element out{name_in(text.substr(0, at + 1).c_str())};
  const std::string before = text.substr(0, at + 1 - std::min(at + 1, out.text.size()));
  const std::size_t left = before.find_last_not_of(" &");  // an operand left of &
  out.is_address = before.ends_with('&') && !before.ends_with("&&") && left != std::string::npos &&
                   std::string_view("=(,?:+").find(before[left]) != std::string_view::npos;
  return out;
}

// Returns "[16][32]" for a shared or __device__ array, whose accesses the tracer sees.
std::optional<std::string> declared_extents(const std::string& name, const Kernel& kernel) {
  const auto spelled = [](std::span<const std::size_t> extents) {
    std::string out;
    for (const std::size_t extent : extents) out += "[" + std::to_string(extent) + "]";
    return out;
  };
  for (const SharedPlacement& placement : kernel.placements)
    for (const SharedName& shared : placement.declaration->names)
      if (shared.name == name)
        return spelled({shared.type->extents, static_cast<std::size_t>(std::min(shared.type->rank, 4))});
  for (const auto& [first, array] : Runtime::get().arrays)
    if (array.is_variable() && array.name == name) return spelled(array.extents);
  return std::nullopt;
}

FindingRecord finding_of(const Place& at, const Miss& miss) {
  FindingRecord out = finding_at("out of bounds", at.file, static_cast<int>(at.line));
  const std::string type = at.array->name;
  const std::size_t first = type.find('[') + 1;
  const std::string extent = type.substr(first, type.find(']') - first);
  const Element element = element_at(text_of_line({at.file, static_cast<int>(at.line)}), at.column - 1);
  out.array = element.text.substr(0, element.text.find('['));
  out.times = miss.times;
  out.text = "the host";
  if (miss.kernel != nullptr) {
    out.kernel = miss.kernel->name;
    out.block = miss.block;
    out.thread = miss.thread;
    out.text = "thread " + tessera::simt::to_string(miss.thread) + " of block " +
               tessera::simt::to_string(miss.block);
    const auto declared = declared_extents(out.array, *miss.kernel);
    // An index beyond the first extent leaves the array; others may reach another row, or a struct's next
    // member.
    const bool is_first = declared && element.text.find("].") == std::string::npos &&
                          type.substr(first - 1, type.rfind(']') + 2 - first) == *declared;
    out.damages_stack = !declared;
    // An access to an address is judged where it happens.
    out.serious = out.damages_stack || (is_first && !element.is_address);
    if (is_first && element.is_address) {
      out.text += " takes the address of element " + std::to_string(miss.index) + " of " + out.array +
                  ", which has " + extent;
      out.remedy =
          "C++ has no addresses beyond an array but the one behind its end, " + out.array + " + " + extent;
      return out;
    }
  }
  out.text += " uses index " + std::to_string(miss.index) + (out.serious ? " of " : " in a row of ") +
              out.array + ", which has " + extent;
  out.remedy =
      (miss.index < 0 ? "keep the index from becoming negative" : "keep the index below " + extent) +
      (out.serious ? ", or declare " + out.array + " with more elements" : ": it reaches another row");
  return out;
}

}  // namespace

std::vector<FindingRecord> take_index_findings() {
  std::map<std::string, FindingRecord> first;  // by array
  for (const auto& [at, miss] : std::exchange(misses(), {})) {
    if (miss.kernel == nullptr) continue;
    FindingRecord found = finding_of(*at, miss);
    FindingRecord& known = first[found.array];
    if (known.line == 0 || std::pair(!found.serious, found.line) < std::pair(!known.serious, known.line))
      known = std::move(found);
  }
  std::vector<FindingRecord> out;
  for (auto& [array, found] : first) out.push_back(std::move(found));
  return out;
}

}  // namespace tessera_cuda

#if !defined(TESSERA_SANITIZED)
extern "C" void __ubsan_handle_out_of_bounds(void* data, void* value) {  // NOLINT: g++'s name
  using namespace tessera_cuda;
  const auto* const place = static_cast<const Place*>(data);
  const auto* const thread = tessera::simt::current_thread;
  const std::lock_guard lock(misses_mutex);
  Miss& miss = misses()[place];
  if (miss.times++ != 0) return;
  miss.index = reinterpret_cast<std::intptr_t>(value);
  constexpr std::uint16_t is_signed_int = 5 << 1 | 1;  // 2^5 bits
  if (place->index->about == is_signed_int) miss.index = static_cast<std::int32_t>(miss.index);
  if (thread == nullptr) return find(finding_of(*place, miss));
  miss.kernel = running.kernel;
  miss.block = {static_cast<int>(thread->of->block.x), static_cast<int>(thread->of->block.y),
                static_cast<int>(thread->of->block.z)};
  miss.thread = thread->index;
}
#endif
