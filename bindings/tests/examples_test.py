#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of Python in docs/python.md and README.md.
  examples_test.py FOLDER      that holds the package, such as build/python"""
import doctest
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(sys.argv[1]).resolve()))
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.symlink(ROOT / "examples", "examples")
        page = doctest.testfile(str(ROOT / "docs/python.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
        programs = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
        for program in programs:
            exec(compile(program, "README.md", "exec"), {})
        os.chdir("/")
    print(f"{page.attempted} lines of docs/python.md, {page.failed} failed; {len(programs)} programs of README.md")
    sys.exit(page.failed > 0 or page.attempted < 20 or len(programs) != 1)


main()
