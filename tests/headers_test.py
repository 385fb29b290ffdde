#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header that is installed compiles alone."""
import concurrent.futures
import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
compiler = sys.argv[1] if len(sys.argv) > 1 else "g++"
# -inl.h files are Highway's idiom: they are compiled once for each instruction set, by their user.
headers = [h for folder in ("tessera", "ops") for h in sorted((root / folder).rglob("*.hpp"))
           if "cuda" not in h.name and "cuda" not in h.parent.parts]
assert len(headers) > 20, "there should be more headers"


def check(header):
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{root}",
               "-x", "c++", "-include", str(header), "/dev/null"]
    return header, subprocess.run(command, capture_output=True, text=True)


with concurrent.futures.ThreadPoolExecutor(2) as pool:
    failed = [(h, r.stderr) for h, r in pool.map(check, headers) if r.returncode != 0]
for header, message in failed:
    print(f"{header.relative_to(root)} does not compile alone:\n{message}")
print(f"{len(headers) - len(failed)} passed, {len(failed)} failed")
sys.exit(1 if failed else 0)
