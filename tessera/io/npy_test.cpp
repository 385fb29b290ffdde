// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/npy.hpp"
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include "tessera/io/file_kind.hpp"
#include "tests/npy_files.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using namespace testing;
using NpyTest = TemporaryFolder;

TEST_F(NpyTest, roundTrips) {
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

TEST_F(NpyTest, ElementsOfOtherTypesStayAsTheyAre) {
  const std::string bits = bytes_of<std::int64_t>({INT64_MIN, -1, (std::int64_t{1} << 53) + 1, 4});
  const auto parsed = [&](const std::string& descr, const std::string& data, bool fortran = false) {
    const std::string file = file_of(dict_of(descr, "(2, 2)", fortran), data);
    return npy::parse_elements(std::as_bytes(std::span(file)), "k.npy");
  };
  const auto bytes = [](const npy::Elements& elements) {
    return std::string(reinterpret_cast<const char*>(elements.bytes.data()), elements.bytes.size());
  };
  const npy::Elements wide = parsed("<i8", bits);
  EXPECT_EQ(wide.type, "i8");
  EXPECT_EQ(wide.extents, (Extents{2, 2}));
  EXPECT_EQ(bytes(wide), bits);
  EXPECT_EQ(bytes(parsed(">u2", std::string("\0\1\0\2\0\3\0\4", 8), true)),
            bytes_of<std::uint16_t>({1, 3, 2, 4}));
  for (const std::string type : {"i8", "u4", "b1", "f2"}) {
    npy::Elements written = wide;
    written.type = type;
    written.bytes.resize(4 * static_cast<std::size_t>(type[1] - '0'));
    npy::write_elements(path("k.npy"), written);
    const npy::Elements again = npy::read_elements(path("k.npy"));
    EXPECT_EQ(again.type, type);
    EXPECT_EQ(again.extents, written.extents);
    EXPECT_EQ(again.bytes, written.bytes);
  }
}

TEST_F(NpyTest, NumbersOfEveryWidthAreRead) {
  using List = std::vector<double>;
  const auto numbers = [&](const std::string& descr, const std::string& shape, const std::string& data,
                           bool fortran = false) {
    const std::string file = file_of(dict_of(descr, shape, fortran), data);
    const npy::Elements elements = npy::parse_elements(std::as_bytes(std::span(file)), "k.npy");
    return npy::Numbers{elements.extents, npy::values_of(elements)};
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
  EXPECT_EQ(refuses("<i8", "1234567"), "k.npy: is cut short");
  EXPECT_EQ(refuses("<c8", "12345678"), "k.npy: holds complex64, which cannot be computed with here");
}

TEST_F(NpyTest, writesAnyStrides) {
  const Array a = counted(Element::i32, {6, 8});
  auto* const first = static_cast<std::int32_t*>(a.view().data);
  const std::pair<ArrayView, const char*> views[] = {
      {{first, Element::i32, {8, 6}, {1, 8}}, "True"},          // transposed: column-major
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
  // Replacing or removing the file does not change the mapped array.
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

// The file is sparse, so it takes no space on the disk, and only one page of memory is touched.
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
  EXPECT_EQ(error_of([&] { (void)npy::read(path("none.npy")); }),
            path("none.npy") + ": No such file or directory");
  EXPECT_EQ(error_of([&] { (void)npy::read(folder_.string()); }), folder_.string() + ": Is a directory");
  put("x");
  EXPECT_EQ(error_of([&] { (void)npy::read(path("x.npy/y")); }), path("x.npy/y") + ": Not a directory");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { (void)npy::read(path("pipe")); }), path("pipe") + ": is not a regular file");
  EXPECT_EQ(error_of([&] { (void)npy::read(put("")); }), path("x.npy") + ": is empty");
  EXPECT_EQ(error_of([&] { (void)npy::read(put("nonsense")); }),
            path("x.npy") + ": is not a .npy file, but seems to be text");
}

// Parses a file, for tests of valid and invalid headers.
Array parsed(const std::string& file, std::optional<Element> as = {}) {
  return npy::parse(std::as_bytes(std::span(file)), "x.npy", as);
}

std::string refusal(const std::string& file, std::optional<Element> as = {}) {
  return error_of([&] { parsed(file, as); });
}

std::string refusal_of_dict(const std::string& text) { return refusal(file_of(text, std::string(64, '\0'))); }

TEST(NpyParse, readsEveryVersion) {
  for (const int version : {1, 2, 3}) {
    const Array a = parsed(file_of(dict_of("|u1", "(2, 3)"), "\1\2\3\4\5\6", version));
    EXPECT_EQ(a.extents(), (Extents{2, 3}));
    EXPECT_EQ(in_row_order(a.view()), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  }
}

TEST(NpyParse, readsEveryElementInBothByteOrders) {
  const auto values = [](Element e) { return in_row_order(counted(e, {5}).view()); };
  for (const auto& [code, element] : std::vector<std::pair<std::string, Element>>{{"f8", Element::f64},
                                                                                  {"f4", Element::f32},
                                                                                  {"f2", Element::f16},
                                                                                  {"V2", Element::bf16},
                                                                                  {"i4", Element::i32},
                                                                                  {"i1", Element::i8},
                                                                                  {"u1", Element::u8},
                                                                                  {"V1", Element::e4m3},
                                                                                  {"V1", Element::e5m2}}) {
    const Array source = counted(element, {5});
    const std::size_t size = size_of(element);
    std::string data(static_cast<const char*>(source.view().data), 5 * size);
    EXPECT_EQ(in_row_order(parsed(file_of(dict_of("<" + code, "(5,)"), data), element).view()),
              values(element))
        << code;
    for (std::size_t i = 0; i < data.size(); i += size)
      std::reverse(data.begin() + static_cast<std::ptrdiff_t>(i),
                   data.begin() + static_cast<std::ptrdiff_t>(i + size));
    EXPECT_EQ(in_row_order(parsed(file_of(dict_of(">" + code, "(5,)"), data), element).view()),
              values(element))
        << code;
  }
}

TEST(NpyParse, fortranOrderIsStrides) {
  const Array a = parsed(file_of(dict_of("|i1", "(2, 3)", true), std::string("\0\3\1\4\2\5", 6)));
  EXPECT_EQ(a.view().strides, (Extents{1, 2}));
  EXPECT_EQ(in_row_order(a.view()), (std::vector<double>{0, 1, 2, 3, 4, 5}));
}

TEST(NpyParse, scalarsAndEmptyArrays) {
  const Array scalar = parsed(file_of(dict_of("<f4", "()"), bytes_of<float>({2.5f})));
  EXPECT_TRUE(scalar.extents().empty());
  EXPECT_EQ(in_row_order(scalar.view()), std::vector<double>{2.5});
  for (const char* shape : {"(0,)", "(3, 0)", "(0, 3, 2)"}) {
    const Array empty = parsed(file_of(dict_of("<f4", shape), ""));
    EXPECT_EQ(empty.view().count(), 0) << shape;
  }
}

TEST(NpyParse, acceptsEveryHeaderThatPythonWrites) {
  for (const char* text : {
           "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2)}",
           "\t{ \"shape\" :(3L,\n2L , ) ,\"fortran_order\":False,\"descr\":\"|u1\" , }  \n",
           "{'shape':(3,2),'descr':'u1','fortran_order':False}",
           "{'shape':(3,2),'descr':'=u1','fortran_order':False}",
       })
    EXPECT_EQ(parsed(file_of(text, "abcdef")).extents(), (Extents{3, 2})) << text;
}

TEST(NpyParse, ignoresWhatFollowsTheData) {
  const Array a = parsed(file_of(dict_of("|u1", "(2,)"), "\1\2\3\4"));
  EXPECT_EQ(in_row_order(a.view()), (std::vector<double>{1, 2}));
}

TEST(NpyParse, bf16MustBeNamed) {
  const std::string data = bytes_of<std::uint16_t>({0x3f80, 0xc000});
  for (const char* descr : {"|V2", "<V2"}) {
    const std::string file = file_of(dict_of(descr, "(2,)"), data);
    EXPECT_EQ(in_row_order(parsed(file, Element::bf16).view()), (std::vector<double>{1, -2}));
    EXPECT_NE(refusal(file).find("pass --element bf16"), std::string::npos) << refusal(file);
    EXPECT_NE(refusal(file, Element::f16).find("pass --element bf16"), std::string::npos);
  }
}

TEST(NpyParse, refusesAnotherElementNamingBoth) {
  const std::string file = file_of(dict_of("<f8", "(1,)"), bytes_of<double>({1}));
  EXPECT_EQ(refusal(file, Element::f32), "x.npy: holds f64, but f32 was asked for");
  EXPECT_EQ(refusal(file, Element::bf16), "x.npy: holds f64, but bf16 was asked for");
  EXPECT_EQ(refusal(file, Element::f64), "");
}

TEST(NpyParse, refusesForeignTypesWithAHint) {
  const std::pair<const char*, const char*> refused[] = {
      {"<i8", "holds int64; convert with a.astype('int32')"},
      {"<u8", "holds uint64; convert with a.astype('int32')"},
      {"|b1", "holds bool; convert with a.astype('uint8')"},
      {"<f16", "holds float128; convert with a.astype('float64')"},
      {"<c8", "holds complex64, which cannot be computed with here"},
      {"|O", "holds Python objects, which cannot be computed with here"},
      {"<U3", "holds text, not numbers"},
      {"<M8[s]", "holds dates or durations, not numbers"},
      {"f\x1b[31m", "holds elements of the unknown type 'f?[31m'"},
      {"", "holds elements of the unknown type ''"},
  };
  for (const auto& [descr, reason] : refused)
    EXPECT_EQ(refusal_of_dict(dict_of(descr, "(1,)")), std::string("x.npy: ") + reason);
  for (const char* descr : {"[('a', '<f4')]", "('<f4', (2,))"})
    EXPECT_EQ(refusal_of_dict(std::string("{'descr': ") + descr + ", 'fortran_order': False, 'shape': ()}"),
              "x.npy: holds records (a structured dtype); save one field of them");
}

TEST(NpyParse, refusesEveryTruncation) {
  const std::string whole = file_of(dict_of("<f4", "(2, 3)"), std::string(24, 'x'));
  ASSERT_EQ(refusal(whole), "");
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_TRUE(refusal(whole.substr(0, length)).starts_with("x.npy: ")) << length;
  EXPECT_EQ(refusal(""), "x.npy: is empty");
  EXPECT_EQ(refusal(whole.substr(0, 7)), "x.npy: ends within its header");
  EXPECT_EQ(refusal(whole.substr(0, 40)), "x.npy: ends within its header");
  EXPECT_EQ(refusal(whole.substr(0, whole.size() - 1)),
            "x.npy: is cut short: 2 × 3 of f32 needs 24 bytes, 23 are there");
}

TEST(NpyParse, refusesOtherFiles) {
  EXPECT_EQ(refusal("hello, world"), "x.npy: is not a .npy file, but seems to be text");
  EXPECT_EQ(refusal("PK\x03\x04zip"), "x.npy: is a zip archive (.npz); save its arrays one by one");
  EXPECT_EQ(refusal(file_of(dict_of("|u1", "()"), "x", 4)),
            "x.npy: is of .npy version 4.0; 1.0, 2.0 and 3.0 can be read");
  EXPECT_EQ(refusal(std::string("\x93NUMPY\2\0\xff\xff\xff\xff{", 13)), "x.npy: ends within its header");
}

TEST(NpyParse, refusesHostileShapes) {
  const std::string ones65 = [] {
    std::string out = "(";
    for (int i = 0; i < 65; ++i) out += "1,";
    return out + ")";
  }();
  const std::pair<std::string, const char*> refused[] = {
      {"(-1,)", "has a negative extent"},
      {"(-1, -1)", "has a negative extent"},
      {"(18446744073709551617,)", "has an extent larger than any memory"},
      {"(9223372036854775807,)", "is larger than any memory"},
      {"(4294967296, 4294967296)", "is larger than any memory"},
      {"(0, 4611686018427387904, 4611686018427387904)", "is larger than any memory"},
      {ones65, "has more than 64 dimensions"},
      {"(99999,)", "is cut short"},
      {"(3)", "expected a comma"},
      {"3", "expected a tuple as shape"},
      {"[3]", "expected a tuple as shape"},
      {"(,)", "expected a whole number"},
      {"(1,,2)", "expected a whole number"},
      {"(True,)", "expected a whole number"},
      {"(1.5,)", "expected a comma"},
      {"((1,),)", "expected a whole number"},
      {"(1, 2", "expected"},
  };
  for (const auto& [shape, reason] : refused) {
    const std::string said = refusal_of_dict(dict_of("<f4", shape));
    EXPECT_TRUE(said.starts_with("x.npy: ") && said.find(reason) != said.npos) << shape << " → " << said;
  }
}

TEST(NpyParse, refusesDamagedDictionaries) {
  const std::string good = "'descr': '|u1', 'fortran_order': False, 'shape': (1,)";
  const std::pair<std::string, const char*> refused[] = {
      {"", "expected a dictionary at its end"},
      {good, "expected a dictionary"},
      {"{" + good, "expected a comma or the end of the dictionary at its end"},
      {"{" + good + "} 1", "has something after the dictionary"},
      {"{" + good + "}" + std::string(1, '\0'), "has something after the dictionary"},
      {"{" + good + ", 'shape': (1,)}", "has 'shape' twice"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (01,)}", "a number that starts with 0 at '01,)}'"},
      {"{" + good + ", 'more': 1}", "has the unknown entry 'more'"},
      {"{}", "has no 'descr'"},
      {"{'descr': '|u1', 'fortran_order': False}", "has no 'shape'"},
      {"{'descr': '|u1', 'shape': ()}", "has no 'fortran_order'"},
      {"{'fortran_order': 1}", "neither True nor False"},
      {"{'descr': 3}", "expected quoted text"},
      {"{'descr': 'u1", "text without an end"},
      {"{'descr': '\\x75'}", "text without an end"},
      {"{'descr' '|u1'}", "expected a colon"},
      {"{,}", "expected quoted text"},
      {std::string(60000, '{'), "expected quoted text"},
  };
  for (const auto& [text, reason] : refused) {
    const std::string said = refusal_of_dict(text);
    EXPECT_TRUE(said.starts_with("x.npy: ") && said.find(reason) != said.npos && said.size() < 200)
        << text.substr(0, 80) << " → " << said;
  }
}

TEST(FileKind, IsRecognisedByTheFirstBytes) {
  using namespace std::string_view_literals;
  const auto kind = [](std::string_view text) { return kind_of(std::as_bytes(std::span(text))); };
  EXPECT_EQ(kind("%PDF-1.7\n%\xe2\xe3"), "a PDF document");
  EXPECT_EQ(kind("RIFF\x24\0\0\0WEBPVP8 "sv), "a WebP picture");
  EXPECT_EQ(kind(""), "empty");
  EXPECT_EQ(kind("Gr\xc3\xbc\xc3\x9f,\t1.5\r\n"), "text");
  EXPECT_EQ(kind("\x01\x02 who knows"), "");
  EXPECT_FALSE(beginning_of("/nowhere/to/be/found"));
  EXPECT_FALSE(beginning_of("/")) << "a folder";
  EXPECT_FALSE(beginning_of("/dev/zero")) << "a device goes on for ever";
  EXPECT_TRUE(beginning_of("/proc/self/exe"));
}

}  // namespace
}  // namespace tessera
