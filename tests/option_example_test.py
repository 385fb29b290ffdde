#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The patch of CONTRIBUTING.md that adds an option to the product applies, compiles and clamps.
option_example_test.py COMPILER LIBRARY"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

COMPILER, LIBRARY = sys.argv.pop(1), os.path.abspath(sys.argv.pop(1))
ROOT = pathlib.Path(__file__).resolve().parent.parent
PATCH = ROOT / "examples/clamp.patch"
USE = """
#include <limits>
#include "ops/matmul/gemm/gemm.hpp"
using namespace tessera;
using matmul::PostOp;
int main() {
  static_assert(sizeof(matmul::Gemm) % 8 == 0);
  const PostOp typed = PostOp::of(matmul::Options{
      .activation = matmul::Activation::relu, .clamp = {-1, 2}});
  bool right = apply(typed, 5.0f) == 2 && apply(typed, -5.0) == 0 && apply(typed, 7) == 2 && apply(typed, 1.5f) == 1.5f;
  right = right && !typed.is_identity() && !typed.only_activation() && PostOp::of(matmul::Options{}).is_identity();
  // The parameters of the command.
  Signature signature;
  signature.parameters = {parameter::input("A", {"m"}, ""), parameter::output("C", {"m"}, "")};
  for (Parameter& p : matmul::post_op_parameters()) signature.parameters.push_back(std::move(p));
  float a[4] = {};
  const auto given = [&](Arguments::Words words) {
    return PostOp::of(Arguments(signature, Element::f32, {{"A", {a, Element::f32, {4}, {1}}}}, words));
  };
  const PostOp above = given({{"lo", "0.5"}});
  constexpr float infinity = std::numeric_limits<float>::infinity();
  right = right && given({}).is_identity() && apply(above, -infinity) == 0.5f && apply(above, infinity) == infinity;
  try {
    (void)given({{"lo", "2"}, {"hi", "1"}});
    right = false;
  } catch (const Error& error) {
    right = right && error.what() == std::string("--lo 2 is above --hi 1");
  }
  Arguments::Words words;
  above.add_to(words);
  return right && given(words).lo == 0.5 && given(matmul::identity_words()).is_identity() ? 0 : 1;
}
"""


class Option(unittest.TestCase):
    def done(self, *words):
        done = subprocess.run(words, cwd=self.folder.name, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, " ".join(words) + "\n" + done.stderr[-4000:])

    def test_the_patch_applies_and_compiles(self):
        files = re.findall(r"^\+\+\+ b/(\S+)", PATCH.read_text(), re.M)
        page = (ROOT / "CONTRIBUTING.md").read_text()
        self.assertEqual(sorted(files), sorted("ops/matmul/" + name for name in
                                               re.findall(r"^\| `((?:api|gemm|operation|epilogue|verify)/\S+)` \|", page, re.M)))
        self.assertLessEqual(len(files), 7)
        with tempfile.TemporaryDirectory() as name:
            self.folder = type("Folder", (), {"name": name})
            shutil.copytree(ROOT / "ops", f"{name}/ops")
            self.done("git", "apply", str(PATCH))
            flags = (COMPILER, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-I.", f"-I{ROOT}", f"-I{ROOT}/include")
            for unit in ("epilogue/epilogue_simd.cpp", "verify/bounds.cpp", "gemm/gemm.cpp", "operation/matmul_operation.cpp",
                         "epilogue/epilogue_test.cpp"):
                self.done(*flags, "-fsyntax-only", f"ops/matmul/{unit}")
            pathlib.Path(name, "use.cpp").write_text(USE)
            self.done(*flags, "use.cpp", "ops/matmul/gemm/post_op.cpp", LIBRARY,
                      f"-Wl,-rpath,{pathlib.Path(LIBRARY).parent}", "-o", "use")
            self.done("./use")


if __name__ == "__main__":
    unittest.main()
