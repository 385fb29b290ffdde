#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header that a stranger may include compiles alone, under a stranger's warnings too; CUDA's with nvcc.
    headers_test.py BUILD [CXX [NVCC]]
The build in BUILD has shown it of those that one of its source files includes before all else; the others are
compiled here."""
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
build = pathlib.Path(sys.argv[1]).resolve()
compiler = sys.argv[2] if len(sys.argv) > 2 else "g++"
nvcc = sys.argv[3] if len(sys.argv) > 3 else None
paths = [f"-I{root}", f"-I{root}/include"]
strict = ["-Wpedantic", "-Wshadow", "-Wconversion", "-Wsign-conversion"]


def needs_cuda(header):
    return header.suffix == ".cuh" or "cuda" in header.name or "cuda" in header.parent.parts


installed_ones = {root / line for line in (build / "public_headers.txt").read_text().split()}


def is_installed(header):
    return header in installed_ones


# -inl.h files are Highway's idiom: they are compiled once for each instruction set, by their user.
headers = [h for folder in ("include", "tessera", "ops") for suffix in ("hpp", "cuh") for h in sorted((root / folder).rglob(f"*.{suffix}"))]
plain = [h for h in headers if not needs_cuda(h)]
cuda = [h for h in headers if needs_cuda(h)]
assert len(plain) > 20 and len(cuda) > 5, "there should be more headers"
entries = [h for h in headers if h.is_relative_to(root / "include")]
assert len(entries) > 10 and all(map(is_installed, entries)), "every header of include/ is installed"
assert all(re.search(r"^(#include|[^/#\n])", h.read_text(), re.M) for h in entries), "a public header is empty"


def first_of(file):
    """What a file includes first, with no condition before it: a file of ours, or None."""
    found = re.match(r'(?:(?!#if).*\n)*?#include\s+["<]([^">]+)[">]', file.read_text()) if file.exists() else None
    places = (file.parent / found[1], root / found[1], root / "include" / found[1]) if found else ()
    return next((place.resolve() for place in places if place.exists()), None)


def first_included():
    """What the build compiles with nothing before it: a unit of several files begins with its first one, and that, or a header,
    with what it includes first itself."""
    out = set()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = pathlib.Path(entry["file"])
        # nvcc's files are no proof for a host's header, as nvcc includes its own before all else.
        if file.suffix not in (".cpp", ".cxx") and not needs_cuda(first_of(file) or file):
            continue
        # A kernel's file for tracing has another header before it.
        if " -include " in entry["command"]:
            continue
        while (file := first_of(file)) and file not in out:
            out.add(file)
    return out


def check(header):
    if needs_cuda(header):
        command = [nvcc, "-std=c++20", "-arch=sm_90a", "--expt-relaxed-constexpr", "--Werror=all-warnings", *paths,
                   "-include", str(header), "-x", "cu", "/dev/null", "-ptx", "-o", "/dev/null"]
    else:
        command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *paths,
                   "-x", "c++", "-include", str(header), "/dev/null"]
    return header, subprocess.run(command, capture_output=True, text=True)


def check_strictly(installed):
    """Each compiles alone: what a stranger's warnings say of them, they say of all in a row."""
    text = "".join(f'#include "{h.relative_to(root)}"\n' for h in installed)
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *strict, *paths, "-x", "c++", "-"]
    return subprocess.run(command, capture_output=True, text=True, input=text)


shown = first_included()
assert 0 < len(shown & set(headers)) < len(headers), "some headers are a source file's first, and some are not"
tried = [h for h in plain + (cuda if nvcc else []) if h not in shown and (is_installed(h) or needs_cuda(h))]
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    failed = [(h, r.stderr) for h, r in pool.map(check, tried) if r.returncode != 0]
for header, message in failed:
    print(f"{header.relative_to(root)} does not compile alone:\n{message}")
installed = [h for h in plain if is_installed(h)]
strictly = check_strictly(installed)
if strictly.returncode != 0:
    print(f"an installed header does not compile under a stranger's warnings:\n{strictly.stderr}")
print(f"{len(tried) - len(failed)} passed, {len(failed)} failed, {len(shown & set(headers))} compiled by the build, "
      f"{0 if nvcc else len([h for h in cuda if h not in shown])} need nvcc, {len(installed)} strictly")
sys.exit(1 if failed or strictly.returncode != 0 else 0)
