// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/npy.hpp"
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/npy_files.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using namespace testing;
using NpyTest = TemporaryFolder;

TEST_F(NpyTest, comesBackAsItWas) {
  for (const Element element : all_elements())
    for (const Extents& extents : {Extents{}, {0}, {7}, {3, 5}, {0, 4}, {4, 1}, {2, 3, 4}}) {
      const Array a = counted(element, extents);
      npy::write(path("x.npy"), a.view());
      const Array b = npy::read(path("x.npy"), element);
      EXPECT_EQ(b.element(), element);
      EXPECT_EQ(b.extents(), extents);
      EXPECT_EQ(in_row_order(b.view()), in_row_order(a.view()));
      EXPECT_EQ(fs::file_size(path("x.npy")) % 64,
                static_cast<std::size_t>(a.view().count()) * size_of(element) % 64);
    }
}

TEST_F(NpyTest, writesWhatNumPyWrites) {
  npy::write(path("x.npy"), counted(Element::f32, {1, 2}).view());
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }";
  text.append(117 - text.size(), ' ');
  EXPECT_EQ(content("x.npy"), file_of(text + '\n', bytes_of<float>({0, 1})));
}

TEST_F(NpyTest, NumbersOfEveryWidthAreReadExactly) {
  using List = std::vector<double>;
  const auto numbers = [&](const std::string& descr, const std::string& shape, const std::string& data,
                           bool fortran = false) {
    const std::string file = file_of(dict_of(descr, shape, fortran), data);
    return npy::parse_numbers(std::as_bytes(std::span(file)), "k.npy");
  };
  const std::int64_t whole = (std::int64_t{1} << 53) - 1;
  EXPECT_EQ(numbers("<i8", "(3,)", bytes_of<std::int64_t>({-1, 7, whole})).values,
            (List{-1, 7, 0x1.fffffffffffffp52}));
  EXPECT_EQ(numbers("<i8", "(1,)", bytes_of<std::int64_t>({INT64_MIN})).values, List{-0x1p63});
  EXPECT_EQ(numbers("<u8", "(2,)", bytes_of<std::uint64_t>({5, std::uint64_t{1} << 63})).values,
            (List{5, 0x1p63}));
  EXPECT_EQ(numbers("<u4", "(1,)", bytes_of<std::uint32_t>({UINT32_MAX})).values, List{4294967295.0});
  EXPECT_EQ(numbers("|b1", "(2,)", std::string("\0\1", 2)).values, (List{0, 1}));
  EXPECT_EQ(numbers(">i8", "(1,)", std::string("\0\0\0\0\0\0\1\2", 8)).values, List{258});
  for (const char* type : {"<i4", "<f8", "<i2"})
    EXPECT_TRUE(numbers(type, "(0,)", "").values.empty()) << type;
  const auto turned = numbers("<i8", "(2, 3)", bytes_of<std::int64_t>({1, 2, 3, 4, 5, 6}), true);
  EXPECT_EQ(turned.extents, (Extents{2, 3}));
  EXPECT_EQ(turned.values, (List{1, 3, 5, 2, 4, 6}));
  for (const Element element : {Element::i8, Element::u16, Element::i32, Element::f16, Element::f64}) {
    npy::write(path("k.npy"), counted(element, {2, 2}).view());
    EXPECT_EQ(npy::read_numbers(path("k.npy")).values, (List{0, 1, 2, 3}));
  }
  const auto refuses = [&](const std::string& descr, const std::string& data) {
    return error_of([&] { (void)numbers(descr, "(1,)", data); });
  };
  EXPECT_EQ(refuses("<i8", bytes_of<std::int64_t>({whole + 2})),
            "k.npy: holds 9007199254740993, which no double is");
  EXPECT_EQ(refuses("<i8", bytes_of<std::int64_t>({INT64_MAX})),
            "k.npy: holds 9223372036854775807, which no double is");
  EXPECT_EQ(refuses("<u8", bytes_of<std::uint64_t>({UINT64_MAX})),
            "k.npy: holds 18446744073709551615, which no double is");
  EXPECT_EQ(refuses("<i8", "1234567"), "k.npy: is cut short");
  EXPECT_EQ(refuses("<c8", "12345678"), "k.npy: holds complex64, which cannot be computed with here");
}

TEST_F(NpyTest, writesAnyStrides) {
  const Array a = counted(Element::i32, {6, 8});
  auto* const first = static_cast<std::int32_t*>(a.view().data);
  const std::pair<ArrayView, const char*> views[] = {
      {{first, Element::i32, {8, 6}, {1, 8}}, "True"},          // transposed: as it lies
      {{first, Element::i32, {6, 1}, {8, 1}}, "False"},         // a column
      {{first + 9, Element::i32, {3, 4}, {16, 2}}, "False"},    // every second
      {{first + 47, Element::i32, {6, 8}, {-8, -1}}, "False"},  // backwards
      {{first, Element::i32, {3, 6}, {0, 8}}, "False"},         // repeated rows
      {{first, Element::i32, {2, 4, 6}, {4, 1, 8}}, "False"},
  };
  for (const auto& [view, fortran] : views) {
    npy::write(path("x.npy"), view);
    EXPECT_NE(content("x.npy").find(std::string("'fortran_order': ") + fortran), std::string::npos);
    const Array b = npy::read(path("x.npy"));
    EXPECT_EQ(b.extents(), view.extents);
    EXPECT_EQ(in_row_order(b.view()), in_row_order(view));
  }
}

TEST_F(NpyTest, streamsMoreThanOneBuffer) {
  const Array a = counted(Element::f64, {3, 200'000});
  const ArrayView odd{static_cast<double*>(a.view().data) + 1, Element::f64, {3, 99'999}, {200'000, 2}};
  npy::write(path("x.npy"), odd);
  EXPECT_EQ(in_row_order(npy::read(path("x.npy")).view()), in_row_order(odd));
}

TEST_F(NpyTest, tooManyDimensionsToWrite) {
  const Array a = counted(Element::u8, Extents(65, 1));
  EXPECT_EQ(error_of([&] { npy::write(path("x.npy"), a.view()); }),
            path("x.npy") + ": cannot be written: more than 64 dimensions");
  EXPECT_EQ(files(), 0);
}

TEST_F(NpyTest, mapsWithoutCopying) {
  npy::write(path("x.npy"), counted(Element::f32, {2, 3}).view());
  const std::string before = content("x.npy");
  Array a = npy::read(path("x.npy"));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.as<float>()) % 4096, 128u);
  a.as<float>()[5] = -1;
  EXPECT_EQ(content("x.npy"), before);
  // Replacing or removing the file leaves what was mapped.
  npy::write(path("x.npy"), counted(Element::f32, {1}).view());
  fs::remove(path("x.npy"));
  EXPECT_EQ(in_row_order(a.view()), (std::vector<double>{0, 1, 2, 3, 4, -1}));
}

TEST_F(NpyTest, copiesWhatIsMisaligned) {
  const std::string text = dict_of("<f8", "(2,)") + " ";
  for (std::size_t more = 0; more < 16; ++more) {
    const std::string file = put(file_of(text + std::string(more, ' '), bytes_of<double>({1, 2})));
    const Array a = npy::read(file);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.as<double>()) % 16, 0u) << more;
    EXPECT_EQ(in_row_order(a.view()), (std::vector<double>{1, 2}));
  }
}

// Sparse: takes no room on the disk, and of memory the one page that is looked at.
TEST_F(NpyTest, beyondFourGigabytes) {
  constexpr std::int64_t count = (std::int64_t{1} << 32) + 100;
  std::string text = dict_of("|u1", "(" + std::to_string(count) + ",)");
  text.append(116 - text.size(), ' ');  // data that is not aligned would be copied
  const std::string file = put(file_of(text, "\7", 2));
  constexpr std::int64_t offset = 128;
  if (::truncate(file.c_str(), offset + count - 1) != 0) GTEST_SKIP() << "no such large files here";
  std::ofstream(file, std::ios::binary | std::ios::app) << '\x2a';
  ASSERT_EQ(static_cast<std::int64_t>(fs::file_size(file)), offset + count);
  Array a = npy::read(file);
  EXPECT_EQ(a.view().count(), count);
  EXPECT_EQ(a.as<std::uint8_t>()[0], 7);
  EXPECT_EQ(a.as<std::uint8_t>()[count - 2], 0);
  EXPECT_EQ(a.as<std::uint8_t>()[count - 1], 42);
}

TEST_F(NpyTest, errorsOfReadingNameFileAndReason) {
  EXPECT_EQ(error_of([&] { npy::read(path("none.npy")); }), path("none.npy") + ": No such file or directory");
  EXPECT_EQ(error_of([&] { npy::read(folder_.string()); }), folder_.string() + ": Is a directory");
  put("x");
  EXPECT_EQ(error_of([&] { npy::read(path("x.npy/y")); }), path("x.npy/y") + ": Not a directory");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { npy::read(path("pipe")); }), path("pipe") + ": is not a regular file");
  EXPECT_EQ(error_of([&] { npy::read(put("")); }), path("x.npy") + ": is empty");
  EXPECT_EQ(error_of([&] { npy::read(put("nonsense")); }),
            path("x.npy") + ": is not a .npy file, but seems to be text");
}

}  // namespace
}  // namespace tessera
