// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/rotation.hpp"
#include <algorithm>
#include <cmath>
#include <cstring>
#include "tessera/core/text/error.hpp"

namespace tessera::bench {
namespace {

// Gap between arrays, and their alignment; the gap is filled with a known byte.
constexpr std::size_t gap = 256;
constexpr unsigned char known_byte = 0xff;

std::size_t room_of(std::size_t bytes) { return (bytes + gap - 1) / gap * gap + gap; }

bool is_output(const Parameter& p) { return p.kind == Parameter::Kind::output; }

template <class Function>
void for_arrays(const Arguments& host, const Function& function) {
  for (const Parameter& p : host.signature().parameters)
    if (p.is_array() && host.has(p.name)) function(p, host.array(p.name));
}

}  // namespace

std::int64_t sets_beyond(std::int64_t cache_bytes, std::int64_t set_bytes, int most) {
  if (set_bytes <= 0) return 1;
  const auto wanted = static_cast<std::int64_t>(
      std::ceil(rotated_caches * static_cast<double>(cache_bytes) / static_cast<double>(set_bytes)));
  if (wanted <= 1) return 1;
  const std::int64_t step = wanted <= most ? 2 : most;
  return (wanted + step - 1) / step * step;
}

std::int64_t set_bytes(const Arguments& host) {
  std::int64_t out = 0;
  for_arrays(
      host, [&](const Parameter&, const ArrayView& view) { out += static_cast<std::int64_t>(view.bytes()); });
  return out;
}

Reason cannot_rotate(const Device& device, const Arguments& host, int most) {
  if (device.cache_bytes <= 0)
    return "the size of the last-level cache is not known, so nothing tells how many sets of inputs exceed "
           "it";
  const std::int64_t sets = sets_beyond(device.cache_bytes, set_bytes(host), most);
  if (sets == 1) return std::nullopt;
  std::int64_t room = 0;
  for_arrays(host, [&](const Parameter&, const ArrayView& view) {
    room += static_cast<std::int64_t>(room_of(view.bytes()));
  });
  const std::int64_t quarter = backend_of(device).free_memory(device) / 4;
  if (sets * room <= quarter) return std::nullopt;
  return std::to_string(sets) + " sets of inputs and outputs need " + std::to_string(sets * room) +
         " bytes, more than a quarter of the memory that is free";
}

Rotation::Rotation(const Device& device, const Arguments& even, const Arguments& odd, int most)
    : device_(device),
      backend_(&backend_of(device)),
      hosts_{&even, &odd},
      here_(even),
      most_(most),
      sets_(sets_beyond(device.cache_bytes, set_bytes(even), most)) {
  for_arrays(even, [&](const Parameter& p, const ArrayView& view) {
    if (view.strides != odd.array(p.name).strides)
      throw Error(Error::Kind::internal, "sets taken in turn are of arrays that lie alike");
    const auto [first, last] = view.span();
    const auto size = static_cast<std::int64_t>(size_of(view.element));
    const auto bytes = static_cast<std::size_t>((last - first) * size);
    pieces_.push_back({p.name, set_room_, bytes, room_of(bytes), first * size, is_output(p)});
    set_room_ += pieces_.back().room;
  });
  memory_ = Array(Element::u8, {static_cast<std::int64_t>(gap + static_cast<std::size_t>(sets_) * set_room_)},
                  backend_->memory(device_));
  run_ = {&device_, nullptr, nullptr, 0};
  // Made last, because the destructor does not run if the constructor throws.
  run_.stream = backend_->make_stream(device_);
  try {
    restore();
  } catch (...) {
    backend_->release_stream(device_, run_.stream);
    throw;
  }
}

Rotation::~Rotation() { backend_->release_stream(device_, run_.stream); }

int Rotation::launches(int wanted) const {
  if (sets_ > most_) return most_;
  const int sets = static_cast<int>(sets_);
  return (std::max(wanted, 1) + sets - 1) / sets * sets;
}

std::int64_t Rotation::take(int launches) {
  const std::int64_t first = next_;
  next_ = (next_ + launches) % sets_;
  return first;
}

unsigned char* Rotation::set_at(std::int64_t number) const {
  const std::int64_t round = (number % sets_ + sets_) % sets_;
  return static_cast<unsigned char*>(memory_.view().data) + gap + static_cast<std::size_t>(round) * set_room_;
}

unsigned char* Rotation::host_at(std::int64_t number, const Piece& piece) const {
  return static_cast<unsigned char*>(host(number).array(piece.name).data) + piece.first;
}

const Arguments& Rotation::set(std::int64_t number) {
  unsigned char* const at = set_at(number);
  for (const Piece& piece : pieces_) here_.set_array(piece.name, at + piece.offset - piece.first);
  return here_;
}

void Rotation::poison(std::int64_t number) {
  for (const Piece& piece : pieces_)
    if (piece.output) backend_->fill(run_, set_at(number) + piece.offset, known_byte, piece.bytes);
  backend_->synchronize(run_);
}

void Rotation::poison() {
  for (std::int64_t number = 0; number < sets_; ++number) poison(number);
}

void Rotation::fetch(std::int64_t number) {
  for (const Piece& piece : pieces_) {
    if (!piece.output) continue;
    if (!host(number).array(piece.name).row_major())
      throw Error(Error::Kind::internal, "sets taken in turn are fetched to arrays without gaps");
    backend_->copy(run_, host_at(number, piece), set_at(number) + piece.offset, piece.bytes);
  }
  backend_->synchronize(run_);
}

// Copies two sets from the host, then doubles the number of sets by copies on the device.
void Rotation::restore() {
  backend_->fill(run_, memory_.view().data, known_byte, memory_.view().bytes());
  for (std::int64_t number = 0; number < std::min<std::int64_t>(sets_, 2); ++number)
    for (const Piece& piece : pieces_)
      if (!piece.output)
        backend_->copy(run_, set_at(number) + piece.offset, host_at(number, piece), piece.bytes);
  for (std::int64_t filled = 2; filled < sets_; filled *= 2) {
    const auto more = static_cast<std::size_t>(std::min(filled, sets_ - filled));
    backend_->copy(run_, set_at(0) + static_cast<std::size_t>(filled) * set_room_, set_at(0),
                   more * set_room_);
  }
  backend_->synchronize(run_);
}

// Copies a few sets at a time to the host, which may have less memory than the device.
Reason Rotation::check_guards() {
  constexpr std::size_t at_once = std::size_t{64} << 20;
  const auto step = static_cast<std::int64_t>(
      std::clamp<std::size_t>(at_once / set_room_, 1, static_cast<std::size_t>(sets_)));
  std::vector<unsigned char> first(gap);
  backend_->copy(run_, first.data(), memory_.view().data, gap);
  backend_->synchronize(run_);
  if (std::ranges::any_of(first, [](unsigned char byte) { return byte != known_byte; }))
    return "a write before the first of the sets of inputs and outputs";
  Array back(Element::u8, {step * static_cast<std::int64_t>(set_room_)});
  for (std::int64_t number = 0; number < sets_; number += step) {
    const std::int64_t some = std::min(step, sets_ - number);
    backend_->copy(run_, back.as<unsigned char>(), set_at(number),
                   static_cast<std::size_t>(some) * set_room_);
    backend_->synchronize(run_);
    for (std::int64_t i = 0; i < some; ++i)
      if (const Reason reason =
              check_guards_of(back.as<unsigned char>() + static_cast<std::size_t>(i) * set_room_, number + i))
        return reason;
  }
  return std::nullopt;
}

Reason Rotation::check_guards_of(const unsigned char* set, std::int64_t number) const {
  for (const Piece& piece : pieces_) {
    const unsigned char* const at = set + piece.offset;
    if (std::any_of(at + piece.bytes, at + piece.room, [](unsigned char byte) { return byte != known_byte; }))
      return "a write outside " + piece.name +
             ", behind its end, in one of the sets that launches take in turn";
    if (!piece.output && piece.bytes != 0 && std::memcmp(at, host_at(number, piece), piece.bytes) != 0)
      return "a write to the input " + piece.name + ", in one of the sets that launches take in turn";
  }
  return std::nullopt;
}

}  // namespace tessera::bench
