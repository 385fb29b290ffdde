// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/svg.hpp"
#include <fmt/format.h>
#include <cctype>
#include <cmath>
#include "tessera/core/text/error.hpp"
#include "tessera/report/style.hpp"
#include "tessera/report/table.hpp"

namespace tessera::report {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

// Returns the length in bytes of the UTF-8 character that starts at text[0], or 0 if it is invalid.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 && first < 0xF5   ? 4
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xC2 && first < 0xE0 ? 2
                                                             : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const unsigned char second = byte(1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool outside = (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
  const bool no_character = first == 0xEF && second == 0xBF && byte(2) >= 0xBE;
  return overlong || outside || no_character ? 0 : length;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = character(text);
    const char c = text[0];
    if (length == 0 ||
        (length == 1 && ((static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n') || c == 0x7F)))
      out += replacement;
    else if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '"') out += "&quot;";
    else if (c == '\'') out += "&#39;";
    else out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string slug(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != '-') out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "x" : out;
}

namespace {

// A tenth of a pixel is finer than any screen shows.
std::string coordinate(double value) {
  if (!std::isfinite(value))
    throw Error(Error::Kind::internal, "a chart has a coordinate that is not finite");
  std::string out = fmt::format("{:.1f}", value);
  if (out.ends_with(".0")) out.resize(out.size() - 2);
  return out == "-0" ? "0" : out;
}

std::string attribute(const char* name, double value) {
  return fmt::format(" {}=\"{}\"", name, coordinate(value));
}

}  // namespace

Svg::Svg(double width, double height, std::string id, const std::string& title,
         const std::string& description)
    : width_(width),
      height_(height),
      id_(slug(id)),
      title_(escaped(title)),
      description_(escaped(description)) {}

void Svg::shape(const std::string& element, const std::string& classes, const std::string& tip) {
  const std::string name = element.substr(1, element.find(' ') - 1);
  body_ += element + " class=\"" + classes + (tip.empty() ? "" : " mark") + "\"";
  body_ += tip.empty() ? "/>\n" : "><title>" + escaped(tip) + "</title></" + name + ">\n";
}

void Svg::rect(double x, double y, double width, double height, const std::string& classes,
               const std::string& tip, double radius) {
  if (!(width >= 0) || !(height >= 0))
    throw Error(Error::Kind::internal, "a chart has a rectangle of negative size");
  shape("<rect" + attribute("x", x) + attribute("y", y) + attribute("width", width) +
            attribute("height", height) + (radius > 0 ? attribute("rx", radius) : ""),
        classes, tip);
}

void Svg::line(Point from, Point to, const std::string& classes) {
  shape("<line" + attribute("x1", from.first) + attribute("y1", from.second) + attribute("x2", to.first) +
            attribute("y2", to.second),
        classes, {});
}

void Svg::lines(const std::vector<std::pair<Point, Point>>& lines, const std::string& classes) {
  std::string data;
  for (const auto& [from, to] : lines)
    data += "M" + coordinate(from.first) + " " + coordinate(from.second) + "L" + coordinate(to.first) + " " +
            coordinate(to.second);
  shape("<path d=\"" + data + "\"", classes, {});
}

void Svg::path(const std::vector<Point>& points, const std::string& classes, bool closed) {
  std::string data;
  for (const auto& [x, y] : points) data += (data.empty() ? "M" : " L") + coordinate(x) + " " + coordinate(y);
  shape("<path d=\"" + data + (closed ? " Z" : "") + "\"", classes, {});
}

void Svg::circle(Point centre, double radius, const std::string& classes, const std::string& tip) {
  shape("<circle" + attribute("cx", centre.first) + attribute("cy", centre.second) + attribute("r", radius),
        classes, tip);
}

void Svg::text(Point at, const std::string& text, const std::string& classes, Anchor anchor) {
  const char* const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
  body_ += "<text" + attribute("x", at.first) + attribute("y", at.second) +
           anchors[static_cast<int>(anchor)] + " class=\"" + classes + "\">" + escaped(text) + "</text>\n";
}

std::string Svg::opening(const std::string& attributes) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "role=\"img\" aria-labelledby=\"{2}-title {2}-description\"{3}>\n<title id=\"{2}-title\">{4}</title>\n"
      "<desc id=\"{2}-description\">{5}</desc>\n",
      coordinate(width_), coordinate(height_), id_, attributes, title_, description_);
}

std::string Svg::inline_text(const std::string& classes) const {
  return opening(" class=\"" + classes + "\"") + body_ + "</svg>\n";
}

std::string Svg::standalone() const {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + opening(" class=\"chart\"") + "<style>\n" +
         chart_style(Colours::light) + "</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n" +
         body_ + "</svg>\n";
}

}  // namespace tessera::report
