// SPDX-License-Identifier: Apache-2.0
// `tessera report`: result files as one HTML page, or one of its charts as SVG or PNG.
#include <fmt/format.h>
#include <unistd.h>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include "tessera/cli/command.hpp"
#include "tessera/cli/files.hpp"
#include "tessera/cli/option_parser.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/io/temporary_folder.hpp"
#include "tessera/report/page.hpp"

namespace tessera::cli {
namespace {

constexpr const char* about_report =
    "Result files (--json of bench, sweep, tune, trace, verify, compare, code, agreement and of an "
    "operation's "
    "--study)\n"
    "as one HTML page: charts with their tables, the roofline, what to try next, and where the numbers come "
    "from. "
    "The\n"
    "page needs no network. The --json of a single run holds one result and no table, so there is nothing to "
    "draw.\n\n"
    "A chart alone: --svg NAME or --png NAME, with the names under which the page holds them: ladder, "
    "roofline,\n"
    "sizes, search, study, tuning-VARIANT, lines-VARIANT, …; a second one of a kind is called ladder-2.";

namespace fs = std::filesystem;

// Returns a PNG of the drawing, two pixels a unit, made by an installed browser: the library rasterises
// nothing itself.
std::string png_of(const report::Svg& drawing) {
  std::vector<std::string> browsers{"chromium", "chromium-headless-shell", "chromium-browser",
                                    "google-chrome", "google-chrome-stable"};
  if (const char* named = std::getenv("TESSERA_BROWSER"); named != nullptr && *named != 0) browsers = {named};
  const TemporaryFolder scratch;
  const std::string svg = scratch.file("chart.svg"), picture = scratch.file("chart.png");
  std::ofstream(svg, std::ios::binary) << drawing.standalone();
  std::vector<std::string> command{
      "",
      "--headless",
      "--disable-gpu",
      "--hide-scrollbars",
      "--force-device-scale-factor=2",
      "--user-data-dir=" + scratch.file("profile"),
      fmt::format("--window-size={:.0f},{:.0f}", std::ceil(drawing.width()), std::ceil(drawing.height())),
      "--screenshot=" + picture,
      "file://" + svg};
  // Chromium's sandbox refuses to run as root; the drawing is this program's own.
  if (geteuid() == 0) command.insert(command.begin() + 1, "--no-sandbox");
  for (const std::string& browser : browsers) {
    command[0] = browser;
    const auto passed = runs(command);
    if (!passed) continue;
    if (!*passed || !fs::exists(picture))
      throw Error("'" + browser + "' could not make a PNG; --svg needs no browser");
    std::ifstream file(picture, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  throw Error(
      "a PNG needs a browser, and there is no Chromium here (Debian: apt-get install chromium); --svg needs "
      "none");
}

// A page under a picture's name would mislead its reader.
void require_page_name(const std::string& output) {
  for (const char* kind : {"svg", "png"})
    if (output.ends_with(std::string(".") + kind))
      throw Error(fmt::format(
          "'{}' is a picture's name, and without --{} NAME the whole page is written, which is HTML: "
          "name the chart by --{} NAME, or end the file's name in .html",
          output, kind, kind));
}

int export_chart(const std::vector<report::Document>& documents, const std::string& name, bool svg,
                 const std::string& output) {
  const auto sections = report::sections_of(documents);
  const report::Chart& chart = report::chart_named(sections, name);
  const report::Svg drawing = chart.drawn(report::wide, name);
  const std::string path = output.empty() ? name + (svg ? ".svg" : ".png") : output;
  write_text(path, svg ? drawing.standalone() : png_of(drawing));
  if (path != "-") fmt::print("{}\n", path);
  return exit_code::passed;
}

}  // namespace

int report(const Command& command) {
  std::vector<std::string> files;
  std::string output, svg, png;
  OptionParser parser("report", "tessera report RESULTS.json… [-o REPORT.html] [--svg NAME | --png NAME]",
                      about_report);
  parser.positionals("RESULTS", files, "");
  parser.value("-o,--output", output,
               "the file to write; - is standard output [report.html, NAME.svg, NAME.png]", "FILE");
  parser.value("--svg", svg, "this chart alone, as SVG", "NAME");
  parser.value("--png", png, "this chart alone, as PNG; needs Chromium", "NAME");
  if (!parser.read(command.words)) return exit_code::passed;
  if (files.empty()) throw Error("which results? usage: tessera report RESULTS.json… [-o REPORT.html]");
  if (!svg.empty() && !png.empty()) throw Error("--svg and --png are two commands");
  if (svg.empty() && png.empty()) require_page_name(output);
  if (!svg.empty() && output.ends_with(".png"))
    throw Error("'" + output + "' is no name for an SVG: --png NAME makes a PNG");
  if (!png.empty() && output.ends_with(".svg"))
    throw Error("'" + output + "' is no name for a PNG: --svg NAME makes an SVG");
  if (!png.empty() && output == "-") throw Error("a PNG does not go to standard output: name a file with -o");
  require_files_of_their_own({{"-o", output}}, files, {});
  std::vector<report::Document> documents;
  for (const std::string& file : files) documents.push_back(report::read_document(file));
  if (!svg.empty() || !png.empty())
    return export_chart(documents, svg.empty() ? png : svg, png.empty(), output);
  const std::string path = output.empty() ? "report.html" : output;
  write_text(path, report::page(documents));
  if (path != "-") fmt::print("{}\n", path);
  return exit_code::passed;
}

}  // namespace tessera::cli
