// SPDX-License-Identifier: Apache-2.0
// A rank's part of a contraction by several devices: each panel is one call that they share, as devices share
// a call of one process. They are started for the first panel, and stay.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>
#include "tessera/core/contraction.hpp"
#include "tessera/dist/communicator.hpp"
#include "tessera/run/attempts.hpp"
#include "tessera/run/checks.hpp"
#include "tessera/run/rank_report.hpp"

namespace tessera {

// Threads of processors, which the ranks of a host share unless `words` name a number, or the launcher has
// given each rank its own.
int threads_of_rank(const Device& device, const std::string& words, int ranks_on_host);

// What a rank has of a list that all ranks of its host were given: GPUs are dealt out in turn (where ranks
// are more, several have the same one), processors all ranks have.
std::vector<Device> devices_of_rank(const std::vector<Device>& list, const std::string& words,
                                    const dist::HostPlace& here);

// How deep their panels are: each is read, copied to devices and added as a whole, so they are deeper than
// those of one device. Sums that devices do not add to are one panel.
std::int64_t spread_depth(const Contraction& contraction, const Arguments& whole);

class SpreadSum : public PanelSum {
 public:
  // `part`: in host memory, as are its inputs and its result.
  SpreadSum(const Operation& operation, const Contraction& contraction, const Arguments& part,
            const Spread& spread);
  SpreadSum(const SpreadSum&) = delete;
  SpreadSum& operator=(const SpreadSum&) = delete;

  void add(const ArrayView& left, const ArrayView& right) override;
  void finish() override;

  std::string told() const;                 // "cuda:0 81 % + cpu 19 %", by work
  std::vector<RankDevice> devices() const;  // all of them, in the list's order
  // What they did, in seconds since that moment.
  std::vector<dist::Span> spans(std::chrono::steady_clock::time_point since) const;
  const std::vector<std::string>& notes() const {
    return notes_;
  }  // devices given up, parts found wrong, faults that were none
  const Checks& checks() const { return checks_; }

 private:
  ArrayView next_result();
  Together work(const Arguments& panel);
  void note(const Together& together);
  void add_spans(const Together& together);
  void leave_out(const std::vector<std::size_t>& lost);

  const Operation& operation_;
  const Contraction& contraction_;
  const Arguments& part_;
  Spread spread_;
  const std::vector<Fault> faults_;  // that were asked for; of spread_ those that are still to come
  // Sums go to and fro: no call reads where it writes, so that parts can be computed again. Workers see both,
  // and write none of them by way of a copy.
  Array spare_[2];
  ArrayView latest_;
  // Of all devices, also those that were lost; where those that are left stand among them.
  std::vector<RankDevice> told_;
  std::vector<double> flops_;
  std::vector<std::size_t> places_, parts_begun_;
  std::chrono::steady_clock::time_point origin_;  // of spans_
  std::vector<dist::Span> spans_;
  std::vector<std::string> notes_;
  Checks checks_;
  std::size_t panels_ = 0;
  bool begun_ = false;
  std::optional<Attempts> devices_at_work_;  // of spread_, as it is
};

}  // namespace tessera
