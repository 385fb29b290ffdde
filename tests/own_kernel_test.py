#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels from outside: the example of docs/own-kernels.md against the installed package, and what
--load refuses.   own_kernel_test.py BUILD_FOLDER"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = os.path.abspath(sys.argv.pop(1))
TREE = pathlib.Path(__file__).resolve().parent.parent


def done(*words, **environment):
    return subprocess.run(words, capture_output=True, text=True, timeout=1200, env={**os.environ, **environment})


def must(*words):
    made = done(*words)
    if made.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}\n{made.stdout}{made.stderr}")


def edit(path, old, new):
    text = path.read_text()
    assert old in text, f"{path} has no {old}"
    path.write_text(text.replace(old, new))


class OwnKernels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        work = pathlib.Path(cls.folder.name)
        os.environ["XDG_CACHE_HOME"] = str(work / "cache")
        os.environ.pop("TESSERA_LOAD", None)
        must("cmake", "--install", BUILD, "--prefix", str(work / "prefix"))
        made = work / "made"
        for kind in ("other", "grown"):
            shutil.copytree(work / "prefix/include", made / kind)
        edit(made / "other/tessera/core/text/version.hpp", "version_patch = ", "version_patch = 9")
        edit(made / "grown/tessera/core/operation/variant.hpp", "int place = 0;\n\n", "int place = 0;\n  double more = 0;\n\n")
        must("cmake", "-S", str(TREE / "tests/own_kernel"), "-B", str(made), f"-DTREE={TREE}",
             f"-DCMAKE_PREFIX_PATH={work / 'prefix'}")
        must("cmake", "--build", str(made), "--parallel", "2")
        cls.program = str(work / "prefix/bin/tessera")
        cls.own, cls.racing = str(made / "own_kernel/libown.so"), str(made / "own_kernel/libracing.so")
        cls.made = made
        cls.traces = any((work / "prefix").rglob("libtessera_traced.so"))  # not with clang, or sanitizers

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_with(self, code, *words, **environment):
        ran = done(self.program, *words, **environment)
        self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
        return ran

    def refuses(self, message, file, **environment):
        ran = self.run_with(2, "--load", str(file), "list", **environment)
        self.assertIn(message, ran.stderr)
        self.assertIn(os.path.basename(str(file)), ran.stderr)
        return ran

    def built(self, name):
        return str(self.made / f"lib{name}.so")

    def needs_tracing(self):
        if not self.traces:
            self.skipTest("this build cannot trace")

    def test_a_rung_joins_its_ladder(self):
        self.assertNotIn("own_tiles", self.run_with(0, "list", "matmul").stdout)
        for ran in (self.run_with(0, "--load", self.own, "list", "matmul"),
                    self.run_with(0, "list", "matmul", f"--load={self.own}"),
                    self.run_with(0, "list", "matmul", TESSERA_LOAD=f"{self.own}:{self.racing}")):
            self.assertRegex(ran.stdout, r"gpu +43 +own_tiles")
        self.assertRegex(ran.stdout, r"gpu +44 +one_barrier")
        twice = self.run_with(0, "--load", self.own, "list", "matmul", TESSERA_LOAD=self.own)
        self.assertEqual(twice.stdout.count("  own_tiles"), 1)
        self.run_with(0, "--load", self.own, "--load", self.own, "list")

    def test_it_is_verified_and_timed(self):
        ran = self.run_with(0, "--load", self.own, "verify", "matmul", "--device", "simt", "--variant", "own_tiles", "--quick")
        self.assertIn("0 failed", ran.stdout)
        ran = self.run_with(0, "--load", self.own, "bench", "matmul", "m=32", "n=32", "k=32", "--device", "simt",
                            "--variant", "own_tiles,shared_tiles", "--time", "0.2")
        self.assertRegex(ran.stdout, r"gpu/own_tiles .* ok")

    def test_it_is_traced_and_raced(self):
        sizes = ("m=64", "n=64", "k=64")
        self.needs_tracing()
        ran = self.run_with(0, "--load", self.own, "trace", "matmul", *sizes, "--variant", "own_tiles,shared_tiles")
        own, ladder = (next(l for l in ran.stdout.splitlines() if name in l) for name in ("own_tiles", "shared_tiles"))
        self.assertEqual(own.split()[-5:], ladder.split()[-5:], "the same kernel gives the same counts, and the same code where there is an nvcc")
        ran = self.run_with(4, "--load", self.racing, "trace", "matmul", *sizes, "--variant", "one_barrier")
        source = (TREE / "examples/own_kernel/matmul/gpu_44_one_barrier.simt.cu").read_text().splitlines()
        lines = [i + 1 for i, text in enumerate(source) if "] = p." in text or "shared.a[y][l]" in text]
        self.assertEqual(len(lines), 3)
        self.assertRegex(ran.stdout, "|".join(rf"gpu_44_one_barrier\.simt\.cu:{line}\b" for line in lines))

    def test_copies_of_its_own_are_seen(self):
        self.needs_tracing()
        sizes = ("m=32", "n=32", "k=64")
        source = (TREE / "tests/own_kernel/matmul/gpu_45_copied_rows.simt.cu").read_text().splitlines()
        lines = {builtin: next(i + 1 for i, text in enumerate(source) if copy in text)
                 for builtin, copy in ((0, "else memcpy"), (1, ") __builtin_memcpy"))}
        ran = done(self.program, "--load", self.built("copying"), "trace", "matmul", *sizes, "--variant", "copied_rows",
                   "--tunings", "all", "--element", "f32", "--json", "-")
        self.assertEqual(ran.returncode, 4, ran.stderr)
        rows = {row["tuning"]["builtin"]: row for row in json.loads(ran.stdout)["rows"]}
        for builtin, line in lines.items():
            loads = [at for at in rows[builtin]["lines"] if at.get("shared_load.requests")]
            self.assertEqual([at["line"] for at in loads], [line])
            # 4 blocks of 8 warps, 4 steps, a row of 64 bytes in four parts
            self.assertEqual((loads[0]["shared_load.requests"], loads[0]["shared_load.width"]), (4 * 8 * 4 * 4, 16))
            self.assertTrue(any(f["kind"] == "race" and str(line) in f"{f['line']} {f['text']}" for f in rows[builtin]["findings"]), line)

    def test_outputs_that_no_thread_writes_are_named(self):
        self.needs_tracing()

        def traced(m, n, code):
            ran = done(self.program, "--load", self.built("copying"), "trace", "matmul", f"m={m}", f"n={n}", "k=32",
                       "--variant", "swapped_grid", "--element", "f32", "--json", "-")
            self.assertEqual(ran.returncode, code, ran.stderr)
            return json.loads(ran.stdout)["rows"][0]
        square, tall = traced(32, 32, 0), traced(64, 32, 4)
        self.assertEqual([(f["kind"], f["text"]) for f in tall["findings"]],
                         [("never written", "no thread writes 1024 of the 2048 elements of C, the first is C[32, 0]")])
        # The flops are those of the half that was written.
        self.assertEqual(tall["counters"]["flops"], square["counters"]["flops"])
        self.assertLessEqual(tall["counters"]["cgma"], square["counters"]["cgma"])
        loads = {at["array"]: at["sectors_per_request"] for at in square["arrays"] if at["access"] == "global_load"}
        self.assertEqual(loads, {"A": 2, "B": 2})

    def test_an_operation_comes_along(self):
        self.run_with(2, "verify", "twice")
        ran = self.run_with(0, "--load", self.built("twice"), "verify", "twice", "--variant", "right")
        self.assertIn("0 failed", ran.stdout)
        self.run_with(1, "--load", self.built("twice"), "verify", "twice", "--device", "simt")

    def test_other_files_are_refused(self):
        self.refuses("there is no such file", self.made / "libmissing.so")
        self.refuses("is no file", self.made)
        self.refuses("invalid ELF header", TREE / "README.md")
        self.assertIn("--load needs a file", self.run_with(2, "list", "--load").stderr)

    def test_incompatible_objects_are_refused(self):
        self.refuses("needs nowhere::found(int), which this program does not have", self.built("lacking"))
        self.refuses("brings neither a rung nor an operation", self.built("idle"))
        for kind, message in (("other", "was built against Tessera 0.2.90, but this is 0.2.0"),
                              ("grown", "was built against other headers of Tessera 0.2.0")):
            ran = self.refuses(message, self.built(kind), PLACE="matmul/cpu_90_x.cpp")
            self.assertNotIn("code of the loaded file runs", ran.stdout)

    def test_places_of_rungs(self):
        placed = self.built("placed")
        ran = self.run_with(0, "--load", placed, "list", "matmul", PLACE="/far/matmul/cpu_90_mine.cpp")
        self.assertRegex(ran.stdout, r"cpu +90 +mine")
        self.refuses("not named FOLDER/LADDER_00_NAME.suffix", placed, PLACE="matmul/mine.cpp")
        self.refuses("has a rung called 'naive' already", placed, PLACE="matmul/cpu_91_naive.cpp")
        ran = self.run_with(2, "--load", placed, "list", PLACE="matmull/cpu_90_mine.cpp")
        self.assertIn("there is no operation 'matmull', as the file's folder says; did you mean 'matmul'?", ran.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
