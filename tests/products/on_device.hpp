// SPDX-License-Identifier: Apache-2.0
// What the tests of products share: a device, and one run there whose result must be right to the last bit.
#pragma once
#include <gtest/gtest.h>
#include <iostream>
#include "drawn.hpp"
#include "tessera/run/choose.hpp"

namespace tessera::products {

class OnDevice : public testing::Test {
 protected:
  // Skips the test, and says why, where there is no such device.
  void take(Where where) {
    backend_ = find_backend(where);
    if (backend_ == nullptr) GTEST_SKIP() << "this build has no " << name_of(where);
    if (backend_->devices().empty()) GTEST_SKIP() << backend_->unusable();
    device_ = backend_->devices().front();
    run_ = {};
    run_.device = &device_;
    run_.stream = stream_ = backend_->make_stream(device_);
  }
  void TearDown() override {
    if (backend_ != nullptr && run_.device != nullptr) backend_->release_stream(device_, stream_);
  }

  // Runs it in a workspace of just the size that it asks for; `noted`: as a graph, too. Empty: it is right.
  template <class Work>
  std::string wrong(Product& product, std::size_t workspace_bytes, bool noted, const Work& work) {
    const Workspace workspace(run_, workspace_bytes);
    workspace.lend(run_);
    product.poison();
    work();
    if (noted) {
      // Two more by a graph, where the device has such: whatever they need is as the first has found it.
      const auto again = backend_->capture(run_, work);
      product.poison();
      again();
      again();
    }
    backend_->synchronize(run_);
    if (std::string out = workspace.guard_violation(); !out.empty()) return out;
    return product.wrong();
  }

  // One way to compute it; nothing: it refuses.
  std::optional<std::string> wrong_by(const Variant& variant, const Choice& choice, const Tuning& tuning,
                                      Product& product, bool noted) {
    const Arguments& arguments = product.arguments();
    // By where the arrays lie: no copies of them are made.
    if (variant.refuses(choice, arguments, tuning, device_)) return std::nullopt;
    const std::size_t bytes = choice.prepared(arguments, tuning, device_).workspace_bytes;
    try {
      return wrong(product, bytes, noted, [&] { choice.run(arguments, tuning, run_); });
    } catch (const std::exception& error) {
      return std::string("ends with ") + error.what();
    }
  }

  static const Operation& operation_called(const char* name) { return *find_operation(name); }
  static const Variant* variant_called(const char* operation, std::string_view name, Where where) {
    for (const Variant* variant : ladder_of(operation))
      if (variant->name == name && variant->where == where) return variant;
    return nullptr;
  }

  Backend* backend_ = nullptr;
  Device device_;
  tessera::Run run_;
  void* stream_ = nullptr;
};

// Parameters left to the run, every second of them at its default.
inline Tuning draw_tuning(const Choice& choice, Random& random) {
  Tuning out = choice.defaults();
  for (const Range& range : choice.ranges)
    if (once_in(random, 2)) {
      const auto any = static_cast<unsigned>(random());
      out.set(range.name,
              range.values.empty()
                  ? range.first + static_cast<int>(any % static_cast<unsigned>(range.last - range.first + 1))
                  : range.values[any % range.values.size()]);
    }
  return out;
}

// Lies across k or along it: by the word for the transpose, or by its strides.
inline void set_layout(Asked& asked, bool a_across, bool b_across, Random& random) {
  asked.lies_a.by_columns = once_in(random, 3);
  asked.lies_b.by_columns = once_in(random, 3);
  asked.op_a = a_across != asked.lies_a.by_columns;
  asked.op_b = b_across == asked.lies_b.by_columns;
}

}  // namespace tessera::products
