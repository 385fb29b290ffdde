// SPDX-License-Identifier: Apache-2.0
// What a header may say, and every way in which it may be wrong.
#include "tessera/io/npy.hpp"
#include <gtest/gtest.h>
#include <algorithm>
#include "tests/npy_files.hpp"

namespace tessera {
namespace {

using namespace testing;

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

TEST(NpyParse, acceptsWhateverPythonWouldWrite) {
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

TEST(NpyParse, refusesWhatIsNoNpyFile) {
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
}  // namespace
}  // namespace tessera
