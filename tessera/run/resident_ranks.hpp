// SPDX-License-Identifier: Apache-2.0
// As Resident, but each device belongs to a rank, a process of its own, on one host or several: what a step
// needs of others' blocks comes by messages between the ranks' devices (NCCL's, MPI's), which are under way
// while the step before is computed.
#pragma once
#include "tessera/dist/communicator.hpp"
#include "tessera/run/resident.hpp"

namespace tessera {

class ResidentRanks {
 public:
  // All ranks call it with the same sizes, words and blocks, whose devices are ranks; a rank has memory for
  // its own blocks only, on `device`. `call.devices` does not count. Throws dist::SharedError, on all ranks,
  // where Resident would throw Error on one.
  ResidentRanks(ResidentCall call, dist::Communicator& ranks, const Device& device,
                const Resident::Open& open = {});
  ~ResidentRanks();
  ResidentRanks(const ResidentRanks&) = delete;
  ResidentRanks& operator=(const ResidentRanks&) = delete;

  // All ranks call it. `seconds` is the slowest rank's, the timeline this one's. A rank that fails leaves the
  // others waiting: whoever started them ends them.
  Resident::Run run();

  const dist::ResidentPlan& plan() const { return plan_; }
  std::string connected_by() const;  // "NCCL 2.28.3"

 private:
  class Mail;

  ResidentCall call_;
  dist::Communicator& ranks_;
  Device device_;
  Division division_;
  dist::ResidentPlan plan_;
  std::unique_ptr<ResidentSeat> seat_;
  std::unique_ptr<Mail> mail_;
};

}  // namespace tessera
