// SPDX-License-Identifier: Apache-2.0
// One drawing as SVG, built from few shapes. Colours are CSS classes: the page's style sheet defines them in
// light and dark, and an exported drawing carries its own.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::report {

class Svg {
 public:
  enum class Anchor { start, middle, end };
  using Point = std::pair<double, double>;

  // `id` must be unique on its page; the title and the description are for screen readers.
  Svg(double width, double height, std::string id, const std::string& title, const std::string& description);

  // `tip`: the tooltip; the shape is then a mark of the data. Coordinates that are not finite throw Error: a
  // chart with a hole is worse than none.
  void rect(double x, double y, double width, double height, const std::string& classes,
            const std::string& tip = {}, double radius = 0);
  void line(Point from, Point to, const std::string& classes);
  void lines(const std::vector<std::pair<Point, Point>>& lines, const std::string& classes);  // one shape
  void path(const std::vector<Point>& points, const std::string& classes, bool closed = false);
  void circle(Point centre, double radius, const std::string& classes, const std::string& tip = {});
  void text(Point at, const std::string& text, const std::string& classes, Anchor anchor = Anchor::start);

  double width() const { return width_; }
  double height() const { return height_; }

  std::string inline_text(const std::string& classes) const;  // for a page that has the style sheet
  std::string standalone() const;                             // a file of its own, in light colours

 private:
  void shape(const std::string& element, const std::string& classes, const std::string& tip);
  std::string opening(const std::string& attributes) const;

  double width_, height_;
  std::string id_, title_, description_, body_;
};

// Escaping of text from files for HTML and SVG: names, messages and source lines are data, never markup.

// Returns text that is safe between tags and inside quoted attributes. Characters that XML forbids (control
// characters, invalid UTF-8) become U+FFFD.
std::string escaped(std::string_view text);

// Turns "Shared tiles: f32!" into "shared-tiles-f32", an identifier of letters, digits and dashes.
std::string slug(std::string_view text);

}  // namespace tessera::report
