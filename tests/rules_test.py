#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of CONTRIBUTING that a machine can check, over the tree."""
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CODE = {".cpp", ".hpp", ".cu", ".cuh", ".h"}
LAYERS = ["core", "formula", "io", "simt", "cuda", "run", "bench", "tune", "report", "frontend", "cli"]


def sources(*folders):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in CODE:
                yield path


def included(path):
    """The files of this tree that a file includes, in whatever way, relative to the root."""
    for name in re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', path.read_text(), re.M):
        for base in (path.parent, ROOT, ROOT / "include"):
            if (base / name).is_file():
                yield (base / name).resolve().relative_to(ROOT)
                break


def parts_of(identifier):
    """ "LowProblem" and "low_problem" are low, problem."""
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", identifier)]


def relative(path):
    return str(path.relative_to(ROOT))


class Rules(unittest.TestCase):
    def test_there_is_something_to_check(self):
        self.assertGreater(len(list(sources("tessera"))), 40)
        self.assertGreater(len(list(sources("ops"))), 10)

    def test_no_file_outside_ops_knows_an_operation(self):
        names = [p.name for p in (ROOT / "ops").iterdir() if p.is_dir()]
        self.assertTrue(names)
        for path in sources("tessera"):
            if "_test." in path.name:
                continue
            text = re.sub(r"//[^\n]*", "", path.read_text())
            self.assertNotIn("#include \"ops/", text, relative(path))
            for name in names:
                self.assertNotRegex(text, rf'"[^"\n]*\b{name}\b[^"\n]*"', f"{relative(path)} names {name}")

    def test_a_folder_uses_only_those_above_it(self):
        for path in sources("tessera"):
            parts = path.relative_to(ROOT / "tessera").parts
            if len(parts) < 2 or parts[0] not in LAYERS or "_test." in path.name:
                continue
            for file in included(path):
                if file.parts[0] == "tessera" and file.parts[1] in LAYERS:
                    self.assertLessEqual(LAYERS.index(file.parts[1]), LAYERS.index(parts[0]), f"{relative(path)} uses {file}")

    def test_an_operation_uses_no_other_but_the_one_it_extends(self):
        extends = {"matmul_batch": "matmul", "integrate_batch": "integrate"}
        for path in sources("ops"):
            own = path.relative_to(ROOT / "ops").parts[0]
            shared = "" if own.startswith(("matmul", "integrate")) else "imaging"
            for file in included(path):
                if file.parts[0] == "ops":
                    self.assertIn(file.parts[1], {own, extends.get(own), shared}, f"{relative(path)} includes {file}")

    def test_a_room_uses_only_those_before_it(self):
        for folder, rooms, fewest in (
                ("tessera/core", ["text", "array", "device", "operation"], 40),
                ("ops/integrate", ["quadrature", "sum", "kernels", "verify"], 20),
                ("ops/integrate/quadrature", ["one_variable", "scattered", "formula", "several_variables"], 20),
                ("ops/matmul", ["gemm", "plans", "epilogue", "kernels", "emulated_fp32", "operation", "verify", "heuristics", "api",
                                "baselines"], 100)):
            self.assertEqual(sorted(rooms), sorted(path.name for path in (ROOT / folder).iterdir() if path.is_dir()))
            count = 0
            for path in sources(folder):
                room = path.relative_to(ROOT / folder).parts[0]
                if room not in rooms or "_test" in path.name:  # a rung, or the problem that rungs receive
                    continue
                for file in included(path):
                    if file.is_relative_to(folder) and file.relative_to(folder).parts[0] in rooms:
                        count += 1
                        self.assertLessEqual(rooms.index(file.relative_to(folder).parts[0]), rooms.index(room),
                                             f"{relative(path)} includes {file}")
            self.assertGreater(count, fewest)

    def test_cuda_is_included_in_one_folder_only(self):
        for path in sources("tessera"):
            if path.relative_to(ROOT / "tessera").parts[0] == "cuda":
                continue
            for header in re.findall(r"#include <(cuda\w*\.h|cublas\w*\.h|nvrtc\.h)>", path.read_text()):
                self.fail(f"{relative(path)} includes {header}")

    def test_inline_ptx_stays_in_its_folder(self):
        for path in sources("include", "tessera", "ops"):
            if relative(path).startswith("tessera/cuda/ptx/"):
                continue
            if path.suffix in {".cu", ".cuh"}:
                self.assertNotRegex(path.read_text(), r"\basm\b", relative(path))

    def test_the_library_neither_prints_nor_exits(self):
        for path in sources("include", "tessera", "ops"):
            # The runtime of CUDA files belongs to their programs, which print and exit.
            if relative(path).startswith(("tessera/cli/", "tessera/frontend/include/", "tessera/frontend/runtime/")) or "_test." in path.name or "_fuzz." in path.name:
                continue
            self.assertNotRegex(path.read_text(), r"\bstd::(cout|cerr|exit)\b|\bprintf\(|\bfmt::print\(", relative(path))

    def test_the_tree_is_formatted(self):
        if not shutil.which("clang-format"):
            self.skipTest("no clang-format")
        files = [str(path) for path in sources("include", "tessera", "ops", "bindings", "baselines", "tests", "examples")]
        checked = subprocess.run(["clang-format", "--dry-run", "-Werror", *files], capture_output=True, text=True, check=False)
        self.assertEqual(checked.returncode, 0, checked.stderr[:2000])

    def test_no_two_headers_have_one_name(self):  # but public ones, which have the names of operations
        seen = {}
        for path in sources("tessera", "ops"):
            # What stands for CUDA's headers has the names that CUDA gives them, folders included.
            of_cuda = relative(path).removeprefix("tessera/frontend/include/")
            name = path.name if of_cuda == relative(path) else of_cuda
            if path.suffix in {".hpp", ".cuh", ".h"}:
                self.assertNotIn(name, seen, f"{relative(path)} and {seen.get(name)}")
                seen[name] = relative(path)

    def test_no_identifier_is_a_word_that_has_a_better_one(self):
        rules = [[field.strip() for field in line.split("|")]
                 for line in (ROOT / "tests/words.txt").read_text().splitlines() if line and not line.startswith("#")]
        self.assertGreater(len(rules), 20)
        found = []
        for path in sources("include", "tessera", "ops", "bindings", "baselines", "tests"):
            text = path.read_text()
            code = re.sub(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"', "", text)
            used = {"_" + "_".join(parts_of(word)) + "_": word for word in {path.stem, *re.findall(r"[A-Za-z_]\w*", code)}}
            prose = re.sub(r'\n\s*//\s*|"\s*\n\s*"', " ", text)  # a phrase may go on in the next line
            for word, folders, instead in rules:
                if not any(folder == "." or relative(path).startswith(folder + "/") for folder in folders.split()):
                    continue
                if word.startswith('"'):
                    found += [f"{relative(path)}: {word} ({instead})"] if word.strip('"') in prose else []
                else:
                    found += [f"{relative(path)}: {name} ({instead})" for parts, name in used.items() if f"_{word}_" in parts]
        self.assertEqual(found, [], f"{len(found)} identifiers and phrases:\n" + "\n".join(found))

    def test_every_file_names_its_licence(self):
        for path in sources("include", "tessera", "ops", "bindings", "tests"):
            self.assertIn("SPDX-License-Identifier: Apache-2.0", path.read_text().splitlines()[0], relative(path))

    def test_results_name_no_folder_of_a_machine(self):
        files = [path for path in sorted((ROOT / "results").rglob("*")) if path.suffix in {".json", ".txt", ".csv", ".md"}]
        self.assertGreater(len(files), 100)
        for path in files:
            found = re.search(r"(?<![\w.])/(root|home|work|tmp|mnt|dev/shm|var/tmp)/\S{0,60}", path.read_text())
            self.assertIsNone(found, f"{relative(path)}: {found and found[0]}")

    def test_nothing_is_left_open(self):
        for path in sources("include", "tessera", "ops", "bindings", "tests"):
            self.assertNotRegex(path.read_text(), r"\b(TODO|FIXME|XXX|HACK)\b", relative(path))

    def test_every_folder_of_ops_is_an_operation(self):
        if len(sys.argv) < 2:
            self.skipTest("no program given")
        listed = subprocess.run([sys.argv[1], "list"], capture_output=True, text=True, check=True).stdout
        for folder in (ROOT / "ops").iterdir():
            if (folder / f"{folder.name}.cpp").exists():  # else what several operations share
                self.assertRegex(listed, rf"\b{folder.name}\b")

    def test_the_catalogue_lists_every_rung_file(self):
        if len(sys.argv) < 2:
            self.skipTest("no program given")
        for folder in (ROOT / "ops").iterdir():
            if not (folder / f"{folder.name}.cpp").exists():  # what several operations share
                continue
            listed = subprocess.run([sys.argv[1], "list", folder.name], capture_output=True, text=True, check=True).stdout
            for file in folder.iterdir():
                rung = re.fullmatch(r"[a-z]+_(\d\d)_(\w+)\.(cpp|simt\.cu|cu|sm\d+\.cu)", file.name)
                if rung and not rung[2].endswith("_test"):
                    self.assertRegex(listed, rf"\b{rung[2]}\b", relative(file))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
