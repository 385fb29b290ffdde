// SPDX-License-Identifier: Apache-2.0
#include "tessera/simt/across.hpp"
#include "tessera/simt/deeds.hpp"

namespace tessera::simt {
namespace {

class Pair {
 public:
  Pair(WorkerShadow& one, WorkerShadow& two, const Launch& launch, Tracer& tracer)
      : one_(one), two_(two), launch_(launch), tracer_(tracer) {}

  void compare() {
    for (array_ = 0; array_ < tracer_.arrays.size(); ++array_) {
      Cells &a = one_.shadow->array(array_), &b = two_.shadow->array(array_);
      if (a.granule() != b.granule()) a.refine(), b.refine();
      granule_ = a.granule();
      for (std::size_t i = 0; i < a.chunks(); ++i)
        if (a.chunk_at(i) != nullptr && b.chunk_at(i) != nullptr)
          for (std::size_t k = 0; k < Cells::chunk; ++k)
            compare((*a.chunk_at(i))[k], (*b.chunk_at(i))[k], i * Cells::chunk + k);
    }
  }

 private:
  static const Trail& reader_of(const Cell& cell) {
    return happened(cell.read[0]) ? cell.read[0] : cell.elsewhere;
  }
  static bool happened(const Trail& trail) { return trail.when.epoch != 0; }

  void compare(const Cell& a, const Cell& b, std::size_t word) {
    if (happened(a.write) && happened(b.write)) {
      if (!(a.write.atomic && b.write.atomic)) tell(one_, a.write, two_, b.write, word);
    } else if (happened(a.write) && happened(reader_of(b))) {
      tell(one_, a.write, two_, reader_of(b), word);
    } else if (happened(b.write) && happened(reader_of(a))) {
      tell(two_, b.write, one_, reader_of(a), word);
    }
  }

  void tell(const WorkerShadow& of, const Trail& trail, const WorkerShadow& other_of, const Trail& other,
            std::size_t word) {
    const TracedArray& array = tracer_.arrays[array_];
    const auto address = reinterpret_cast<std::uint64_t>(array.data) + word * granule_;
    Finding finding;
    finding.site = of.sites[trail.site];
    finding.other = other_of.sites[other.site];
    finding.block = of.shadow->block_of(trail.when);
    finding.text = who(launch_, finding.block, trail.thread) + deed(finding.site) + " at " +
                   place_in(array, address) +
                   race_with(launch_, other_of.shadow->block_of(other.when), other.thread, finding.other);
    tracer_.add(finding);
  }

  WorkerShadow &one_, &two_;
  const Launch& launch_;
  Tracer& tracer_;
  std::size_t array_ = 0;
  unsigned granule_ = 4;
};

}  // namespace

void find_races_across(std::vector<WorkerShadow>& workers, const Launch& launch, Tracer& tracer) {
  for (std::size_t i = 0; i < workers.size(); ++i)
    for (std::size_t j = i + 1; j < workers.size(); ++j)
      Pair(workers[i], workers[j], launch, tracer).compare();
}

}  // namespace tessera::simt
