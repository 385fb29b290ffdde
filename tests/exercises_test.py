#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each exercise of docs/learn has the mistake that it is for, and its corrected form has none.   exercises_test.py PROGRAM"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "learn"
MEMORY_ERRORS = {"race", "out of bounds", "misaligned", "barrier", "inactive lane"}

# The kind of the finding, what the line that it names says, and the correction.
EXERCISES = {
    "01_one_block": ("launch error", "multiply<<<1", "dim3(64, 32)", "dim3(32, 32)"),
    "02_row_per_thread": ("out of bounds", "sum += a[", "row > rows", "row >= rows"),
    "02_uncoalesced": ("uncoalesced", "c[at] =",
                       "row = blockIdx.x * blockDim.x + threadIdx.x;\n  const int column = blockIdx.y * blockDim.y + threadIdx.y",
                       "column = blockIdx.x * blockDim.x + threadIdx.x;\n  const int row = blockIdx.y * blockDim.y + threadIdx.y"),
    "03_per_element": ("never written", "cudaMemcpy(out", "grid((rows + block.x - 1) / block.x, (columns + block.y - 1) / block.y)",
                       "grid((columns + block.x - 1) / block.x, (rows + block.y - 1) / block.y)"),
    "04_cached_tiles": ("barrier", "      __syncthreads();", "      __syncthreads();\n    }\n", "    }\n    __syncthreads();\n"),
    "05_shared_tiles": ("race", "of_a[y][x] =", "of_b[k][x];\n", "of_b[k][x];\n    __syncthreads();\n"),
    "06_unrolled": ("race", "      if (t < half) part", "      if (t < half) part[t] += part[t + half];\n",
                    "      if (t < half) part[t] += part[t + half];\n      __syncwarp();\n"),
    "07_prefetched": ("out of bounds", "next = in[(step", "next = in[(step", "if (step + 1 < steps) next = in[(step"),
    "08_coarsened": ("uninitialised", "atomicAdd(&counts", "  count<<<", "  cudaMemset(d_counts, 0, values * sizeof(int));\n  count<<<"),
    "09_register_tiles": ("bank conflicts", "mine[i] = numbers", "numbers[t * patch + i]", "numbers[i * threads + t]"),
    "10_vectorized": ("misaligned", "const float4 four", "(row + 1)", "(row + 4)"),
    "11_warp_tiles": ("inactive lane", "__shfl_down_sync", "  if (i < n) {\n    int mine = in[i];\n", "  {\n    int mine = i < n ? in[i] : 0;\n"),
    "12_tensor_cores": ("race", "sums[column] += part", "sums[column] += part", "atomicAdd(&sums[column], part)"),
    "14_warp_specialized": ("race", "product *= buffer", "stages) buffer[stage % 2]", "stages) buffer[(stage + 1) % 2]"),
    "15_persistent": ("never written", "cudaMemcpy(fourths", "  square<<<4, threads>>>(d_squares",
                      "  const int first = 0;\n  cudaMemcpyToSymbol(next_tile, &first, sizeof first);\n  square<<<4, threads>>>(d_squares"),
    "17_few_rows": ("race", "piece[warp][lane] =", "piece[warp][i];\n", "piece[warp][i];\n    __syncwarp();\n"),
}
# Corrections that remove the finding but give wrong results.
NEAR_MISSES = {
    "02_row_per_thread": ("row > rows", "row >= rows - 1"),
    "02_uncoalesced": ("threadIdx.x;\n  const int column = blockIdx.y * blockDim.y + threadIdx.y",
                       "threadIdx.y;\n  const int column = blockIdx.y * blockDim.y + threadIdx.x"),
}


def trace(file, folder):
    page = folder / "trace.json"
    done = subprocess.run([PROGRAM, "trace", file, "--json", page], capture_output=True, text=True, timeout=120, check=False)
    return done, json.loads(page.read_text())


def findings(told):
    """Kinds and lines, those of costly accesses included."""
    out = [(finding["what"], finding.get("line")) for finding in told["findings"]]
    for launch in told["launches"]:
        for site in launch.get("sites", []):
            if site["space"] == "global" and site["sectors"] >= 4 * site["ideal_sectors"]:
                out.append(("uncoalesced", site["line"]))
            if site["space"] == "shared" and site["wavefronts"] >= 2 * site["ideal_wavefronts"]:
                out.append(("bank conflicts", site["line"]))
    return out


class Exercises(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        os.environ["XDG_CACHE_HOME"] = str(cls.folder / "cache")

    def test_each_mistake_is_found_at_its_line(self):
        for name, (kind, says, _, _) in EXERCISES.items():
            with self.subTest(name):
                file = PAGES / "exercises" / f"{name}.cu"
                lines = [number for number, line in enumerate(file.read_text().splitlines(), 1) if says in line]
                self.assertEqual(len(lines), 1, says)
                done, told = trace(file, self.folder)
                self.assertIn((kind, lines[0]), findings(told), done.stderr)
                self.assertEqual(done.returncode, 4 if kind in MEMORY_ERRORS | {"uninitialised"} else 0, done.stderr)

    def test_corrected_kernels_have_no_finding(self):
        for name, (kind, _, mistake, correction) in EXERCISES.items():
            with self.subTest(name):
                text = (PAGES / "exercises" / f"{name}.cu").read_text()
                self.assertEqual(text.count(mistake), 1)
                self.assertLessEqual(max(mistake.count("\n"), correction.count("\n")), 3)
                file = self.folder / f"{name}.cu"
                file.write_text(text.replace(mistake, correction))
                done, told = trace(file, self.folder)
                self.assertEqual((done.returncode, told["findings"]), (0, []), done.stderr)
                self.assertNotIn(kind, [what for what, _ in findings(told)])
                printed, expected = (set(re.findall(r"\d[\d.]*", part)) for part in done.stdout.split("expected:"))
                self.assertEqual(printed, expected, done.stdout)

    def test_a_near_miss_is_said_not_to_be_done(self):
        for name, (mistake, near) in NEAR_MISSES.items():
            with self.subTest(name):
                text = (PAGES / "exercises" / f"{name}.cu").read_text()
                self.assertEqual(text.count(mistake), 1)
                file = self.folder / f"{name}.cu"
                file.write_text(text.replace(mistake, near))
                done, told = trace(file, self.folder)
                self.assertNotIn(EXERCISES[name][0], [what for what, _ in findings(told)])
                self.assertIn("not done", done.stdout)
                self.assertEqual(done.returncode, 1, done.stderr)

    def test_each_is_on_the_page_of_its_rung(self):
        files = {file.stem for file in (PAGES / "exercises").glob("*.cu")}
        self.assertEqual(files, set(EXERCISES))
        for name in files:
            page = (PAGES / f"{name}.md").read_text()
            self.assertIn(f"(exercises/{name}.cu)", page)
            self.assertIn("<summary>A hint</summary>", page)


if __name__ == "__main__":
    unittest.main()
