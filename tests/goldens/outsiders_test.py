#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Programs and plug-ins written against an earlier release are compiled by the present package, and print what they
printed.   outsiders_test.py BUILD_FOLDER [--record]"""
import os
import pathlib
import subprocess
import sys
import tempfile

import compare

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = ("readme", "integrals", "host", "picture", "everything", "stranger")
# Calls of the installed program with plug-ins.
CALLS = (("rungs", "verify matmul --device simt --variant two_rows --quick"),
         ("rungs", "verify matmul --device simt --variant own_tiles --quick"),
         ("rungs", "matmul A.npy B.npy --device simt --json -"),
         ("operation", "verify twice --variant right"),
         ("operation", "twice A.npy -o B.npy --check"))


def must(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{words}\n{(done.stdout + done.stderr)[-6000:]}")


def outcomes(build):
    out = {}
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        must("cmake", "--install", build, "--prefix", work / "prefix")
        must("cmake", "-S", HERE / "outsiders", "-B", work / "made", f"-DCMAKE_PREFIX_PATH={work / 'prefix'}",
             "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0")
        must("cmake", "--build", work / "made", "--parallel", "2")
        (work / "inputs").mkdir()
        compare.inputs.write(work / "inputs")
        environment = {**os.environ, "TESSERA_CACHE": str(work / "tuning.jsonl"), "XDG_CACHE_HOME": str(work / "cache"), "LC_ALL": "C.UTF-8"}
        for name in PROGRAMS:
            done = subprocess.run([work / "made" / name], cwd=work / "inputs", env=environment, capture_output=True, text=True, check=False)
            out[name] = f"exit {done.returncode}\n" + compare.block("stdout", done.stdout) + compare.block("stderr", done.stderr)
        for plugin, words in CALLS:
            call = f"tessera {words}"
            out[f"tessera --load {plugin} {words}"] = compare.outcome_of(
                str(work / "prefix/bin/tessera"), f"TESSERA_LOAD={work / 'made' / f'lib{plugin}.so'} {call}", work / "inputs")
    return out


def main(words):
    recording = "--record" in words
    build = os.path.abspath(words[0])
    path = compare.RECORDED / "outsiders.txt"
    if recording and path.exists():
        sys.exit(f"{path} is recorded already, and is not made again")
    observed = outcomes(build)
    if recording:
        compare.RECORDED.mkdir(exist_ok=True)
        compare.write_calls(path, observed)
        return 0
    wanted = compare.Wanted((HERE / "wanted.txt").read_text())
    found = compare.differences("outsiders", compare.read_calls(path), observed, wanted)
    print("\n\n".join([*found, f"{len(observed)} programs and calls, {len(found)} differences"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
