// SPDX-License-Identifier: Apache-2.0
// Checksums of a batch: each entry has those of a product of its own (ops/matmul/checksums.hpp). Rows of a
// part are entries; which of an entry's elements is wrong is not told.
#include "tessera/core/checksums.hpp"
#include "matmul_batch.hpp"
#include "tessera/core/random.hpp"

namespace tessera::matmul_batch {
namespace {

class BatchChecksums final : public Checksums {
 public:
  BatchChecksums(const Arguments& whole, const Device& device, const MakeChecksums& of_one)
      : whole_(&whole), device_(device), of_one_(&of_one) {}

  ChecksumVerdict look(const Tile& tile, const Arguments& part, const Run& run) override {
    ChecksumVerdict out;
    for (std::int64_t entry = 0; entry < tile.rows.size(); ++entry) {
      const Arguments whole = entry_of(*whole_, tile.rows.first + entry), one = entry_of(part, entry);
      const Tile product{{0, one.dim("m")}, {0, one.dim("n")}, {0, one.dim("k")}};
      const ChecksumVerdict found = (*of_one_)(whole, device_)->look(product, one, run);
      out.decided = out.decided && found.decided;
      out.seconds += found.seconds;
      if (found.rows.empty() && found.cols.empty()) continue;
      out.rows.push_back(entry);
      out.mark = Random(out.mark ^ found.mark).next();
    }
    return out;
  }

  void forget() override {}  // nothing is kept from part to part

 private:
  const Arguments* whole_;
  Device device_;
  const MakeChecksums* of_one_;
};

// Of small entries a GPU's launches take longer than their sums, and the processors' check does less.
bool are_worth_launches(const Arguments& whole) {
  constexpr std::int64_t least = 512;
  return whole.dim("m") * whole.dim("n") >= least * least;
}

std::unique_ptr<Checksums> make(const Arguments& whole, const Device& device) {
  const MakeChecksums* const of_one = find_checksums("matmul", device.where);
  if (of_one == nullptr || whole.dim("batch") == 0 ||
      (device.where == Where::cuda && !are_worth_launches(whole)))
    return nullptr;
  if ((*of_one)(entry_of(whole, 0), device) == nullptr) return nullptr;
  return std::make_unique<BatchChecksums>(whole, device, *of_one);
}

[[maybe_unused]] const bool registered = (register_checksums("matmul_batch", Where::cpu, make),
                                          register_checksums("matmul_batch", Where::simt, make),
                                          register_checksums("matmul_batch", Where::cuda, make), true);

}  // namespace
}  // namespace tessera::matmul_batch
