// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/multi_device/host_copies.hpp"
#include <algorithm>
#include <cstring>
#include <functional>
#include "tessera/core/parallel.hpp"

namespace tessera {
namespace {

Rows at(const Rows& rows, std::size_t row, std::size_t byte) {
  return {static_cast<char*>(rows.data) + row * rows.pitch + byte, rows.pitch};
}

// One processor's copy is several times slower than the link to a GPU.
void copy_on_host(const Rows& to, const Rows& from, const RowShape& shape) {
  constexpr std::size_t least_per_thread = std::size_t{2} << 20, most_threads = 8;
  const auto processors = static_cast<std::size_t>(std::max(1, host_threads()));
  const std::size_t parts = std::clamp<std::size_t>(shape.total() / least_per_thread, 1,
                                                    std::min({processors, most_threads, shape.rows}));
  const auto copy_rows = [&](std::size_t first, std::size_t last) {
    for (std::size_t row = first; row < last; ++row)
      std::memcpy(at(to, row, 0).data, at(from, row, 0).data, shape.bytes);
  };
  if (parts == 1) return copy_rows(0, shape.rows);
  parallel(static_cast<int>(parts), [&](int part) {
    const auto p = static_cast<std::size_t>(part);
    copy_rows(shape.rows * p / parts, shape.rows * (p + 1) / parts);
  });
}

// Calls `part` for parts that fit a buffer each: the first row and byte of each, and its shape.
void in_chunks(const RowShape& whole,
               const std::function<void(std::size_t row, std::size_t byte, const RowShape&)>& part) {
  constexpr std::size_t most = StagingRing::chunk_bytes;
  const std::size_t width = std::min(whole.bytes, most), height = std::max<std::size_t>(1, most / width);
  for (std::size_t row = 0; row < whole.rows; row += height)
    for (std::size_t byte = 0; byte < whole.bytes; byte += width)
      part(row, byte, {std::min(height, whole.rows - row), std::min(width, whole.bytes - byte)});
}

}  // namespace

HostRows HostRows::of(const ArrayView& view) {
  const std::size_t size = size_of(view.element);
  HostRows out;
  out.rows.data = view.data;
  out.shape = {1, size * static_cast<std::size_t>(view.extents.back())};
  out.rows.pitch = out.shape.bytes;
  if (view.extents.size() == 2) {
    out.shape.rows = static_cast<std::size_t>(view.extents[0]);
    out.rows.pitch = size * static_cast<std::size_t>(view.strides[0]);
  }
  return out;
}

StagingRing::Slot& StagingRing::next() {
  Slot& slot = slots_[at_++ % slots];
  if (!slot.memory) slot.memory = streams_->pinned(chunk_bytes);
  return slot;
}

void Uploads::copy(const Rows& to, const HostRows& from, bool pinned) {
  if (from.shape.total() == 0) return;
  if (pinned) return streams_->copy(StreamKind::in, to, from.rows, from.shape);
  in_chunks(from.shape, [&](std::size_t row, std::size_t byte, const RowShape& shape) {
    StagingRing::Slot& slot = ring_.next();
    if (slot.idle) slot.idle->wait();
    const Rows buffer{slot.memory.get(), shape.bytes};
    copy_on_host(buffer, at(from.rows, row, byte), shape);
    streams_->copy(StreamKind::in, at(to, row, byte), buffer, shape);
    slot.idle = streams_->record(StreamKind::in);
  });
}

void Downloads::copy(const HostRows& to, const Rows& from, bool pinned) {
  if (to.shape.total() == 0) return;
  if (pinned) return streams_->copy(StreamKind::out, to.rows, from, to.shape);
  in_chunks(to.shape, [&](std::size_t row, std::size_t byte, const RowShape& shape) {
    if (pending_.size() == StagingRing::slots) empty_one();
    StagingRing::Slot& slot = ring_.next();
    streams_->copy(StreamKind::out, {slot.memory.get(), shape.bytes}, at(from, row, byte), shape);
    slot.idle = streams_->record(StreamKind::out);
    pending_.push_back({&slot, {at(to.rows, row, byte), shape}});
  });
}

void Downloads::empty_one() {
  const Pending pending = pending_.front();
  pending_.pop_front();
  pending.slot->idle->wait();
  copy_on_host(pending.to.rows, {pending.slot->memory.get(), pending.to.shape.bytes}, pending.to.shape);
}

void Downloads::finish() {
  while (!pending_.empty()) empty_one();
}

}  // namespace tessera
