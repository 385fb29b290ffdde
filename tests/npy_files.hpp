// SPDX-License-Identifier: Apache-2.0
// What the tests of files share: .npy files laid down by hand, folders that vanish, errors as text.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>
#include "tessera/core/array/array.hpp"
#include "tessera/core/text/error.hpp"

namespace tessera::testing {

// A .npy file around a header's text.
inline std::string file_of(const std::string& text, const std::string& data, int version = 1) {
  std::string out = std::string("\x93NUMPY") + static_cast<char>(version) + '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) out += static_cast<char>(text.size() >> (8 * i) & 255);
  return out + text + data;
}

inline std::string dict_of(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }";
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// What the Error says; "" if there is none.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::user);
    return error.what();
  }
  return "";
}

inline std::vector<double> in_row_order(const ArrayView& view) {
  const Array packed = packed_copy(view);
  std::vector<double> out;
  for (std::int64_t i = 0; i < view.count(); ++i)
    out.push_back(load_as_double(view.element,
                                 packed.as<char>() + i * static_cast<std::int64_t>(size_of(view.element))));
  return out;
}

// 0, 1, 2, … in row order.
inline Array counted(Element element, const Extents& extents) {
  Array out(element, extents);
  for (std::int64_t i = 0; i < out.view().count(); ++i)
    store_from_double(element, out.as<char>() + i * static_cast<std::int64_t>(size_of(element)),
                      static_cast<double>(i));
  return out;
}

class TemporaryFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "tessera_test_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string put(const std::string& content, const std::string& name = "x.npy") const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  std::string content(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::ptrdiff_t files() const { return std::distance(std::filesystem::directory_iterator(folder_), {}); }

  std::filesystem::path folder_;
};

}  // namespace tessera::testing
