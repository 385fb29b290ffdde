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
#include "ops/matmul/problem/gemm.hpp"
using namespace tessera::matmul;
int main() {
  const PostOp clamp = PostOp::of(Options{.activation = Activation::relu, .clamp = {-1, 2}});
  static_assert(sizeof(Gemm) % 8 == 0);
  return apply(clamp, 5.0f) == 2 && apply(clamp, -5.0) == 0 && apply(clamp, 7) == 2 && apply(clamp, 1.5f) == 1.5f &&
                 !clamp.is_identity() && !clamp.only_activation() && PostOp::of(Options{}).is_identity()
             ? 0
             : 1;
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
                                               re.findall(r"^\| `((?:problem|epilogue|verify)/\S+)` \|", page, re.M)))
        self.assertLessEqual(len(files), 7)
        with tempfile.TemporaryDirectory() as name:
            self.folder = type("Folder", (), {"name": name})
            shutil.copytree(ROOT / "ops", f"{name}/ops")
            self.done("git", "apply", str(PATCH))
            flags = (COMPILER, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-I.", f"-I{ROOT}")
            for unit in ("epilogue/epilogue_simd.cpp", "verify/bounds.cpp", "problem/gemm.cpp", "epilogue/epilogue.cpp"):
                self.done(*flags, "-fsyntax-only", f"ops/matmul/{unit}")
            pathlib.Path(name, "use.cpp").write_text(USE)
            self.done(*flags, "use.cpp", "ops/matmul/problem/post_op.cpp", LIBRARY,
                      f"-Wl,-rpath,{pathlib.Path(LIBRARY).parent}", "-o", "use")
            self.done("./use")


if __name__ == "__main__":
    unittest.main()
