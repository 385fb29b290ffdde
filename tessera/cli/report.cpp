// SPDX-License-Identifier: Apache-2.0
// `tessera report`: result files as one HTML page, or one of its charts as SVG or PNG.
#include <fmt/format.h>
#include <span>
#include "tessera/cli/command.hpp"
#include "tessera/cli/words.hpp"
#include "tessera/io/atomic_file.hpp"
#include "tessera/report/browser.hpp"
#include "tessera/report/page.hpp"

namespace tessera::cli {
namespace {

constexpr const char* about =
    "Result files (--json of bench, sweep, tune, trace, verify, compare) as one HTML page: charts with their "
    "tables,\n"
    "the roofline, what to try next, and where the numbers come from. The page needs no network.\n\n"
    "A chart alone: --svg NAME or --png NAME, with the names under which the page holds them: ladder, "
    "roofline,\n"
    "sizes, search, tuning-VARIANT, lines-VARIANT, …; a second one of a kind is called ladder-2.";

void write(const std::string& path, const std::string& text) {
  if (path == "-") {
    fmt::print("{}", text);
    return;
  }
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

int export_chart(const std::vector<report::Document>& documents, const std::string& name, bool svg,
                 const std::string& output) {
  const auto sections = report::sections_of(documents);
  const report::Chart& chart = report::chart_named(sections, name);
  const report::Svg drawing = chart.drawn(report::wide, name);
  const std::string path = output.empty() ? name + (svg ? ".svg" : ".png") : output;
  if (svg) write(path, drawing.standalone());
  else report::write_png(drawing.standalone(), drawing.width(), drawing.height(), path);
  if (path != "-") fmt::print("{}\n", path);
  return exit_code::passed;
}

}  // namespace

int report(const Command& command) {
  std::vector<std::string> files;
  std::string output, svg, png;
  Words words("report", "tessera report RESULTS.json… [-o REPORT.html] [--svg NAME | --png NAME]", about);
  words.positionals("RESULTS", files, "");
  words.value("-o,--output", output,
              "the file to write; - is standard output [report.html, NAME.svg, NAME.png]", "FILE");
  words.value("--svg", svg, "this chart alone, as SVG", "NAME");
  words.value("--png", png, "this chart alone, as PNG; needs Chromium", "NAME");
  words.closing(exit_codes);
  if (!words.read(command.words)) return fmt::print("{}\n", words.help()), exit_code::passed;
  if (files.empty()) throw Error("which results? usage: tessera report RESULTS.json… [-o REPORT.html]");
  if (!svg.empty() && !png.empty()) throw Error("--svg and --png are two commands");
  if (!png.empty() && output == "-") throw Error("a PNG does not go to standard output: name a file with -o");
  std::vector<report::Document> documents;
  for (const std::string& file : files) documents.push_back(report::read_document(file));
  if (!svg.empty() || !png.empty())
    return export_chart(documents, svg.empty() ? png : svg, png.empty(), output);
  const std::string path = output.empty() ? "report.html" : output;
  write(path, report::page(documents));
  if (path != "-") fmt::print("{}\n", path);
  return exit_code::passed;
}

}  // namespace tessera::cli
