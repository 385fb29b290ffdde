// SPDX-License-Identifier: Apache-2.0
// The tiles of a call that are done, in a file, so that a call that was stopped goes on where it was. The
// file tells what was asked and of which inputs: another call does not take it for its own. Whoever has the
// result removes it.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>
#include "tessera/core/division.hpp"
#include "tessera/core/operation.hpp"

namespace tessera {

class FileHandle {
 public:
  explicit FileHandle(int file) : file_(file) {}
  ~FileHandle();
  FileHandle(FileHandle&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  FileHandle& operator=(FileHandle&&) = delete;
  int get() const { return file_; }

 private:
  int file_;
};

class Checkpoint {
 public:
  // Opens the file, or makes it, for these tiles; where the file has others, they take their place. `how`:
  // what else must be the same for the same bits. Throws Error where the file is of another call, cannot be
  // used, or another call is at work on it.
  Checkpoint(std::string path, const Operation& operation, const Arguments& host, const Division& division,
             const std::string& how, std::vector<Tile>& tiles);
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  bool has(std::size_t tile) const { return done_[tile] != 0; }
  bool same_bits() const { return same_bits_; }  // all that is in it was computed in this way
  const std::string& lost() const {
    return lost_;
  }                               // after restore(): what the disk has not kept; empty: nothing
  void restore();                 // what it has and the disk has kept, into the result
  void commit(std::size_t tile);  // from the result; on return it is in the file

 private:
  std::string path_;
  const Arguments* host_;
  const Division* division_;
  std::vector<Tile> tiles_;
  std::vector<std::int64_t> places_;  // of each tile's bytes in the file
  std::vector<std::uint64_t> done_;   // marks: 0, or what the tile's bytes must give
  std::int64_t done_place_ = 0;
  bool same_bits_ = true;
  FileHandle file_;  // locked
  std::string lost_;
};

}  // namespace tessera
