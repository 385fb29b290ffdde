// SPDX-License-Identifier: Apache-2.0
#include "tessera/frontend/explain/trace_page.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include "tessera/core/text/error.hpp"
#include "tessera/report/page.hpp"
#include "tessera/report/svg.hpp"
#include "tessera/simt/tracer/tracer.hpp"

namespace tessera::frontend {

using report::Chart;
using report::DataTable;
using report::escaped;
using report::Svg;

namespace {

constexpr std::int64_t lanes = 32, banks = 32, word_bytes = 4, sector_bytes = 32, line_bytes = 128;

// Names of elements, as findings have them.
class Elements {
 public:
  explicit Elements(const LineCost& cost)
      : global_(!cost.shared()), width_(static_cast<unsigned>(cost.costliest.width)) {
    const Request& request = cost.costliest;
    const auto bytes = static_cast<std::size_t>(request.array_bytes);
    const auto element = static_cast<std::size_t>(std::max<std::int64_t>(0, request.element_bytes));
    array_.name = variable_.name = cost.array.empty() ? "memory" : cost.array;
    array_.bytes = variable_.bytes = bytes;
    array_.extents = variable_.extents = Extents(request.extents.begin(), request.extents.end());
    array_.element_bytes = element;
    variable_.element_bytes = std::max<std::size_t>(1, element);
  }
  std::string at(std::int64_t offset) const {
    if (array_.bytes == 0) return fmt::format("byte {}", offset);
    const auto address = static_cast<std::uint64_t>(offset);
    return global_ ? simt::place_in(array_, address, width_) : simt::place_in(variable_, address, 0);
  }

 private:
  bool global_;
  unsigned width_;
  simt::TracedArray array_;
  simt::SharedVariable variable_;
};

// Returns "lane 3", "lanes 0 to 7, 9".
std::string name_of_lanes(const std::vector<std::int64_t>& some) {
  std::string out;
  for (std::size_t i = 0; i < some.size();) {
    std::size_t last = i;
    while (last + 1 < some.size() && some[last + 1] == some[last] + 1) ++last;
    out += (out.empty() ? "" : ", ") + std::to_string(some[i]);
    if (last > i) out += (last == i + 1 ? ", " : " to ") + std::to_string(some[last]);
    i = last + 1;
  }
  return (some.size() == 1 ? "lane " : "lanes ") + out;
}

std::string name_of_bytes(std::int64_t first, std::int64_t count) {
  return count == 1 ? fmt::format("byte {}", first) : fmt::format("bytes {} to {}", first, first + count - 1);
}

std::string times_of(std::int64_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::vector<std::int64_t> active_lanes(const Request& request) {
  std::vector<std::int64_t> out;
  for (std::size_t lane = 0; lane < request.offsets.size(); ++lane)
    if (request.offsets[lane] >= 0) out.push_back(static_cast<std::int64_t>(lane));
  return out;
}

// Returns the byte at which a lane's access begins, from the start of the array's first 128-byte line.
std::int64_t begin_of(const Request& request, std::int64_t lane) {
  return request.start + request.offsets[static_cast<std::size_t>(lane)];
}

// The lanes that touch a sector or a word, and the bytes that they touch.
struct Touched {
  std::vector<std::int64_t> by;
  std::set<std::int64_t> bytes;
};

std::map<std::int64_t, Touched> sectors_of(const Request& request) {
  std::map<std::int64_t, Touched> out;
  for (const std::int64_t lane : active_lanes(request)) {
    const std::int64_t first = begin_of(request, lane);
    for (std::int64_t byte = first; byte < first + request.width; ++byte) {
      Touched& sector = out[byte / sector_bytes];
      sector.bytes.insert(byte);
      if (sector.by.empty() || sector.by.back() != lane) sector.by.push_back(lane);
    }
  }
  return out;
}

// 32 columns of equal width, for lanes or banks.
struct Columns {
  Columns(double across, double margin)
      : small(report::is_narrow(across)), left(small ? 2 : margin), cell((across - left - 2) / 32) {}
  double x(std::int64_t column) const { return left + cell * static_cast<double>(column); }
  double middle(std::int64_t column) const { return x(column) + cell / 2; }
  // The tooltip. Narrow screens have no hovering pointer, and the table says the same.
  std::string tip(const std::string& text) const { return small ? std::string() : text; }
  // Numbers every column, or every eighth on narrow screens.
  bool is_numbered(std::int64_t column) const { return !small || column % 8 == 0; }

  bool small;
  double left, cell;
};

void draw_numbers(Svg& svg, const Columns& columns, double y) {
  for (std::int64_t i = 0; i < lanes; ++i)
    if (columns.is_numbered(i))
      svg.text({columns.middle(i), y}, std::to_string(i), "small muted", Svg::Anchor::middle);
}

// Draws lanes above, sectors below, and a line from each lane to the sectors that it touches. Sectors of one
// line of 128 bytes are drawn close together.
Svg draw_sectors(const Chart& chart, double width, const std::string& id, const LineCost& cost) {
  const Request& request = cost.costliest;
  const Elements elements(cost);
  const auto sectors = sectors_of(request);
  const Columns columns(width, 62);
  constexpr double lane_top = 30, lane_high = 16, sector_top = 118, sector_high = 22, gap = 5;
  Svg svg(width, sector_top + sector_high + 26, id, chart.title, chart.description);
  if (!columns.small) {
    svg.text({2, lane_top + 12}, "lane", "small muted");
    svg.text({2, sector_top + 15}, "sector", "small muted");
  }
  draw_numbers(svg, columns, lane_top - 6);

  std::map<std::int64_t, double> place_of_sector;
  std::set<std::int64_t> lines;
  for (const auto& [sector, touched] : sectors) lines.insert(sector * sector_bytes / line_bytes);
  const double gaps = gap * static_cast<double>(lines.size() - 1);
  const auto boxes = static_cast<double>(std::max<std::size_t>(sectors.size(), line_bytes / sector_bytes));
  const double across = (columns.cell * lanes - gaps) / boxes;
  double x = columns.left;
  std::int64_t line = *lines.begin();
  for (const auto& [sector, touched] : sectors) {
    if (sector * sector_bytes / line_bytes != line) x += gap;
    line = sector * sector_bytes / line_bytes;
    place_of_sector[sector] = x;
    x += across;
  }
  const double per_byte = (across - 2) / static_cast<double>(sector_bytes);
  const auto x_of_byte = [&](std::int64_t byte) {
    const std::int64_t sector = byte / sector_bytes;
    return place_of_sector.at(sector) + 1 + per_byte * static_cast<double>(byte - sector * sector_bytes);
  };

  std::vector<std::pair<Svg::Point, Svg::Point>> leaders;
  for (const std::int64_t lane : active_lanes(request)) {
    const std::int64_t first = begin_of(request, lane);
    const double to = (x_of_byte(first) + x_of_byte(first + request.width - 1) + per_byte) / 2;
    leaders.push_back({{columns.middle(lane), lane_top + lane_high}, {to, sector_top}});
  }
  svg.lines(leaders, "leader");
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    const std::int64_t offset = request.offsets[static_cast<std::size_t>(lane)];
    const std::string tip = offset < 0 ? fmt::format("lane {} takes no part", lane)
                                       : fmt::format("lane {}: {}, {}", lane, elements.at(offset),
                                                     name_of_bytes(offset, request.width));
    svg.rect(columns.x(lane) + 1, lane_top, columns.cell - 2, lane_high, offset < 0 ? "bar missing" : "bar",
             columns.tip(tip), 2);
  }
  double free_from = 0;
  for (const auto& [sector, touched] : sectors) {
    const double left = place_of_sector.at(sector) + 1;
    const std::int64_t from = std::max<std::int64_t>(0, sector * sector_bytes - request.start);
    const std::string name = elements.at(from);
    svg.rect(left, sector_top, across - 2, sector_high, "untouched",
             columns.tip(fmt::format("a sector of {} bytes, from {}: {} of them are wanted, by {}",
                                     sector_bytes, name, touched.bytes.size(), name_of_lanes(touched.by))));
    for (auto byte = touched.bytes.begin(); byte != touched.bytes.end();) {
      const std::int64_t first = *byte;
      std::int64_t end = first;
      while (byte != touched.bytes.end() && *byte == end) ++byte, ++end;
      svg.rect(x_of_byte(first), sector_top, per_byte * static_cast<double>(end - first), sector_high,
               "wanted");
    }
    svg.rect(left, sector_top, across - 2, sector_high, "sector");
    const double space = 6.9 * static_cast<double>(name.size()) + 8;
    if (left < free_from || left + space > width) continue;  // no space for its name
    svg.text({left, sector_top + sector_high + 16}, name, "small muted");
    free_from = left + space;
  }
  return svg;
}

// The words that lanes access in each bank in one phase: an access of 8 or 16 bytes takes the lanes by halves
// or quarters.
struct Phase {
  std::vector<std::int64_t> of;                                   // lanes
  std::map<std::int64_t, std::map<std::int64_t, Touched>> words;  // by bank, then by number
  std::int64_t wavefronts() const {
    std::size_t most = 0;
    for (const auto& [bank, wanted] : words) most = std::max(most, wanted.size());
    return static_cast<std::int64_t>(most);
  }
};

std::vector<Phase> phases_of(const Request& request) {
  const std::int64_t count = request.width <= 4 ? 1 : request.width <= 8 ? 2 : 4;
  std::vector<Phase> out;
  for (std::int64_t p = 0; p < count; ++p) {
    Phase phase;
    for (const std::int64_t lane : active_lanes(request)) {
      if (lane / (lanes / count) != p) continue;
      phase.of.push_back(lane);
      const std::int64_t first = begin_of(request, lane);
      for (std::int64_t word = first / word_bytes; word <= (first + request.width - 1) / word_bytes; ++word)
        phase.words[word % banks][word].by.push_back(lane);
    }
    if (!phase.of.empty()) out.push_back(std::move(phase));
  }
  return out;
}

std::int64_t wavefronts_of(const Request& request) {
  std::int64_t out = 0;
  for (const Phase& phase : phases_of(request)) out += phase.wavefronts();
  return out;
}

// Draws the banks from left to right, each with its requested words. A row is a wavefront: all but the first
// row wait.
Svg draw_banks(const Chart& chart, double width, const std::string& id, const LineCost& cost) {
  const Request& request = cost.costliest;
  const Elements elements(cost);
  const auto phases = phases_of(request);
  const Columns columns(width, 92);
  constexpr double top = 30, row = 17, between = 10;
  Svg svg(width,
          top + row * static_cast<double>(wavefronts_of(request)) +
              between * static_cast<double>(phases.size()) + 4,
          id, chart.title, chart.description);
  if (!columns.small) svg.text({2, top - 6}, "bank", "small muted");
  draw_numbers(svg, columns, top - 6);
  double y = top;
  std::int64_t number = 0;
  for (const Phase& phase : phases) {
    const std::int64_t rows = phase.wavefronts();
    svg.rect(columns.left, y, columns.cell * banks, row * static_cast<double>(rows), "below");
    if (!columns.small)
      for (std::int64_t r = 0; r < rows; ++r)
        svg.text({2, y + row * static_cast<double>(r) + 12.5}, fmt::format("wavefront {}", ++number),
                 "small muted");
    for (const auto& [bank, words] : phase.words) {
      double at = y;
      for (const auto& [word, wanted] : words) {
        const bool waits = at > y;
        const std::int64_t from = std::max<std::int64_t>(0, word * word_bytes - request.start);
        svg.rect(columns.x(bank) + 1, at + 1, columns.cell - 2, row - 2, waits ? "waits" : "bar",
                 columns.tip(fmt::format("bank {}: {}, wanted by {}{}", bank, elements.at(from),
                                         name_of_lanes(wanted.by),
                                         waits ? "; it waits for a wavefront of its own" : "")),
                 2);
        if (!columns.small)
          svg.text({columns.middle(bank), at + 12.5},
                   std::to_string(wanted.by.front()) + (wanted.by.size() > 1 ? "+" : ""),
                   waits ? "small ink4" : "small", Svg::Anchor::middle);
        at += row;
      }
    }
    y += row * static_cast<double>(rows) + between;
  }
  return svg;
}

std::string list_of(const std::vector<std::int64_t>& index) {
  return fmt::format("({})", fmt::join(index, ", "));
}

DataTable lanes_table(const LineCost& cost, const std::string& caption) {
  const Request& request = cost.costliest;
  const Elements elements(cost);
  DataTable out{.caption = caption, .columns = {}, .lines = {}, .sortable = false};
  out.columns = {
      {"lane", true}, {"element", true}, {"byte of the array"}, {cost.shared() ? "bank" : "sector"}};
  for (const std::int64_t lane : active_lanes(request)) {
    const std::int64_t offset = request.offsets[static_cast<std::size_t>(lane)];
    const std::int64_t begin = begin_of(request, lane);
    const std::int64_t unit = cost.shared() ? begin / word_bytes % banks : begin / sector_bytes;
    out.lines.push_back({{report::Cell(std::to_string(lane)), report::Cell(elements.at(offset), {}, "code"),
                          report::Cell(std::to_string(offset)), report::Cell(std::to_string(unit))},
                         ""});
  }
  return out;
}

}  // namespace

Chart request_chart(const LineCost& cost, const std::string& name) {
  const Request& request = cost.costliest;
  const Elements elements(cost);
  const std::string array = cost.array.empty() ? "memory" : cost.array;
  const auto who = active_lanes(request);
  Chart out;
  out.name = name;
  const std::string units = times_of(request.cost, cost.shared() ? "wavefront" : "sector");
  out.title = fmt::format("{} of {}: {} in one request", cost.act, array, units);
  const auto element = [&](std::int64_t lane) {
    return elements.at(request.offsets[static_cast<std::size_t>(lane)]);
  };
  const std::string first = element(who.front()), last = element(who.back());
  std::string subject = who.size() == lanes ? "all lanes" : name_of_lanes(who);
  subject.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(subject.front())));
  out.description = fmt::format("The costliest of {}: launch {}, block {}, warp {}. {} {}{} {} each, {}.",
                                times_of(cost.requests, "request"), request.launch, list_of(request.block),
                                request.warp, subject, cost.act == "atomic" ? "update" : cost.act,
                                who.size() == 1 ? "s" : "", times_of(request.width, "byte"),
                                first == last ? "at " + first : "from " + first + " to " + last);
  if (!cost.shared()) {
    std::size_t wanted = 0;
    for (const auto& [sector, touched] : sectors_of(request)) wanted += touched.bytes.size();
    out.note = fmt::format(
        "A sector has 32 bytes and moves whole; 4 make a line of a cache. Filled: the {} that are wanted, "
        "which would fit into {}.",
        times_of(static_cast<std::int64_t>(wanted), "byte"),
        times_of((static_cast<std::int64_t>(wanted) + sector_bytes - 1) / sector_bytes, "sector"));
  } else {
    out.note =
        "Each bank gives a word of 4 bytes in a wavefront, to all lanes that want it. A number is a lane, + "
        "stands for others "
        "that want the same word. Below the first row: words that wait.";
    if (request.width > word_bytes)
      out.note += " Accesses of more than 4 bytes take the lanes by halves or quarters.";
  }
  out.draw = [cost](const Chart& chart, double width, const std::string& id) {
    return cost.shared() ? draw_banks(chart, width, id, cost) : draw_sectors(chart, width, id, cost);
  };
  out.table = lanes_table(cost, out.title);
  return out;
}

namespace {

// The costs and remarks of one source line.
struct SourceRow {
  std::vector<LineCost> costs;
  std::vector<std::pair<std::string, std::string>> remarks;  // class, text
};
using SourceRows = std::map<int, SourceRow>;

struct Listing {
  std::string file, id;
  SourceRows rows;
};

// Returns the lines of a file; none if it cannot be read.
std::vector<std::string> lines_of_file(const std::string& file) {
  std::ifstream in(file);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    out.push_back(std::move(line));
  }
  return out;
}

class Listings {
 public:
  explicit Listings(const std::vector<std::string>& files) {
    for (const std::string& file : files) of(file);
  }
  // Returns a file's listing by any of its names: as it was given, or as the compiler noted it.
  Listing& of(const std::string& file) {
    std::error_code ignored;
    std::string path = std::filesystem::weakly_canonical(file, ignored).string();
    if (path.empty()) path = file;
    const auto [known, added] = by_path_.try_emplace(path, all_.size());
    if (added) all_.push_back({file, fmt::format("file-{}", all_.size() + 1), {}});
    return all_[known->second];
  }
  SourceRow& at(const std::string& file, int line) { return of(file).rows[line]; }
  const std::vector<Listing>& all() const { return all_; }

 private:
  std::map<std::string, std::size_t> by_path_;
  std::vector<Listing> all_;
};

std::string link_to(Listings& listings, const std::string& file, int line) {
  if (line == 0) return {};
  return fmt::format("<a href=\"#{}-line-{}\">{}</a>", listings.of(file).id, line,
                     escaped(place_of(file, line)));
}

std::string remarks_html(const std::vector<Remark>& remarks, Listings& listings) {
  if (remarks.empty()) return "<p>Nothing was found.</p>\n";
  std::string out = "<ol class=\"advice\">\n";
  for (const Remark& r : remarks) {
    out += fmt::format("<li class=\"{}\"><h3>{}</h3><p>{}</p><p class=\"evidence\">{}", r.kind,
                       escaped(r.head()), escaped(r.text), link_to(listings, r.file, r.line));
    if (r.other_line != 0 && (r.other_line != r.line || r.other_file != r.file))
      out += ", " + link_to(listings, r.other_file, r.other_line);
    if (!r.also.empty()) out += ", also " + escaped(r.also);
    if (!r.remedy.empty()) out += (r.line == 0 ? "Remedy: " : ". Remedy: ") + escaped(r.remedy) + ".";
    out += "</p></li>\n";
  }
  return out + "</ol>\n";
}

std::string section_of_page(const std::string& id, const std::string& title, const std::string& body) {
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}</section>\n",
      id, escaped(title), body);
}

// The margin's numbers, with the text that a screen reader adds.
struct Margin {
  explicit Margin(const std::vector<LineCost>& costs) {
    for (const LineCost& cost : costs) {
      requests += cost.requests;
      bytes += cost.bytes;
      if (cost.global()) {
        global_requests += cost.requests;
        sectors += cost.sectors;
      } else if (cost.shared()) {
        shared_requests += cost.requests;
        conflicts += cost.conflicts();
      }
    }
  }
  std::string html() const {
    const auto cell = [](const char* classes, const std::string& number, const char* unit) {
      return number.empty() ? fmt::format("<span class=\"{}\"></span>", classes)
                            : fmt::format("<span class=\"{}\">{}<span class=\"unseen\"> {}, </span></span>",
                                          classes, number, unit);
    };
    return cell("less", std::to_string(requests), "requests") +
           cell("",
                global_requests == 0
                    ? ""
                    : report::number(static_cast<double>(sectors) / static_cast<double>(global_requests)),
                "sectors a request") +
           cell("", shared_requests == 0 ? "" : std::to_string(conflicts), "bank conflicts") +
           cell("less", report::bytes(bytes), "asked for");
  }
  std::int64_t requests = 0, bytes = 0, global_requests = 0, sectors = 0, shared_requests = 0, conflicts = 0;
};

constexpr const char* margin_heads =
    "<div class=\"row heads\" aria-hidden=\"true\"><b>line</b><span class=\"less\">requests</span>"
    "<span>sectors / request</span><span>bank conflicts</span><span class=\"less\">bytes asked for</span>"
    "<span class=\"text\">source</span></div>\n";

// Returns the counters of one line: line and source stand above them.
DataTable counters_of_line(const std::vector<LineCost>& costs, const std::string& caption) {
  DataTable out = report::data_table(lines_table(costs), caption);
  out.columns.erase(out.columns.begin());
  out.columns.pop_back();
  for (DataTable::Line& line : out.lines) {
    line.cells.erase(line.cells.begin());
    line.cells.pop_back();
  }
  return out;
}

std::string row_html(const Listing& listing, int line, const std::string& text, const SourceRow* row,
                     int& charts) {
  const std::string id = fmt::format("{}-line-{}", listing.id, line);
  const std::string code = "<code>" + escaped(text) + "</code>";
  if (row == nullptr) return fmt::format("<div class=\"row\" id=\"{}\"><b>{}</b>{}</div>\n", id, line, code);
  std::string said, classes = "row";
  for (const auto& [kind, words] : row->remarks) {
    said += fmt::format("<small class=\"{}\">{}</small>", kind, escaped(words));
    if (classes.find(" " + kind) == classes.npos) classes += " " + kind;
  }
  if (row->costs.empty())
    return fmt::format("<div class=\"{}\" id=\"{}\"><b>{}</b>{}{}</div>\n", classes, id, line, code, said);
  std::string out = fmt::format(
      "<details id=\"{}\"><summary class=\"{}\"><b>{}</b>{}{}{}</summary>\n<div class=\"requests\">\n", id,
      classes, line, Margin(row->costs).html(), code, said);
  out += counters_of_line(row->costs, fmt::format("Accesses of line {}", line)).html();
  for (const LineCost& cost : row->costs)
    if (cost.costliest.cost != 0) out += request_chart(cost, fmt::format("request-{}", ++charts)).html();
  return out + "</div></details>\n";
}

std::string listing_html(const Listing& listing, int& charts) {
  const auto text = lines_of_file(listing.file);
  std::string out = "<div class=\"listing\">\n" + std::string(margin_heads);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int line = static_cast<int>(i + 1);
    const auto found = listing.rows.find(line);
    out += row_html(listing, line, text[i], found == listing.rows.end() ? nullptr : &found->second, charts);
  }
  return out + "</div>\n";
}

}  // namespace

std::string trace_page(const Record& record, const std::vector<std::string>& files) {
  const auto launches = groups_of(record);
  std::vector<Remark> remarks = remarks_of(record.findings);
  std::ranges::copy(remarks_of(advice_of(launches)), std::back_inserter(remarks));
  Listings listings(files);
  for (const LineCost& cost : costs_of(launches))
    if (cost.line != 0) listings.at(cost.file, cost.line).costs.push_back(cost);
  for (const Remark& r : remarks) {
    if (r.line != 0) listings.at(r.file, r.line).remarks.emplace_back(r.kind, r.head() + ": " + r.text);
    if (r.other_line != 0 && (r.other_line != r.line || r.other_file != r.file))
      listings.at(r.other_file, r.other_line)
          .remarks.emplace_back(r.kind, fmt::format("{}, with {}", r.head(), place_of(r.file, r.line)));
  }

  std::string names, sources, links;
  for (const std::string& file : files)
    names += (names.empty() ? "" : ", ") + std::filesystem::path(file).filename().string();
  int charts = 0;
  const std::string what_it_shows =
      "<p>Numbers beside a line are sums over the launches of the table above, where one launch stands for "
      "all that "
      "differ in nothing. Open a line that has some, by a click or Enter: its counters by array, and which "
      "lanes of a warp touch which sectors or banks in its costliest request.</p>\n";
  for (const Listing& listing : listings.all()) {
    if (!std::filesystem::exists(listing.file)) continue;
    const std::string title = std::filesystem::path(listing.file).filename().string();
    sources += section_of_page(listing.id, title,
                               (sources.empty() ? what_it_shows : "") + listing_html(listing, charts));
    links += fmt::format("<a href=\"#{}\">{}</a>\n", listing.id, escaped(title));
  }
  std::string notes;
  for (const std::string& note : record.notes) notes += "<li>" + escaped(note) + "</li>\n";

  std::int64_t launch_count = 0;
  for (const LaunchGroup& group : launches) launch_count += group.times;
  report::PageParts page;
  page.title = names + " – Tessera trace";
  const auto of_kind = [&remarks](const char* kind) {
    return std::ranges::count(remarks, kind, &Remark::kind);
  };
  page.header = fmt::format(
      "<header>\n<p class=\"eyebrow\">Tessera trace</p>\n<h1>{}</h1>\n<p class=\"lede\">{}, {}, {} that can "
      "be avoided; {}.</p>\n"
      "<nav aria-label=\"On this page\">\n<a href=\"#remarks\">What was found</a>\n<a "
      "href=\"#launches\">Launches</a>\n{}</nav>\n</header>\n",
      escaped(names), times_of(of_kind("error"), "error"), times_of(of_kind("warning"), "warning"),
      times_of(of_kind("cost"), "cost"),
      launch_count == 1 ? "1 launch" : fmt::format("{} launches", launch_count), links);
  page.main =
      section_of_page("remarks", "What was found", remarks_html(remarks, listings)) +
      section_of_page("launches", "Launches",
                      launches.empty()
                          ? "<p>The program launched no kernel.</p>\n"
                          : report::data_table(launches_table(launches), "Launches of the program").html()) +
      sources + (notes.empty() ? "" : section_of_page("notes", "Notes", "<ul>\n" + notes + "</ul>\n"));
  page.footer = "Written by tessera trace. This file needs no network; n/a marks what does not apply.";
  return whole_page(page);
}

std::string costliest_svg(const std::vector<LineCost>& costs) {
  const auto price = [](const LineCost& cost) { return std::pair(cost.costliest.cost, cost.requests); };
  const auto worst = std::ranges::max_element(costs, {}, price);
  if (worst == costs.end() || worst->costliest.cost == 0) throw Error("--svg: no request was traced");
  return request_chart(*worst, "request").drawn(report::wide, "request").standalone();
}

}  // namespace tessera::frontend
