// SPDX-License-Identifier: Apache-2.0
// Reads one .npy file and writes it as another: what NumPy's side of the test runs.
#include <cstdio>
#include <string>
#include "tessera/io/npy.hpp"

int main(int argc, char** argv) try {
  if (argc != 3 && argc != 4) throw tessera::Error("usage: npy_roundtrip IN OUT [ELEMENT]");
  std::optional<tessera::Element> as;
  if (argc == 4) {
    as = tessera::parse_element(argv[3]);
    if (!as) throw tessera::Error(std::string("no element is called ") + argv[3]);
  }
  tessera::npy::write(argv[2], tessera::npy::read(argv[1], as).view());
  return 0;
} catch (const tessera::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
