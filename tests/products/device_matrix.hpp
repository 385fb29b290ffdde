// SPDX-License-Identifier: Apache-2.0
// Arrays in a device's memory that lie as a test wants: behind any address, with any room between lines,
// among bytes that nobody may change; and a workspace of exactly so many bytes.
#pragma once
#include <string>
#include <vector>
#include "tessera/core/device/device.hpp"

namespace tessera::products {

// How an array lies. All in elements.
struct Lie {
  bool by_columns = false;  // the last two dimensions
  std::int64_t more = 0;    // from the end of a line to the next
  std::int64_t ahead = 0;   // from an address of 256 bytes to the first
  std::int64_t apart = 0;   // from the end of a matrix of a batch to the next
};

// Bytes of a device's memory, which those who allocate it also give back.
class Bytes {
 public:
  Bytes(const Run& run, std::size_t bytes);
  ~Bytes();
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  char* data() const { return data_; }

 private:
  Memory& memory_;
  char* data_;
};

// Every byte that is no element's is 0xff: a NaN to whoever reads it as a float.
class DeviceMatrix {
 public:
  DeviceMatrix(const Run& run, Element element, Extents extents, const Lie& lie);

  ArrayView view() const;  // in the device's memory
  std::int64_t count() const { return count_of(view_.extents); }

  // Element `at`, counted row after row, of the image in host memory.
  double get(std::int64_t at) const { return load_as_double(view_.element, place(at)); }
  void set(std::int64_t at, double value) { store_from_double(view_.element, place(at), value); }
  // All of them, from next(), row after row.
  template <class Next>
  void fill(const Next& next) {
    const std::int64_t length = view_.extents.back(),
                       step = view_.strides.back() * static_cast<std::int64_t>(size_of(view_.element));
    for (std::int64_t at = 0; at < count(); at += length) {
      char* to = place(at);
      for (std::int64_t i = 0; i < length; ++i, to += step) store_from_double(view_.element, to, next());
    }
  }

  void upload() const;
  void poison();  // there: elements, and what lies around them
  void fetch();
  // What lies where no element is, after fetch(); empty: as before. Elements are lost.
  std::string guard_violation();

 private:
  char* place(std::int64_t at) const;
  void forget_elements();

  Run run_;
  bool by_columns_;
  ArrayView view_;  // in the image
  mutable std::vector<char> image_;
  std::size_t first_ = 0;  // byte of the image where the elements begin
  Bytes device_bytes_;
};

// All zeros, between bytes that nobody may change.
class Workspace {
 public:
  Workspace(const Run& run, std::size_t bytes);
  void lend(Run& run) const;
  std::string guard_violation() const;

 private:
  Run run_;
  std::size_t bytes_;
  Bytes device_bytes_;
};

}  // namespace tessera::products
