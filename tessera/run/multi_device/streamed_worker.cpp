// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/multi_device/streamed_worker.hpp"
#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include "tessera/core/device/parallel.hpp"
#include "tessera/run/enqueue.hpp"

namespace tessera {
namespace {

Rows at(const Rows& rows, std::size_t row, std::size_t byte) {
  return {static_cast<char*>(rows.data) + row * rows.pitch + byte, rows.pitch};
}

// Copies in parallel, because one core is several times slower than the link to a GPU.
void copy_on_host(const Rows& to, const Rows& from, const RowShape& shape) {
  constexpr std::size_t min_per_thread = std::size_t{2} << 20, max_threads = 8;
  const auto processors = static_cast<std::size_t>(std::max(1, host_threads()));
  const std::size_t parts = std::clamp<std::size_t>(shape.total() / min_per_thread, 1,
                                                    std::min({processors, max_threads, shape.rows}));
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

// Calls `part` for pieces that fit a staging buffer, with the first row, the first byte and the shape of
// each.
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

namespace {

// Kernels read 16 bytes of a row at a time; arrays are aligned to 256 bytes.
constexpr std::int64_t row_alignment = 16, alignment = 256;

std::int64_t padded(std::int64_t bytes, std::int64_t unit) { return (bytes + unit - 1) / unit * unit; }

bool is_transposed(const ArrayView& array) {
  return array.extents.size() == 2 && array.strides[1] != 1 && array.strides[0] == 1;
}

ArrayView rows_of(const Slice& slice, const ArrayView& array) {
  const ArrayView part = part_of(array, slice.box);
  return is_transposed(array) ? part.transposed() : part;
}

// Returns the reason why arrays with such strides cannot be copied as rows.
Reason no_rows(const Arguments& arguments) {
  for (const Parameter& p : arguments.signature().parameters) {
    if (!p.is_array() || !arguments.has(p.name)) continue;
    const ArrayView& array = arguments.array(p.name);
    const bool flat = array.extents.size() == 1 && (array.strides[0] == 1 || array.extents[0] <= 1);
    const bool rows = array.extents.size() == 2 && (array.strides[1] == 1 || array.strides[0] == 1) &&
                      array.strides[0] >= 0 && array.strides[1] >= 0;
    if (!flat && !rows) return p.name + " does not lie in rows or columns of consecutive elements";
  }
  return std::nullopt;
}

// Returns the size in bytes of all inputs, with each slice rounded up.
std::int64_t bytes_of_inputs(const Arguments& host, const Partition& partition) {
  std::int64_t out = 0;
  for (const Slice& slice : partition.reads(partition.whole()))
    out += static_cast<std::int64_t>(bytes_of(slice, host.array(slice.array)));
  constexpr std::int64_t aligning = 1 << 20;
  return out + out / 16 + aligning;
}

}  // namespace

PackedRows PackedRows::of(const Slice& slice, const ArrayView& array) {
  const auto size = static_cast<std::int64_t>(size_of(array.element));
  PackedRows out;
  out.transposed = is_transposed(array);
  out.rows = slice.box.size() == 1 ? 1 : slice.box[out.transposed ? 1 : 0].size();
  out.row_bytes = size * slice.box[out.transposed ? 0 : slice.box.size() - 1].size();
  out.pitch = padded(out.row_bytes, row_alignment);
  return out;
}

ArrayView PackedRows::view_at(void* memory, const Slice& slice, const ArrayView& array) const {
  ArrayView out{memory, array.element, {}, {}};
  for (const Interval& side : slice.box) out.extents.push_back(side.size());
  const std::int64_t step = pitch / static_cast<std::int64_t>(size_of(array.element));
  out.strides = {1};
  if (slice.box.size() == 2) out.strides = transposed ? Extents{1, step} : Extents{step, 1};
  return out;
}

std::optional<std::int64_t> BlockAllocator::take(std::int64_t bytes) {
  auto best = gaps_.end();
  for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap)
    if (gap->second >= bytes && (best == gaps_.end() || gap->second < best->second)) best = gap;
  if (best == gaps_.end()) return std::nullopt;
  const auto [offset, size] = *best;
  gaps_.erase(best);
  if (size > bytes) gaps_[offset + bytes] = size - bytes;
  return offset;
}

void BlockAllocator::release(std::int64_t offset, std::int64_t bytes) {
  if (bytes == 0) return;
  auto gap = gaps_.emplace(offset, bytes).first;
  if (const auto next = std::next(gap); next != gaps_.end() && gap->first + gap->second == next->first) {
    gap->second += next->second;
    gaps_.erase(next);
  }
  if (gap == gaps_.begin()) return;
  const auto before = std::prev(gap);
  if (before->first + before->second != gap->first) return;
  before->second += gap->second;
  gaps_.erase(gap);
}

void HeldInputs::join(Streams& device) {
  const std::lock_guard lock(mutex_);
  for (Streams* const other : devices_) (void)device.reaches(*other), (void)other->reaches(device);
  devices_.push_back(&device);
}

void HeldInputs::leave(const Streams& device) {
  const std::lock_guard lock(mutex_);
  std::erase(devices_, &device);
}

EventPtr HeldInputs::copy(const Slice& slice, Streams& reader, const Rows& to, const RowShape& shape) {
  std::unique_lock lock(mutex_);
  std::vector<Holding>& holdings = holdings_[slice];
  const auto reached = [&](const Holding& one) { return reader.reaches(*one.holder); };
  for (;;) {
    const auto holding = std::ranges::find_if(holdings, reached);
    if (holding != holdings.end() && !holding->arrived) {
      changed_.wait(lock);
      continue;
    }
    EventPtr arrived;
    if (holding != holdings.end()) {
      reader.wait_for(StreamKind::peer, *holding->arrived);
      reader.copy(StreamKind::peer, to, holding->at, shape);
      holding->readers.push_back(arrived = reader.record(StreamKind::peer));
    }
    holdings.push_back({&reader, to, arrived, {}});
    return arrived;
  }
}

void HeldInputs::add(const Slice& slice, const Streams& holder, const EventPtr& arrived) {
  const std::lock_guard lock(mutex_);
  std::vector<Holding>& holdings = holdings_[slice];
  const auto own = std::ranges::find(holdings, &holder, &Holding::holder);
  if (arrived != nullptr) own->arrived = arrived;
  else holdings.erase(own);
  changed_.notify_all();
}

void HeldInputs::remove(const Slice& slice, const Streams& holder) {
  std::unique_lock lock(mutex_);
  std::vector<Holding>& holdings = holdings_[slice];
  const auto own = std::ranges::find(holdings, &holder, &Holding::holder);
  const std::vector<EventPtr> readers = std::move(own->readers);
  holdings.erase(own);
  lock.unlock();  // other devices go on copying
  for (const EventPtr& reader : readers) try {
      reader->wait();
    } catch (const Error&) {  // a failed device reads no more
    }
}

ArrayView InputCache::get(const Slice& slice, const ArrayView& array, bool pinned, std::size_t tile,
                          std::size_t oldest, Arrivals& arrivals) {
  auto found = entries_.find(slice);
  if (found == entries_.end()) {
    Entry entry;
    entry.rows = PackedRows::of(slice, array);
    allocate(entry, oldest);
    upload(slice, entry, array, pinned, arrivals);
    found = entries_.emplace(slice, std::move(entry)).first;
  }
  Entry& entry = found->second;
  entry.last_tile = tile;
  return entry.rows.view_at(entry.data, slice, array);
}

void InputCache::upload(const Slice& slice, const Entry& entry, const ArrayView& array, bool pinned,
                        Arrivals& arrivals) {
  const Rows to{entry.data, static_cast<std::size_t>(entry.rows.pitch)};
  const HostRows from = HostRows::of(rows_of(slice, array));
  const auto bytes = static_cast<std::int64_t>(from.shape.total());
  if (const EventPtr arrived = held_->copy(slice, *streams_, to, from.shape)) {
    arrivals.from_peer = arrived;
    arrivals.peer_bytes += bytes;
    return;
  }
  try {
    uploads_.copy(to, from, pinned);
    held_->add(slice, *streams_, arrivals.from_host = streams_->record(StreamKind::in));
  } catch (...) {
    held_->add(slice, *streams_, nullptr);
    throw;
  }
  arrivals.host_bytes += bytes;
}

void InputCache::allocate(Entry& entry, std::size_t oldest) {
  entry.bytes = padded(entry.rows.bytes(), alignment);
  do {
    if (const auto offset = free_.take(entry.bytes)) {
      entry.offset = *offset;
      entry.data = block_.get() + *offset;
      return;
    }
  } while (evict(oldest));
  entry.apart = std::make_unique<StreamMemory>(*streams_, entry.bytes);
  entry.data = entry.apart->get();
}

// Evicts the least recently used slice. Returns false if all are being read.
bool InputCache::evict(std::size_t oldest) {
  const auto last_use = [](const auto& one) { return one.second.last_tile; };
  const auto longest_ago = std::ranges::min_element(entries_, {}, last_use);
  if (longest_ago == entries_.end() || longest_ago->second.last_tile >= oldest) return false;
  const Entry& entry = longest_ago->second;
  held_->remove(longest_ago->first, *streams_);
  if (!entry.apart) free_.release(entry.offset, entry.bytes);
  entries_.erase(longest_ago);
  return true;
}

void InputCache::clear() {
  while (evict(std::numeric_limits<std::size_t>::max())) {
  }
}

Reason StreamedWorker::refuses(const Operation& operation, const Arguments& host, const Partition& partition,
                               const Plan& plan) {
  if (!partition.reads || !partition.writes) return "it is one part";
  if (!operation.signature.of(Parameter::Kind::value).empty()) return "it returns host values";
  if (plan.variant->baseline) return "a baseline may wait for the device";
  return no_rows(host);
}

StreamedWorker::StreamedWorker(const Operation& operation, const Arguments& host, const Partition& partition,
                               Plan plan, Request request, std::shared_ptr<Streams> streams, Options options)
    : operation_(&operation),
      host_(&host),
      partition_(&partition),
      plan_(std::move(plan)),
      request_(std::move(request)),
      streams_(std::move(streams)),
      downloads_(*streams_),
      buffers_(options.tiles_at_once) {
  std::int64_t left = options.memory_bytes;
  for (Buffer& buffer : buffers_) {
    lay_out_writes(buffer, options.largest);
    left -= buffer.memory->bytes();
  }
  inputs_.emplace(*streams_, options.held,
                  std::max<std::int64_t>(0, std::min(left, bytes_of_inputs(host, partition))));
  load(options.largest);
  streams_->start_clock();
  started_ = Clock::now();
}

// Computes the tile twice before the clock starts: the first time loads code, the second one is timed. The
// inputs are the tile's own, because some bits cost a GPU more power, and therefore time, than others.
void StreamedWorker::load(const Tile& tile) try {
  Buffer& buffer = buffers_[0];
  read_inputs(buffer, tile);
  streams_->start_clock();
  for (int run = 0; run < 2; ++run) enqueue_compute(buffer);
  buffer.computed->wait();
  seconds_of_largest_ = streams_->seconds(*buffer.computed) - streams_->seconds(*buffer.computing);
  inputs_->clear();
} catch (...) {
  stop();
  throw;
}

bool StreamedWorker::pinned(const std::string& name) {
  const auto known = pinned_.find(name);
  if (known != pinned_.end()) return known->second;
  const ArrayView& array = host_->array(name);
  const auto [first, last] = array.span();
  const auto size = static_cast<std::int64_t>(size_of(array.element));
  return pinned_[name] = streams_->is_pinned(static_cast<const char*>(array.data) + first * size,
                                             static_cast<std::size_t>((last - first) * size));
}

void StreamedWorker::lay_out_writes(Buffer& buffer, const Tile& tile) {
  buffer.writes = partition_->writes(tile);
  buffer.offsets.clear();
  buffer.rows.clear();
  std::int64_t bytes = 0;
  for (const Slice& slice : buffer.writes) {
    buffer.rows.push_back(PackedRows::of(slice, host_->array(slice.array)));
    buffer.offsets.push_back(bytes);
    bytes += padded(buffer.rows.back().bytes(), alignment);
  }
  if (!buffer.memory || buffer.memory->bytes() < bytes)
    buffer.memory = std::make_unique<StreamMemory>(*streams_, bytes);
}

// Sets the tile's arguments in device memory. An input that the partition does not read shares the output's
// memory.
void StreamedWorker::set_arguments(Buffer& buffer, const Tile& tile, const ReadView& read) {
  buffer.arguments = partition_->part(tile);
  buffer.in_place.clear();
  Arguments& arguments = *buffer.arguments;
  const void* const output = arguments.array(operation_->output).data;
  const auto reads = partition_->reads(tile);
  for (std::size_t i = 0; i < buffer.writes.size(); ++i)
    arguments.set_array(buffer.writes[i].array,
                        buffer.rows[i].view_at(buffer.memory->get() + buffer.offsets[i], buffer.writes[i],
                                               host_->array(buffer.writes[i].array)));
  for (const Slice& slice : reads) arguments.set_array(slice.array, read(slice));
  for (const Parameter* p : host_->signature().of(Parameter::Kind::input)) {
    if (!arguments.has(p->name)) continue;
    if (std::ranges::any_of(reads, [&](const Slice& slice) { return slice.array == p->name; })) continue;
    if (arguments.array(p->name).data != output)
      throw Error(Error::Kind::internal, "a tile reads " + p->name + ", which its partition does not say");
    arguments.set_array(p->name, arguments.array(operation_->output));
    buffer.in_place = p->name;
  }
}

void StreamedWorker::enqueue_compute(Buffer& buffer) {
  // For other inputs, earlier tiles have waited.
  for (const EventPtr& arrived : {buffer.arrivals.from_host, buffer.arrivals.from_peer})
    if (arrived != nullptr) streams_->wait_for(StreamKind::compute, *arrived);
  buffer.computing = streams_->record(StreamKind::compute);
  streams_->compute(
      [&buffer](void* stream) { enqueue(buffer.plan, *buffer.arguments, stream, {}, buffer.in_place); });
  buffer.computed = streams_->record(StreamKind::compute);
}

void StreamedWorker::read_inputs(Buffer& buffer, const Tile& tile) {
  buffer.arrivals = {};
  set_arguments(buffer, tile, [&](const Slice& slice) {
    return inputs_->get(slice, host_->array(slice.array), pinned(slice.array), begun_, finished_,
                        buffer.arrivals);
  });
  buffer.plan = refuses_in_place(plan_, *buffer.arguments)
                    ? choose_in_place(plan_.device, *operation_, *buffer.arguments, request_)
                    : plan_;
}

void StreamedWorker::begin(const Tile& tile) {
  Buffer& buffer = buffers_[begun_ % buffers_.size()];
  buffer.begun = Clock::now();
  lay_out_writes(buffer, tile);
  buffer.copying = streams_->record(StreamKind::in);
  buffer.receiving = streams_->record(StreamKind::peer);
  read_inputs(buffer, tile);
  enqueue_compute(buffer);
  ++begun_;
}

std::vector<TimelineSpan> StreamedWorker::finish() {
  Buffer& buffer = buffers_[finished_ % buffers_.size()];
  // The wait is enqueued only now: a wait for the next tile in that stream would delay this one, too.
  streams_->wait_for(StreamKind::out, *buffer.computed);
  buffer.copying_out = streams_->record(StreamKind::out);
  std::int64_t left_bytes = 0;
  for (std::size_t i = 0; i < buffer.writes.size(); ++i) {
    const Slice& slice = buffer.writes[i];
    left_bytes += buffer.rows[i].rows * buffer.rows[i].row_bytes;
    downloads_.copy(
        HostRows::of(rows_of(slice, host_->array(slice.array))),
        {buffer.memory->get() + buffer.offsets[i], static_cast<std::size_t>(buffer.rows[i].pitch)},
        pinned(slice.array));
  }
  buffer.left = streams_->record(StreamKind::out);
  downloads_.finish();
  buffer.left->wait();
  ++finished_;
  const double since = std::chrono::duration<double>(buffer.begun - started_).count();
  std::vector<TimelineSpan> out;
  const auto note = [&](Activity activity, const EventPtr& first, const EventPtr& last, std::int64_t bytes) {
    if (last != nullptr)
      out.push_back(
          {0, activity, 0, streams_->seconds(*first) - since, streams_->seconds(*last) - since, bytes});
  };
  note(Activity::copy_in, buffer.copying, buffer.arrivals.from_host, buffer.arrivals.host_bytes);
  note(Activity::message, buffer.receiving, buffer.arrivals.from_peer, buffer.arrivals.peer_bytes);
  note(Activity::compute, buffer.computing, buffer.computed, 0);
  note(Activity::copy_out, buffer.copying_out, buffer.left, left_bytes);
  return out;
}

std::vector<TimelineSpan> StreamedWorker::compute(const Tile& tile) {
  begin(tile);
  return finish();
}

void StreamedWorker::stop() noexcept {
  try {
    streams_->synchronize();
  } catch (...) {  // the failure has been reported already
  }
  downloads_.forget();
  inputs_->clear();  // no device copies from a failed one
}

}  // namespace tessera
