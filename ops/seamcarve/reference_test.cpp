// SPDX-License-Identifier: Apache-2.0
// Pictures like a camera's, every row against the reference: the band of changed costs crosses many rows
// there.
#include <gtest/gtest.h>
#include <algorithm>
#include <numeric>
#include "tessera/run/inputs.hpp"
#include "tessera/run/run.hpp"

namespace tessera::seamcarve {
namespace {

struct Carving {
  std::int64_t rows, columns;
  Arguments::Words words;
};

void expect_the_references_rows(const Carving& carving, Element element, const std::string& rung) {
  const Operation& operation = *find_operation("seamcarve");
  const Case chosen{
      .dims = {{"images", 1}, {"rows", carving.rows}, {"columns", carving.columns}, {"channels", 3}},
      .words = carving.words};
  Inputs inputs(operation, element, chosen, 17);
  const Arguments& arguments = inputs.arguments();
  run(operation, inputs.arguments(), {.device = "cpu", .variant = rung, .cached = false});
  const ArrayView& out = arguments.array("carved");
  std::vector<std::int64_t> rows(static_cast<std::size_t>(out.extents[1]));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  Expected expected;
  reference(arguments, rows, {}, expected);
  ASSERT_EQ(static_cast<std::int64_t>(expected.value.size()), out.count());
  std::int64_t differing = 0;
  for (std::int64_t i = 0; i < out.count(); ++i)
    differing += load_as_double(element, static_cast<const char*>(out.data) +
                                             i * static_cast<std::int64_t>(size_of(element))) !=
                 expected.value[static_cast<std::size_t>(i)];
  EXPECT_EQ(differing, 0) << rung << " of " << out.count() << " samples";
}

TEST(Seamcarve, ALargerPictureIsTheReferencesInEveryRow) {
  for (const char* energy : {"gradient", "laplacian", "forward"})
    for (const char* rung : {"naive", "banded"})
      expect_the_references_rows({270, 480, {{"width", "450"}, {"energy", energy}}}, Element::u8, rung);
  expect_the_references_rows({270, 480, {{"width", "500"}, {"height", "262"}}}, Element::u16, "banded");
}

// The size whose time docs/seamcarve.md tells; by hand (--gtest_also_run_disabled_tests), since the reference
// takes a quarter of a minute and more.
TEST(Seamcarve, DISABLED_APictureOf3840x2160IsTheReferencesInEveryRow) {
  for (const char* energy : {"gradient", "forward"})
    expect_the_references_rows({2160, 3840, {{"width", "3740"}, {"energy", energy}}}, Element::u8, "banded");
}

}  // namespace
}  // namespace tessera::seamcarve
