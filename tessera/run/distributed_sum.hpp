// SPDX-License-Identifier: Apache-2.0
// A rank's part of a contraction on a device: panel after panel by a variant of the operation's ladder, each
// adding to what the result holds there.
#pragma once
#include "tessera/core/contraction.hpp"
#include "tessera/run/choose.hpp"

namespace tessera {

class VariantSum : public PanelSum {
 public:
  // `part`: in host memory, as are its inputs; the result is brought there by finish(). `plan`: the device,
  // and what the whole would be computed by; each depth of a panel has a choice of its own.
  VariantSum(const Operation& operation, const Contraction& contraction, const Arguments& part,
             const Plan& plan, const Request& request);
  ~VariantSum() override;
  VariantSum(const VariantSum&) = delete;
  VariantSum& operator=(const VariantSum&) = delete;

  // Panels in the device's memory.
  void add(const ArrayView& left, const ArrayView& right) override;
  void finish() override;

  const Plan& plan() const { return plan_; }  // by which the last panel was added

 private:
  void settle(const Arguments& panel);

  const Operation& operation_;
  const Contraction& contraction_;
  const Arguments& part_;
  Device device_;
  Request request_;
  Backend& backend_;
  Run run_;
  Array result_, workspace_;
  Plan plan_;
  std::int64_t depth_ = -1;  // that the plan is for
  bool begun_ = false;
};

}  // namespace tessera
