// SPDX-License-Identifier: Apache-2.0
// Arrays of a call, taken from host memory and scattered over the memories of several devices in blocks: one
// of each array on each device; and its result gathered again.
#pragma once
#include <optional>
#include "tessera/run/resident.hpp"

namespace tessera {

class Scattered {
 public:
  // `host`: the operands, with memory; all stays there. `along`: of each operand and of the output, the
  // dimension that is cut. `shares`: of it, for each device; none: equal ones. Throws Error.
  Scattered(const Operation& operation, const Arguments& host, const std::vector<Device>& devices,
            const std::map<std::string, std::size_t>& along, std::vector<double> shares = {},
            const Request& request = {}, const Resident::Open& open = {});

  Resident& call() { return *resident_; }
  const std::vector<Device>& devices() const { return devices_; }

  void poison();                         // the result's blocks: bytes 0xFF
  void gather(const ArrayView& result);  // into host memory whose rows are of consecutive elements

 private:
  void scatter(const std::string& name, const ArrayView& whole, std::size_t along,
               const std::vector<double>& shares);
  void copy(std::size_t device, void* to, const void* from, std::size_t bytes);

  std::vector<Device> devices_;
  std::string output_;
  std::map<std::string, ResidentArray> arrays_;
  std::vector<Array> memories_;
  std::optional<Resident> resident_;
};

}  // namespace tessera
