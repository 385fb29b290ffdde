#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command that README.md and docs tell a reader to give runs as it is written, at sizes that a test has time
for and on what is here.   docs_test.py PROGRAM [ROOT]
ROOT is a bare system, as bare_test.sh makes one, in which PROGRAM is build/tessera of the folder /tessera."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

PROGRAM = [os.path.abspath(sys.argv.pop(1))]
BARE = len(sys.argv) > 1 and os.path.isdir(sys.argv[1])
if BARE:
    PROGRAM = ["chroot", sys.argv.pop(1), "env", "-i", "PATH=/usr/bin:/bin", "HOME=/root", "LANG=C.UTF-8", "sh", "-c", 'cd /tessera && exec build/tessera "$@"', "sh"]
ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMAND = re.compile(r"^build/tessera [^\n#]*|`(build/tessera [^`]*)`", re.M)
# What a shorter run of the same command says instead.
SHORTER = ((r"\b([mnk])=\d\d[^\s]*", r"\1=8,16"), (r"--budget \S+", "--budget 2"), (r"--time \S+", "--time 0.02"),
           (r" --measure\b", ""), (r"--tunings all", ""), (r"^(\S+ verify .*)", r"\1 --quick --element f32"),
           (r"^(\S+ (bench|sweep|tune) .*)", r"\1 --reps 2"))
HAS_CUDA = "cuda:0" in subprocess.run([*PROGRAM, "devices"], capture_output=True, text=True, check=True).stdout
CAN_TRACE = subprocess.run([*PROGRAM, "trace", "matmul", "m=8", "n=8", "k=8"], capture_output=True, check=False).returncode == 0
BUILT_WITH_CUDA = subprocess.run([*PROGRAM, "code"], capture_output=True, check=False).returncode == 0


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/learn").glob("*.md"))]


def text_of(page):
    return re.sub(r"(?m)^Measured at .*", "", page.read_text())  # where figures come from


def commands(page):
    return [(match[1] or match[0]).strip() for match in COMMAND.finditer(text_of(page))]


def shortened(command):
    for long, short in SHORTER:
        command = re.sub(long, short, command)
    if not HAS_CUDA:
        command = re.sub(r"--device cuda\b", "--device simt", command)
    return shlex.split(command)[1:]


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        os.environ["XDG_CACHE_HOME"] = os.path.join(cls.folder.name, "cache")
        os.environ["TESSERA_CACHE"] = os.path.join(cls.folder.name, "tuning.jsonl")
        for name in ("docs", "examples", "results", "tests"):
            os.symlink(ROOT / name, os.path.join(cls.folder.name, name))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def given(self, command):
        if "code" in shlex.split(command)[1:2] and not BUILT_WITH_CUDA:
            self.skipped.append(command)
            return self.run_it(command, 2, "built without CUDA")
        # Rungs that only a GPU has say so elsewhere.
        if not HAS_CUDA and re.search(r"--variant \S*(cublas|wgmma|warp_tiles)", command):
            self.skipped.append(command)
            return self.run_it(command, 2, 5, re.compile("not on simt|cannot run here|not run on|is not known|no variant"))
        if " trace docs/learn/exercises/05" in command:
            return self.run_it(command, 4, "race in multiply")
        if " trace examples/homework.cu" in command:
            return self.run_it(command, 4, "race in steps")
        if " check twice.npy" in command:
            return self.run_it(command, 1)
        if "helper.cpp" in command:  # files of the reader
            return self.run_it(command, 2, "main.cu")
        if " trace " in command and not CAN_TRACE:
            return self.run_it(command, 5)
        # Two runs of some milliseconds: one may well be slower.
        return self.run_it(command, *((0, 3) if " compare " in command else (0,)))

    def run_it(self, command, *expected):
        done = subprocess.run([*PROGRAM, *shortened(command)], capture_output=True, text=True, timeout=120, check=False,
                              cwd=self.folder.name)
        told = f"{command}\n{done.stdout}{done.stderr}"
        self.assertIn(done.returncode, expected, told)
        self.assertNotIn("did not happen", told)  # a fault that is shown must be one
        for text in expected:
            if isinstance(text, str):
                self.assertIn(text, done.stderr, told)
            elif not isinstance(text, int):
                self.assertRegex(done.stderr, text, told)

    def test_each_runs(self):
        count = 0
        self.skipped = []
        for page in PAGES:
            for command in commands(page):
                with self.subTest(command):
                    self.given(command)
                count += 1
        self.assertGreater(count, 90)
        print(f"{count} commands, of which these were seen to refuse, as they need a GPU:", *self.skipped, sep="\n  ")

    def test_what_needs_more_says_so(self):
        for page in PAGES:
            lines = text_of(page).splitlines()
            for at, line in enumerate(lines):
                if re.search(r"build/tessera .*--devices? cuda|build/tessera code|^import tessera", line):
                    self.assertRegex(" ".join(lines[max(0, at - 12):at + 1]), "GPU|CUDA|H[12]00|make python", f"{page.name}:{at + 1}")

    def test_traces_on_pages_match_the_output(self):
        done = subprocess.run([*PROGRAM, "trace", "examples/homework.cu", "--wide"], capture_output=True, text=True, timeout=120, check=False,
                              cwd=self.folder.name)
        printed = " ".join(done.stderr.split())
        for page in (ROOT / "README.md", ROOT / "docs/own-kernels.md"):
            shown = re.findall(r"^ *(homework\.cu:\d+: (?:error|cost)[^`…\n]*)", page.read_text(), re.M)
            self.assertEqual(len(shown), 2, page)
            for text in shown:
                self.assertIn(" ".join(text.split()), printed)  # up to "…"

    def test_shares_on_the_page_on_devices_match_the_output(self):
        shared = [command for command in commands(ROOT / "docs/devices.md")
                  if re.search(r" --devices \S+,\S+", command) and " sweep " not in command and " --fault " not in command and "mpirun" not in command]
        self.assertTrue(shared)
        for command in shared:
            done = subprocess.run([*PROGRAM, *shortened(command), "--json", "-"], capture_output=True, text=True, timeout=120, check=True,
                                  cwd=self.folder.name)
            parts = json.loads(done.stdout)["parts"]
            self.assertGreater(len(parts), 1, command)
            self.assertTrue(all(part["parts"] > 0 for part in parts), f"{command}\n{done.stderr}")

    def test_the_pages_show_every_verb(self):
        verbs = {shlex.split(command)[1] for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")] for command in commands(page)}
        self.assertLessEqual({"list", "verify", "bench", "compare", "devices", "sweep", "tune", "code", "trace", "report"}, verbs)

    def test_every_link_has_a_target(self):
        pages = [*ROOT.glob("*.md"), *(page for folder in ("docs", "ops", "results", "tessera", "tests") for page in (ROOT / folder).rglob("*.md"))]
        self.assertGreater(len(pages), 50)
        for page in pages:
            text = re.sub(r"(?ms)^```cpp.*?^```", "", page.read_text())  # a lambda looks like a link
            for target in re.findall(r"\]\((?!https://)([^)#:]+)[^)]*\)", text):
                self.assertTrue((page.parent / target).exists(), f"{page.name}: {target}")


if __name__ == "__main__":
    unittest.main()
