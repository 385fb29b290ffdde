// SPDX-License-Identifier: Apache-2.0
// A call's plan and its table: the weights of both axes, also laid out for packed sums and matrix products.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <list>
#include <mutex>
#include "axis.hpp"
#include "ops/imaging/image_operation.hpp"
#include "resize.hpp"
#include "tessera/run/guard.hpp"

namespace tessera::resizing {
namespace {

constexpr std::int64_t max_sum = std::numeric_limits<std::int32_t>::max(), max_byte = 255;

struct Line {
  const std::vector<std::int32_t>& table;
  AxisAt at;
  int results;
  bool even;  // equal weights

  int start(int i) const { return table[static_cast<std::size_t>(at.start + i)]; }
  int count(int i) const { return table[static_cast<std::size_t>(at.count + i)]; }
  int last(int i) const { return start(i) + count(i) - 1; }
  std::int32_t weight(int i, int k) const {
    return even ? 1
                : table[static_cast<std::size_t>(at.weight) + std::size_t(i) * std::size_t(at.most) +
                        std::size_t(k)];
  }
  // The weight of a sample of the source; 0 for those that result i does not depend on.
  std::int32_t weight_of(int i, int sample) const {
    return sample < start(i) || sample > last(i) ? 0 : weight(i, sample - start(i));
  }
};

// Bounds on the sums of a line: the largest sum of a result's positive weights, and of its negative weights.
struct Extremes {
  std::int64_t above = 0, below = 0;  // below: its absolute value
  std::int64_t least = 0, most = 0;   // range of a single weight
  int taps = 0, words = 0;  // words that a sum's samples touch, where words begin at multiples of four
  bool ordered = true;      // true: starts and ends never decrease
};

Extremes extremes_of(const Line& line) {
  Extremes out;
  for (int i = 0; i < line.results; ++i) {
    std::int64_t above = 0, below = 0;
    for (int k = 0; k < line.count(i); ++k) {
      const std::int64_t w = line.weight(i, k);
      (w > 0 ? above : below) += w > 0 ? w : -w;
      out.least = std::min(out.least, w), out.most = std::max(out.most, w);
    }
    out.above = std::max(out.above, above), out.below = std::max(out.below, below);
    out.taps = std::max(out.taps, line.count(i));
    out.words = std::max(out.words, line.last(i) / 4 - line.start(i) / 4 + 1);
    out.ordered &= i == 0 || (line.start(i) >= line.start(i - 1) && line.last(i) >= line.last(i - 1));
  }
  return out;
}

// True if every weight fits in `digits` signed bytes.
bool are_digits(const Extremes& e, int digits) {
  const std::int64_t ones = digits == 3 ? 0x010101 : 0x0101;
  return e.least >= -128 * ones && e.most <= 127 * ones;
}

// Intermediate sums of digits may wrap around 32 bits; the final sums must fit.
bool sums_fit(const ResizePlan& plan, Packed kind, const Extremes& along, const Extremes& across) {
  const auto half = [](int shift) { return shift == 0 ? 0 : std::int64_t{1} << (shift - 1); };
  if (kind == Packed::bytes) {
    const auto fits = [&](const Extremes& e) {
      return are_digits(e, 3) && max_byte * std::max(e.above, e.below) + half(22) <= max_sum;
    };
    return plan.along_shift == 22 && plan.across_shift == 22 && fits(along) && fits(across);
  }
  const std::int64_t max_along = max_byte * std::max(along.above, along.below);
  if (kind == Packed::linear)
    return along.least >= 0 && across.least >= 0 && max_along / 16 * across.most <= max_sum;
  const std::int64_t highest = along.above * across.above + along.below * across.below,
                     lowest = along.above * across.below + along.below * across.above;
  return are_digits(along, 2) && max_along <= max_sum &&
         max_byte * std::max(highest, lowest) + half(plan.across_shift) <= max_sum;
}

Packed kind_of(const ResizePlan& plan) {
  if (plan.premultiply || plan.linear_light) return Packed::none;
  switch (plan.recipe) {
    case Recipe::linear:
      return Packed::linear;
    case Recipe::whole:
      return plan.along_shift == 0 ? Packed::whole : Packed::bytes;
    case Recipe::mean:
      return Packed::whole;
    case Recipe::real:
      return Packed::real;
    default:
      return Packed::none;
  }
}

bool serves(const PackedForm& form, const Extremes& along, const Extremes& across) {
  if (form.kind == Packed::linear) return along.taps <= 2 && across.taps <= 2;
  return form.turned ? std::max(along.taps, across.taps) <= 4 * form.words
                     : std::max(along.words, across.words) <= form.words;
}

// Stores a weight as three signed bytes, the highest first: byte b of words that are `apart`.
void put_digits(std::int32_t weight, int b, std::size_t apart, std::int32_t* to) {
  constexpr std::uint32_t middle = 0x808080;
  const std::uint32_t digits = (static_cast<std::uint32_t>(weight) + middle) ^ middle;
  for (std::size_t d = 0; d < 3; ++d) {
    std::int32_t& word = to[d * apart];
    word = static_cast<std::int32_t>(static_cast<std::uint32_t>(word) | (digits >> (16 - 8 * d) & 0xffu)
                                                                            << 8 * b);
  }
}

// Turned words end with the last row; other words begin at multiples of four rows.
void put_bytes(const Line& line, const Packing& packing, int y, std::int32_t* to) {
  const int last = line.last(y), end = packing.turned ? last + 1 : last / 4 * 4 + 4;
  for (int k = 0; k < line.count(y); ++k) {
    const int at = line.start(y) + k - end + 4 * packing.words;
    put_digits(line.weight(y, k), at % 4, 1, to + at / 4 * 3);
  }
}

void put_row(const Line& line, const Packing& packing, int y, std::int32_t* to) {
  const int taps = line.count(y);
  to[packing.entry - 1] = y + 1 < line.results ? line.last(y + 1) : std::numeric_limits<std::int32_t>::max();
  if (packing.kind == Packed::bytes) return put_bytes(line, packing, y, to);
  if (packing.kind == Packed::linear) {  // both weights, even if they belong to one row
    to[0] = line.weight(y, 0), to[1] = line.weight(y, 1), to[2] = taps == 1;
    return;
  }
  for (int k = 0; k < taps; ++k) to[4 * packing.words - taps + k] = line.weight(y, k);
}

}  // namespace

Packing packing_of(const ResizePlan& plan, int width, int height, std::vector<std::int32_t>& table) {
  const bool even = plan.recipe == Recipe::mean;
  const Line lines{table, plan.along, width, even}, rows{table, plan.across, height, even};
  const Packed kind = kind_of(plan);
  if (kind == Packed::none) return {};
  const Extremes along = extremes_of(lines), across = extremes_of(rows);
  if (!along.ordered || !across.ordered) return {};
  if (kind != Packed::real && !sums_fit(plan, kind, along, across)) return {};
  const auto* const form = std::ranges::find_if(
      packed_forms, [&](const PackedForm& f) { return f.kind == kind && serves(f, along, across); });
  if (form == std::end(packed_forms)) return {};
  Packing out{kind, form->words, form->turned, 0, 0};
  const int used = kind == Packed::bytes ? 3 * form->words : kind == Packed::linear ? 3 : 4 * form->words;
  out.entry = (used + 4) / 4 * 4;
  const std::size_t begin = (table.size() + 3) / 4 * 4;
  out.rows = static_cast<std::int32_t>(begin);
  table.resize(begin + static_cast<std::size_t>(height) * static_cast<std::size_t>(out.entry));
  for (int y = 0; y < height; ++y)
    put_row(rows, out, y,
            table.data() + begin + static_cast<std::size_t>(y) * static_cast<std::size_t>(out.entry));
  return out;
}

namespace {

constexpr int max_height = 1 << 17;  // a larger picture would make the table large

// Returns the number of 16-byte pieces, from a multiple of four bytes on, that hold the source bytes of
// sixteen samples.
int pieces_of(const Line& along, int channels) {
  int most = 0;
  for (int first = 0; first < along.results * channels; first += Tiling::samples) {
    const int end = std::min(first + Tiling::samples, along.results * channels) - 1;
    const int begin = along.start(first / channels) * channels & ~3;
    most = std::max(most, (along.last(end / channels) + 1) * channels - begin);
  }
  return (most + Tiling::piece - 1) / Tiling::piece;
}

// Stores the weights of one tile's rows, from `row` on.
void put_entry(const Line& across, int row, int last, std::int32_t* to) {
  for (int group = 0; group < Tiling::groups; ++group)
    for (int lane = 0; lane < Tiling::lanes; ++lane)
      for (int b = 0; b < 4; ++b) {
        const int y = row + lane / 4,
                  from = (last - Tiling::groups + 1 + group) * Tiling::piece + Tiling::row_of(lane, b);
        if (y >= across.results) continue;
        put_digits(across.weight_of(y, from), b, Tiling::groups * Tiling::lanes,
                   to + group * Tiling::lanes + lane);
      }
}

}  // namespace

Tiling tiling_of(const ResizePlan& plan, int channels, int width, int height,
                 std::vector<std::int32_t>& table) {
  // Sums of at most eight samples are faster with four samples packed in a word.
  constexpr int max_words = 2;
  if (plan.packing.kind != Packed::bytes || plan.packing.words <= max_words || height > max_height) return {};
  const Line along{table, plan.along, width, false}, across{table, plan.across, height, false};
  const int pieces = pieces_of(along, channels);
  const auto* const form = std::ranges::find_if(tiling_forms, [&](int f) { return f >= pieces; });
  if (form == std::end(tiling_forms)) return {};
  for (int row = 0; row < height; row += Tiling::rows)
    if (across.last(std::min(row + Tiling::rows, height) - 1) / Tiling::piece -
            across.start(row) / Tiling::piece >=
        Tiling::groups)
      return {};
  Tiling out;
  out.pieces = *form;
  const int tiles = (height + Tiling::rows - 1) / Tiling::rows;
  out.last = static_cast<std::int32_t>(table.size());
  out.weights = out.last + tiles;
  table.resize(table.size() + static_cast<std::size_t>(tiles) * (1 + Tiling::entry));
  for (int tile = 0; tile < tiles; ++tile) {
    const int row = tile * Tiling::rows, end = std::min(row + Tiling::rows, height),
              last = across.last(end - 1) / Tiling::piece;
    table[static_cast<std::size_t>(out.last + tile)] = last;
    put_entry(across, row, last, table.data() + out.weights + static_cast<std::size_t>(tile) * Tiling::entry);
  }
  return out;
}

namespace {

constexpr double opencv_one = 2048, exact_one = 256, pillow_one = 4194304;  // weights of 11, 8 and 22 bits
constexpr int pillow_bits = 22;

struct Side {
  int from, to;  // the picture's, its result's
};

struct PlanBuilder {
  Options options;
  Element element;
  std::int64_t channels;
  Side width, height;   // the whole pictures'
  int rows, from_rows;  // rows computed, rows given
  Band band;
  Axis along = {}, across = {};
  PlanTable out = {};
};

bool is_multiple(int source, int result) { return source % result == 0; }

std::int32_t bits(double weight) { return std::bit_cast<std::int32_t>(static_cast<float>(weight)); }

// Round to nearest with each library's ties: OpenCV's to even, in float; Pillow's away from 0.
std::int32_t opencv_whole(double weight, double one) {
  return static_cast<std::int32_t>(std::nearbyint(static_cast<float>(weight) * static_cast<float>(one)));
}
std::int32_t pillow_whole(double weight) {
  return static_cast<std::int32_t>(weight * pillow_one + (weight < 0 ? -0.5 : 0.5));
}

// Reduces an axis of all rows to the band's rows.
void cut(Axis& axis, const Band& band, int rows, int from_rows) {
  const auto keep = [&](auto& list, std::int64_t each) {
    if (list.empty()) return;
    list.erase(list.begin(), list.begin() + band.first * each);
    list.resize(static_cast<std::size_t>(rows * each));
  };
  keep(axis.start, 1);
  keep(axis.count, 1);
  keep(axis.weight, axis.most);
  axis.result = rows;
  axis.source = from_rows;
  for (std::size_t i = 0; i < axis.start.size(); ++i) {
    axis.start[i] -= static_cast<std::int32_t>(band.from_first);
    if (axis.start[i] < 0 || axis.start[i] + axis.count[i] > from_rows)
      throw Error("--band: the result needs rows of the picture that are not given");
  }
}

template <class Stored>
AxisAt put(std::vector<std::int32_t>& table, const Axis& axis, const Stored& stored) {
  AxisAt out;
  out.most = axis.most;
  const auto place = [&table] { return static_cast<std::int32_t>(table.size()); };
  out.start = place();
  table.insert(table.end(), axis.start.begin(), axis.start.end());
  out.count = place();
  table.insert(table.end(), axis.count.begin(), axis.count.end());
  out.weight = place();
  for (const double w : axis.weight) table.push_back(stored(w));
  return out;
}

template <class Stored>
void put_axes(PlanBuilder& m, const Stored& stored) {
  cut(m.across, m.band, m.rows, m.from_rows);
  m.out.plan.along = put(m.out.table, m.along, stored);
  m.out.plan.across = put(m.out.table, m.across, stored);
}

void make_pick(PlanBuilder& m) {
  m.out.plan.recipe = Recipe::pick;
  m.along = nearest_axis(m.options, m.width.from, m.width.to);
  m.across = nearest_axis(m.options, m.height.from, m.height.to);
  put_axes(m, bits);
}

// OpenCV's linear method has weights of 11 bits and clamps rows, not weights; the exact method has 8 bits and
// one rounding.
void make_opencv_linear(PlanBuilder& m, Area area) {
  const bool exact = m.options.method == Method::linear_exact;
  m.along = exact ? opencv_exact_linear_axis(m.width.from, m.width.to)
                  : opencv_linear_axis(m.width.from, m.width.to, true, area);
  m.across = exact ? opencv_exact_linear_axis(m.height.from, m.height.to)
                   : opencv_linear_axis(m.height.from, m.height.to, false, area);
  m.out.plan.recipe = exact ? Recipe::whole : Recipe::linear;
  m.out.plan.across_shift = 16;
  const double one = exact ? exact_one : opencv_one;
  put_axes(m, [one](double w) { return opencv_whole(w, one); });
}

void make_mean(PlanBuilder& m) {
  const int across = m.height.from / m.height.to, along = m.width.from / m.width.to;
  m.along = even_axis(m.width.from, m.width.to);
  m.across = even_axis(m.height.from, m.height.to);
  m.out.plan.recipe = Recipe::mean;
  m.out.plan.share = 1.F / static_cast<float>(across * along);
  const bool fast = m.channels == 1 || m.channels == 3 || m.channels == 4;  // channels that OpenCV vectorizes
  m.out.plan.halves_up = across == 2 && along == 2 && fast;
  put_axes(m, bits);
}

bool means(const PlanBuilder& m, std::int64_t samples) {
  if (m.out.plan.linear_light) return false;
  constexpr std::int64_t room = std::int64_t{1} << 31;
  if (m.element == Element::u8) return samples * 256 < room;
  return (m.element == Element::u16 || m.element == Element::i16) && samples * 65536 < room;
}

void make_weighted(PlanBuilder& m, Area area) {
  ResizePlan& plan = m.out.plan;
  const bool bytes = m.element == Element::u8 && !plan.linear_light;
  const bool opencv = bytes && m.options.convention == Convention::opencv && m.options.method != Method::area;
  if (opencv) m.options.one = opencv_one;
  m.along = weighted_axis(m.options, m.width.from, m.width.to, area);
  m.across = weighted_axis(m.options, m.height.from, m.height.to, area);
  plan.recipe = Recipe::real;
  if (bytes && m.options.convention == Convention::pillow) {
    plan.recipe = Recipe::whole;
    plan.along_shift = plan.across_shift = pillow_bits;
    return put_axes(m, pillow_whole);
  }
  if (opencv) {
    plan.recipe = Recipe::whole;
    plan.across_shift = pillow_bits;
    return put_axes(m, [](double w) { return opencv_whole(w, opencv_one); });
  }
  put_axes(m, bits);
}

void make_opencv(PlanBuilder& m) {
  const auto [from_width, width] = m.width;
  const auto [from_height, height] = m.height;
  const bool plain = !m.out.plan.linear_light, shrinks = width <= from_width && height <= from_height;
  const bool whole = shrinks && is_multiple(from_width, width) && is_multiple(from_height, height);
  const bool twice = whole && from_width == 2 * width && from_height == 2 * height;
  const Method method = m.options.method;
  const std::int64_t samples = whole ? std::int64_t{from_width / width} * (from_height / height) : 0;
  if ((method == Method::area || (method == Method::linear && twice)) && whole && means(m, samples))
    return make_mean(m);
  const Area area = method == Method::area && !shrinks ? Area::enlarging : Area::overlap;
  const bool pairs = method == Method::linear || method == Method::linear_exact || area == Area::enlarging;
  if (pairs && plain && m.element == Element::u8) return make_opencv_linear(m, area);
  if (method == Method::linear_exact) m.options.method = Method::linear;
  make_weighted(m, area);
}

bool is_premultiplied(const Arguments& arguments, const Options& options) {
  const std::string& word = arguments.text("premultiply");
  const bool alpha = arguments.dim("channels") == 2 || arguments.dim("channels") == 4;
  if (word == "yes" && options.convention != Convention::pillow)
    throw Error("--premultiply yes is for --convention pillow");
  if (word == "yes" && arguments.dim("channels") < 2)
    throw Error("--premultiply yes needs an alpha behind the colours");
  return word == "yes" || (word == "auto" && options.convention == Convention::pillow && alpha);
}

void check(const Arguments& arguments) {
  for (const char* name : {"from_width", "from_height", "width", "height"})
    if (arguments.dim(name) > longest_side) throw Error(std::string(name) + " is more than 2^24");
  if (arguments.dim("channels") * std::max(arguments.dim("from_width"), arguments.dim("width")) >
      longest_side * 64)
    throw Error("rows have more than 2^30 samples");
  if (arguments.array("resized").count() != 0 &&
      (arguments.dim("from_width") == 0 || arguments.dim("from_height") == 0))
    throw Error("an empty picture cannot be enlarged");
  // Sides that follow from --scale may also be given as numbers. (The rows of a band do not follow from it.)
  const auto follows = [&](const char* from, const char* side) {
    return scaled(arguments.dim(from), arguments.text("scale")) == arguments.dim(side);
  };
  const bool serves =
      !arguments.text("band").empty() || follows("from_width", "width") || follows("from_height", "height");
  require_option_used(arguments, "scale", serves, "sides that are not given");
}

PlanTable make(const Arguments& arguments) {
  check(arguments);
  const auto size = [&](const char* name) { return static_cast<int>(arguments.dim(name)); };
  const Band band = band_of(arguments);
  PlanBuilder m{.options = options_of(arguments),
                .element = arguments.element(),
                .channels = arguments.dim("channels"),
                .width = {size("from_width"), size("width")},
                .height = {static_cast<int>(band.from_height), static_cast<int>(band.height)},
                .rows = size("height"),
                .from_rows = size("from_height"),
                .band = band};
  const bool picks = m.options.picks();
  ResizePlan& plan = m.out.plan;
  plan.linear_light = arguments.text("light") == "linear" && !picks;
  if (plan.linear_light && m.element != Element::u8 && m.element != Element::u16)
    throw Error("--light linear is for u8 and u16, which are coded; " + std::string(name_of(m.element)) +
                " is linear as it is");
  if (m.width.to == 0 || m.rows == 0 || m.width.from == 0 || m.from_rows == 0) return m.out;
  const bool same_size = m.width.to == m.width.from && m.height.to == m.height.from;
  plan.premultiply = is_premultiplied(arguments, m.options) && !picks && !same_size;
  if (picks) make_pick(m);
  else if (m.options.convention == Convention::opencv) make_opencv(m);
  else make_weighted(m, Area::overlap);
  if (plan.linear_light)
    put_light(m.element == Element::u8 ? 255 : 65535, plan.decode, plan.encode, m.out.table);
  const bool packs = m.element == Element::u8 && (m.channels == 1 || m.channels == 3 || m.channels == 4);
  if (packs) {
    plan.packing = packing_of(plan, m.width.to, m.rows, m.out.table);
    plan.tiling = tiling_of(plan, static_cast<int>(m.channels), m.width.to, m.rows, m.out.table);
  }
  constexpr std::size_t most = std::size_t{1} << 30;
  if (m.out.table.size() > most) throw Error("the table of weights would have more than 2^30 entries");
  return m.out;
}

struct DeviceCopy {
  std::string device;
  std::uint64_t id;
  Array device_array;
};

}  // namespace

double light_of(double code) {
  return code <= 0.04045 ? code / 12.92 : std::pow((code + 0.055) / 1.055, 2.4);
}

void put_light(int most, std::int32_t& decode, std::int32_t& encode, std::vector<std::int32_t>& table) {
  const auto put = [&](double code) {
    table.push_back(std::bit_cast<std::int32_t>(static_cast<float>(light_of(code / most))));
  };
  decode = static_cast<std::int32_t>(table.size());
  for (int code = 0; code <= most; ++code) put(code);
  encode = static_cast<std::int32_t>(table.size());
  for (int code = 1; code <= most; ++code) put(code - 0.5);
}

const PlanTable& plan_of(const Arguments& arguments) {
  return arguments.derived<PlanTable>([&] {
    PlanTable made = make(arguments);
    made.id = fingerprint(made.table.data(), made.table.size() * sizeof made.table[0]);
    return made;
  });
}

// A queued run may still read a table that is released here, but releasing device memory waits for it.
const std::int32_t* device_table(const Run& run, std::uint64_t id, const std::int32_t* table,
                                 std::int64_t entries) {
  Backend& backend = backend_of(*run.device);
  if (backend.shares_host_memory() || entries == 0) return table;
  constexpr std::size_t kept = 16;
  static std::mutex mutex;
  static auto& copied = *new std::list<DeviceCopy>;  // never destroyed: at exit a device may be gone already
  const std::scoped_lock lock(mutex);
  const std::string device = run.device->label();
  const auto found =
      std::ranges::find_if(copied, [&](const DeviceCopy& c) { return c.id == id && c.device == device; });
  if (found != copied.end()) {
    copied.splice(copied.begin(), copied, found);
    return copied.front().device_array.as<const std::int32_t>();
  }
  Array device_array(Element::i32, {entries}, backend.memory(*run.device));
  backend.copy(run, device_array.view().data, table, static_cast<std::size_t>(entries) * sizeof *table);
  copied.push_front({device, id, std::move(device_array)});
  if (copied.size() > kept) copied.pop_back();
  return copied.front().device_array.as<const std::int32_t>();
}

}  // namespace tessera::resizing
