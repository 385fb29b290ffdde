// SPDX-License-Identifier: Apache-2.0
// The file: a line of JSON, a mark for each tile, the tiles' bytes one after another. A mark is 0, or the
// fingerprint of the tile's bytes: a tile that the disk has not kept as it was is computed again. So is what
// a file that lost its end had there.
#include "tessera/run/checkpoint.hpp"
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include "tessera/run/guard.hpp"
#include "tessera/run/place.hpp"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

Error unusable(const std::string& path, const std::string& why) {
  return Error("--checkpoint " + path + ": " + why);
}
Error failed(const std::string& path) { return unusable(path, std::strerror(errno)); }

void write_at(const std::string& path, int file, const void* from, std::size_t bytes, std::int64_t place) {
  for (const char* at = static_cast<const char*>(from); bytes != 0;) {
    const ssize_t done = pwrite(file, at, bytes, place);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) throw failed(path);
    at += done, place += done, bytes -= static_cast<std::size_t>(done);
  }
}

// Whether all of it was there.
bool read_at(const std::string& path, int file, void* to, std::size_t bytes, std::int64_t place) {
  for (char* at = static_cast<char*>(to); bytes != 0;) {
    const ssize_t done = pread(file, at, bytes, place);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw failed(path);
    if (done == 0) return false;
    at += done, place += done, bytes -= static_cast<std::size_t>(done);
  }
  return true;
}

struct Line {
  std::string text;
  bool ended = false;  // by the end of a line, not of the file
};

Line first_line(const std::string& path, int file) {
  Line out;
  char piece[4096];
  for (std::int64_t place = 0;; place += static_cast<std::int64_t>(sizeof piece)) {
    const ssize_t got = pread(file, piece, sizeof piece, place);
    if (got < 0) throw failed(path);
    const auto* const end = static_cast<const char*>(std::memchr(piece, '\n', static_cast<std::size_t>(got)));
    if (end != nullptr) return {out.text.append(piece, static_cast<std::size_t>(end - piece)), true};
    if (got == 0) return out;
    out.text.append(piece, static_cast<std::size_t>(got));
  }
}

using Mark = std::uint64_t;

Mark mark_of(const std::vector<char>& bytes) {
  return std::max<Mark>(fingerprint(bytes.data(), bytes.size()), 1);
}

constexpr std::size_t piece_bytes = std::size_t{4} << 20;

// In halves of the longest dimension, until a packed copy is small.
void add_pieces(const ArrayView& view, std::vector<std::uint64_t>& prints) {
  const auto longest = std::ranges::max_element(view.extents);
  if (view.bytes() <= piece_bytes || *longest < 2) {
    const Array packed = packed_copy(view);
    prints.push_back(fingerprint(packed.view().data, packed.view().bytes()));
    return;
  }
  std::vector<Interval> box;
  for (const std::int64_t extent : view.extents) box.push_back({0, extent});
  Interval& cut = box[static_cast<std::size_t>(longest - view.extents.begin())];
  const std::int64_t all = cut.last, half = all / 2;
  cut = {0, half};
  add_pieces(part_of(view, box), prints);
  cut = {half, all};
  add_pieces(part_of(view, box), prints);
}

// With the strides it tells arrays apart. Elements without gaps are read as they lie: a matrix may be as
// large as memory.
std::uint64_t fingerprint_of(const ArrayView& view) {
  if (view.count() == 0) return 0;
  const auto [first, last] = view.span();
  if (last - first <= view.count()) {
    const auto size = static_cast<std::int64_t>(size_of(view.element));
    return fingerprint(static_cast<const char*>(view.data) + first * size,
                       static_cast<std::size_t>((last - first) * size));
  }
  std::vector<std::uint64_t> prints;
  add_pieces(view, prints);
  return fingerprint(prints.data(), prints.size() * sizeof prints[0]);
}

Json identity(const Operation& operation, const Arguments& host) {
  Json inputs = Json::object();
  for (const Parameter* p : host.signature().of(Parameter::Kind::input))
    if (host.has(p->name))
      inputs[p->name] = {{"strides", host.array(p->name).strides},
                         {"fingerprint", fingerprint_of(host.array(p->name))}};
  return {{"tessera", "checkpoint"},
          {"marks", "fingerprints"},
          {"operation", operation.name},
          {"element", name_of(host.element())},
          {"words", host.words()},
          {"dims", host.dims()},
          {"inputs", inputs}};
}

Json tiles_json(const std::vector<Tile>& tiles) {
  Json out = Json::array();
  for (const Tile& tile : tiles)
    out.push_back({tile.rows.first, tile.rows.last, tile.cols.first, tile.cols.last});
  return out;
}

bool overlap(const Tile& a, const Tile& b) {
  const auto meet = [](const Interval& one, const Interval& other) {
    return one.first < other.last && other.first < one.last;
  };
  return meet(a.rows, b.rows) && meet(a.cols, b.cols);
}

// Whether each element of the result is in one of them.
bool cover(const std::vector<Tile>& tiles, const Division& division) {
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const Tile& tile = tiles[i];
    if (tile.empty() || tile.rows.first < 0 || tile.cols.first < 0 || tile.rows.last > division.rows ||
        tile.cols.last > division.cols)
      return false;
    elements += tile.rows.size() * tile.cols.size();
    for (std::size_t j = 0; j < i; ++j)
      if (overlap(tile, tiles[j])) return false;
  }
  return elements == division.rows * division.cols;
}

std::vector<Tile> tiles_named(const std::string& path, const Json& named, const Division& division) try {
  std::vector<Tile> out;
  for (const Json& tile : named)
    out.push_back({{tile.at(0), tile.at(1)}, {tile.at(2), tile.at(3)}, {0, division.depth}});
  if (!cover(out, division)) throw unusable(path, "its parts are not those of this result");
  return out;
} catch (const Json::exception&) {
  throw unusable(path, "it is no checkpoint");
}

// Of two calls at work on one file each would take the other's parts for its own. Where locks are unknown
// none is had.
bool is_taken(int file) { return flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; }

// A pipe or a device would be read without end.
FileHandle opened(const std::string& path) {
  for (;;) {
    FileHandle out(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (out.get() < 0) throw failed(path);
    struct stat about {};
    if (fstat(out.get(), &about) != 0 || !S_ISREG(about.st_mode))
      throw unusable(path, "it is no file that keeps what is written");
    if (is_taken(out.get())) throw unusable(path, "another call is at work on it");
    // Whoever had it may have removed it meanwhile.
    if (fstat(out.get(), &about) == 0 && about.st_nlink > 0) return out;
  }
}

// Whether what is left of a first line, of which the disk has lost the end or kept zeros for it, may be this
// call's.
void demand_torn(const std::string& path, std::string left, const Json& now) {
  left.erase(left.find_last_not_of('\0') + 1);
  const Json kind{{"tessera", "checkpoint"}};
  const auto begins_as = [&](const Json& json) {
    const std::string text = json.dump();
    const std::size_t both = std::min(left.size(), text.size() - 1);
    return both > 0 && left.compare(0, both, text, 0, both) == 0;
  };
  if (!begins_as(kind)) throw unusable(path, "it is no checkpoint");
  if (!begins_as(now)) throw unusable(path, "it is of another call, or of other inputs");
}

}  // namespace

Checkpoint::Checkpoint(std::string path, const Operation& operation, const Arguments& host,
                       const Division& division, const std::string& how, std::vector<Tile>& tiles)
    : path_(std::move(path)), host_(&host), division_(&division), file_(opened(path_)) {
  const Json now = identity(operation, host);
  Line line = first_line(path_, file_.get());
  if (line.ended) {
    Json then = Json::parse(line.text, nullptr, false);
    if (then.is_discarded() || !then.is_object() || !then.contains("tiles") || !then.contains("how"))
      throw unusable(path_, "it is no checkpoint");
    same_bits_ = then["how"] == how;
    const Json named = then["tiles"];
    then.erase("tiles");
    then.erase("how");
    if (then != now) throw unusable(path_, "it is of another call, or of other inputs");
    tiles = tiles_named(path_, named, division);
  } else {
    if (!line.text.empty()) {
      demand_torn(path_, line.text, now);
      if (ftruncate(file_.get(), 0) != 0) throw failed(path_);
      lost_ = "all of it but a piece of its head";
    }
    Json about = now;
    about["how"] = how;
    about["tiles"] = tiles_json(tiles);
    line.text = about.dump();
    const std::string text = line.text + "\n" + std::string(tiles.size() * sizeof(Mark), '\0');
    write_at(path_, file_.get(), text.data(), text.size(), 0);
  }
  tiles_ = tiles;
  done_place_ = static_cast<std::int64_t>(line.text.size()) + 1;
  done_.resize(tiles_.size());
  if (!read_at(path_, file_.get(), done_.data(), done_.size() * sizeof(Mark), done_place_)) lost_ = "its end";
  std::int64_t place = done_place_ + static_cast<std::int64_t>(tiles_.size() * sizeof(Mark));
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    places_.push_back(place);
    for (const Slice& slice : division.writes(tiles_[i]))
      place += static_cast<std::int64_t>(tessera::bytes_of(slice, host.array(slice.array)));
  }
}

FileHandle::~FileHandle() {
  if (file_ >= 0) (void)close(file_);
}

void Checkpoint::restore() {
  std::size_t unkept = 0;
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    if (!has(i)) continue;
    const std::vector<Slice> slices = division_->writes(tiles_[i]);
    std::size_t count = 0;
    for (const Slice& slice : slices)
      count += static_cast<std::size_t>(tessera::bytes_of(slice, host_->array(slice.array)));
    std::vector<char> bytes(count);
    if (!read_at(path_, file_.get(), bytes.data(), bytes.size(), places_[i]) || mark_of(bytes) != done_[i]) {
      done_[i] = 0;
      ++unkept;
      continue;
    }
    const char* from = bytes.data();
    for (const Slice& slice : slices) {
      const ArrayView view = part_of(host_->array(slice.array), slice.box);
      unpack(from, view);
      from += view.bytes();
    }
  }
  if (unkept > 0)
    lost_ += (lost_.empty() ? "" : ", and ") + std::to_string(unkept) + (unkept == 1 ? " part" : " parts");
}

// The bytes first, then the mark that they are there: whatever ends the machine, the mark does not lie.
void Checkpoint::commit(std::size_t tile) {
  std::vector<char> bytes;
  for (const Slice& slice : division_->writes(tiles_[tile])) {
    const Array packed = packed_copy(part_of(host_->array(slice.array), slice.box));
    bytes.insert(bytes.end(), packed.as<char>(), packed.as<char>() + packed.view().bytes());
  }
  write_at(path_, file_.get(), bytes.data(), bytes.size(), places_[tile]);
  if (fdatasync(file_.get()) != 0) throw failed(path_);
  done_[tile] = mark_of(bytes);
  write_at(path_, file_.get(), &done_[tile], sizeof(Mark),
           done_place_ + static_cast<std::int64_t>(tile * sizeof(Mark)));
}

}  // namespace tessera
