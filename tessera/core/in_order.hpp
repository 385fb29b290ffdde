// SPDX-License-Identifier: Apache-2.0
// What a kind of device whose work lies in streams offers to a caller who brings arrays and a stream of their
// own. Its backend registers one; devices that share the host's memory need none.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include "tessera/core/device.hpp"

namespace tessera {

class InOrder {
 public:
  virtual ~InOrder() = default;

  // Of the device in whose memory an address lies; nothing: it is no device's.
  virtual std::optional<int> holder_of(const void* address) = 0;
  // Why the device's work cannot go into this stream; nothing: it can.
  virtual std::optional<std::string> refuses_stream(const Device& device, void* stream) = 0;
  // Whether what is enqueued is noted down for later, not done.
  virtual bool is_noting(const Run& run) = 0;

  // Memory between two points of the run's stream: for what is enqueued after the one and before the other.
  // Neither waits, and what is borrowed again and again is not allocated again. Where the stream is noting,
  // the memory belongs to what is noted.
  virtual void* borrow(const Run& run, std::size_t bytes) = 0;
  virtual void give_back(const Run& run, void* address) noexcept = 0;
};

void register_in_order(Where where, std::unique_ptr<InOrder> devices);
InOrder* find_in_order(Where where);  // the last registered; null: it has no streams

}  // namespace tessera
