// SPDX-License-Identifier: Apache-2.0
#include "tessera/frontend/runtime/launch/unused_reads.hpp"
#include <algorithm>
#include <cstring>
#include <exception>
#include "tessera/frontend/runtime/memory/heap.hpp"

namespace tessera_cuda {

MemoryBefore::MemoryBefore() {
  constexpr std::size_t most = std::size_t{64} << 20;
  static std::size_t left = 32 * most;  // for all launches, since copies take time
  std::size_t sum = 0;
  for (const auto& [first, array] : Runtime::get().arrays) {
    if (array.kind == Array::Kind::heap) continue;
    complete_ = complete_ && (sum += array.bytes) <= std::min(most, left);
    if (!complete_) {
      copies_.clear();
      return;
    }
    Copy& copy = copies_.emplace_back(Copy{&array, {array.data, array.data + array.bytes}, {}});
    if (array.written != nullptr) copy.marks.assign(array.written, array.written + array.bytes);
  }
  left -= sum;
}

bool MemoryBefore::unset_values_matter(tessera::simt::Task task) const {
  if (!complete_ || task.cooperative || heap_extent() != 0) return true;
  const auto contents = [this] {
    std::vector<std::vector<char>> out;
    for (const Copy& copy : copies_) out.emplace_back(copy.array->data, copy.array->data + copy.array->bytes);
    return out;
  };
  const auto after = contents();
  std::vector<std::vector<char>> results[2];
  bool failed = false;
  task.tracer = nullptr;
  task.blocks_done = nullptr;
  for (const int run : {0, 1}) {
    const int byte = run == 0 ? 0x5a : 0xa5;
    task.poison = 0x01010101u * static_cast<unsigned>(byte);
    for (const Copy& copy : copies_) {
      std::memcpy(copy.array->data, copy.bytes.data(), copy.bytes.size());
      for (std::size_t i = 0; i < copy.marks.size() && !copy.array->is_variable(); ++i)
        if (copy.marks[i] == 0) copy.array->data[i] = static_cast<char>(byte);
    }
    try {
      tessera::simt::execute(task, 1);
    } catch (const std::exception&) {
      failed = true;
    }
    results[run] = contents();
  }
  bool equal = !failed;
  for (std::size_t a = 0; a < copies_.size(); ++a) {
    const Array& array = *copies_[a].array;
    for (std::size_t i = 0; equal && i < array.bytes; ++i)
      equal = results[0][a][i] == results[1][a][i] || (array.written != nullptr && array.written[i] == 0);
    std::memcpy(array.data, after[a].data(), array.bytes);
  }
  return !equal;
}

}  // namespace tessera_cuda
