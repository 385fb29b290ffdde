// SPDX-License-Identifier: Apache-2.0
#include "resize.hpp"
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <deque>
#include <list>
#include <mutex>
#include "axis.hpp"
#include "ops/imaging/image_operation.hpp"
#include "tessera/core/arguments.hpp"

namespace tessera::resize {
namespace {

constexpr double opencv_one = 2048, exact_one = 256, pillow_one = 4194304;  // weights of 11, 8 and 22 bits
constexpr int pillow_bits = 22;

struct Making {
  Options options;
  Element element;
  std::int64_t channels;
  Axis along, across;
  int rows, from_rows;  // that are made, and given
  Band band;
  PlanTable out;
};

bool is_multiple(int source, int result) { return source % result == 0; }

std::int32_t bits(double weight) { return std::bit_cast<std::int32_t>(static_cast<float>(weight)); }

// To the nearest, halves as the libraries have them: OpenCV's to even, of a float; Pillow's away from 0.
std::int32_t opencv_whole(double weight, double one) {
  return static_cast<std::int32_t>(std::nearbyint(static_cast<float>(weight) * static_cast<float>(one)));
}
std::int32_t pillow_whole(double weight) {
  return static_cast<std::int32_t>(weight * pillow_one + (weight < 0 ? -0.5 : 0.5));
}

// The band's rows of an axis that was made for all.
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
void put_axes(Making& m, const Stored& stored) {
  cut(m.across, m.band, m.rows, m.from_rows);
  m.out.plan.along = put(m.out.table, m.along, stored);
  m.out.plan.across = put(m.out.table, m.across, stored);
}

void make_pick(Making& m, int width, int from_width, int height, int from_height) {
  m.out.plan.recipe = Recipe::pick;
  m.along = nearest_axis(m.options, from_width, width);
  m.across = nearest_axis(m.options, from_height, height);
  put_axes(m, bits);
}

// OpenCV's linear has 11 bits and clips rows, not weights; the exact one 8 bits, and one rounding.
void make_opencv_linear(Making& m, int width, int from_width, int height, int from_height, Area area) {
  const bool exact = m.options.method == Method::linear_exact;
  m.along =
      exact ? opencv_exact_linear_axis(from_width, width) : opencv_linear_axis(from_width, width, true, area);
  m.across = exact ? opencv_exact_linear_axis(from_height, height)
                   : opencv_linear_axis(from_height, height, false, area);
  m.out.plan.recipe = exact ? Recipe::whole : Recipe::linear;
  m.out.plan.across_shift = 16;
  const double one = exact ? exact_one : opencv_one;
  put_axes(m, [one](double w) { return opencv_whole(w, one); });
}

void make_mean(Making& m, int width, int from_width, int height, int from_height) {
  const int across = from_height / height, along = from_width / width;
  m.along = even_axis(from_width, width);
  m.across = even_axis(from_height, height);
  m.out.plan.recipe = Recipe::mean;
  m.out.plan.share = 1.F / static_cast<float>(across * along);
  const bool fast = m.channels == 1 || m.channels == 3 || m.channels == 4;  // where OpenCV has vectors
  m.out.plan.halves_up = across == 2 && along == 2 && fast;
  put_axes(m, bits);
}

bool means(const Making& m, std::int64_t samples) {
  if (m.out.plan.linear_light) return false;
  constexpr std::int64_t room = std::int64_t{1} << 31;
  if (m.element == Element::u8) return samples * 256 < room;
  return (m.element == Element::u16 || m.element == Element::i16) && samples * 65536 < room;
}

void make_weighted(Making& m, int width, int from_width, int height, int from_height, Area area) {
  Plan& plan = m.out.plan;
  const bool bytes = m.element == Element::u8 && !plan.linear_light;
  const bool opencv = bytes && m.options.convention == Convention::opencv && m.options.method != Method::area;
  if (opencv) m.options.one = opencv_one;
  m.along = weighted_axis(m.options, from_width, width, area);
  m.across = weighted_axis(m.options, from_height, height, area);
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

void make_opencv(Making& m, int width, int from_width, int height, int from_height) {
  const bool plain = !m.out.plan.linear_light, shrinks = width <= from_width && height <= from_height;
  const bool whole = shrinks && is_multiple(from_width, width) && is_multiple(from_height, height);
  const bool twice = whole && from_width == 2 * width && from_height == 2 * height;
  const Method method = m.options.method;
  const std::int64_t samples = whole ? std::int64_t{from_width / width} * (from_height / height) : 0;
  if ((method == Method::area || (method == Method::linear && twice)) && whole && means(m, samples))
    return make_mean(m, width, from_width, height, from_height);
  const Area area = method == Method::area && !shrinks ? Area::enlarging : Area::overlap;
  const bool pairs = method == Method::linear || method == Method::linear_exact || area == Area::enlarging;
  if (pairs && plain && m.element == Element::u8)
    return make_opencv_linear(m, width, from_width, height, from_height, area);
  if (method == Method::linear_exact) m.options.method = Method::linear;
  make_weighted(m, width, from_width, height, from_height, area);
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
  // Sides that follow from it are told in numbers, too. (Of a band's rows nothing follows.)
  const auto follows = [&](const char* from, const char* side) {
    return scaled(arguments.dim(from), arguments.text("scale")) == arguments.dim(side);
  };
  const bool serves =
      !arguments.text("band").empty() || follows("from_width", "width") || follows("from_height", "height");
  demand_effect(arguments, "scale", serves, "sides that are not given");
}

PlanTable make(const Arguments& arguments) {
  check(arguments);
  const auto size = [&](const char* name) { return static_cast<int>(arguments.dim(name)); };
  Making m{.options = options_of(arguments),
           .element = arguments.element(),
           .channels = arguments.dim("channels"),
           .along = {},
           .across = {},
           .rows = size("height"),
           .from_rows = size("from_height"),
           .band = band_of(arguments),
           .out = {}};
  const int width = size("width"), from_width = size("from_width"), height = static_cast<int>(m.band.height),
            from_height = static_cast<int>(m.band.from_height);
  const bool picks = m.options.method == Method::nearest || m.options.method == Method::nearest_exact;
  Plan& plan = m.out.plan;
  plan.linear_light = arguments.text("light") == "linear" && !picks;
  if (plan.linear_light && m.element != Element::u8 && m.element != Element::u16)
    throw Error("--light linear is for u8 and u16, which are coded; " + std::string(name_of(m.element)) +
                " is linear as it is");
  if (width == 0 || m.rows == 0 || from_width == 0 || m.from_rows == 0) return m.out;
  const bool premultiply = is_premultiplied(arguments, m.options);
  plan.premultiply = premultiply && !picks && (width != from_width || height != from_height);
  if (picks) make_pick(m, width, from_width, height, from_height);
  else if (m.options.convention == Convention::opencv) make_opencv(m, width, from_width, height, from_height);
  else make_weighted(m, width, from_width, height, from_height, Area::overlap);
  if (plan.linear_light)
    put_light(m.element == Element::u8 ? 255 : 65535, plan.decode, plan.encode, m.out.table);
  const bool packs = m.element == Element::u8 && (m.channels == 1 || m.channels == 3 || m.channels == 4);
  if (packs) {
    plan.packing = packing_of(plan, width, m.rows, m.out.table);
    plan.tiling = tiling_of(plan, static_cast<int>(m.channels), width, m.rows, m.out.table);
  }
  constexpr std::size_t most = std::size_t{1} << 30;
  if (m.out.table.size() > most) throw Error("the table of weights would have more than 2^30 entries");
  return m.out;
}

struct Copied {
  std::string device;
  std::uint64_t id;
  Array there;
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

// A call asks several times, and the tables of a large picture take longer than a small one's samples. What a
// thread was given stays alive while it works with it.
std::shared_ptr<const PlanTable> plan_of(const Arguments& arguments) {
  constexpr std::size_t most = 4;
  thread_local std::deque<std::shared_ptr<const PlanTable>> own;
  std::string key = key_of(arguments);
  for (const auto& kept : own)
    if (kept->key == key) return kept;
  PlanTable made = make(arguments);
  static std::atomic<std::uint64_t> made_so_far{0};
  made.id = ++made_so_far;
  made.key = std::move(key);
  own.push_back(std::make_shared<const PlanTable>(std::move(made)));
  if (own.size() > most) own.pop_front();
  return own.back();
}

// A table released here may still be read by a run that waits: releasing a device's memory waits for it.
const std::int32_t* table_there(const Run& run, std::uint64_t id, const std::int32_t* table,
                                std::int64_t entries) {
  Backend& backend = backend_of(*run.device);
  if (backend.shares_host_memory() || entries == 0) return table;
  constexpr std::size_t kept = 16;
  static std::mutex mutex;
  static auto& copied = *new std::list<Copied>;  // at the end of the program a device may be gone before this
  const std::scoped_lock lock(mutex);
  const std::string device = run.device->label();
  const auto found =
      std::ranges::find_if(copied, [&](const Copied& c) { return c.id == id && c.device == device; });
  if (found != copied.end()) {
    copied.splice(copied.begin(), copied, found);
    return copied.front().there.as<const std::int32_t>();
  }
  Array there(Element::i32, {entries}, backend.memory(*run.device));
  backend.copy(run, there.view().data, table, static_cast<std::size_t>(entries) * sizeof *table);
  copied.push_front({device, id, std::move(there)});
  if (copied.size() > kept) copied.pop_back();
  return copied.front().there.as<const std::int32_t>();
}

}  // namespace tessera::resize
