# SPDX-License-Identifier: Apache-2.0
"""Results in the form that `tessera report` reads, of runs of the program that wrote --json: so that what a tool measured
can go into results/ as it is."""
import json
import subprocess
import sys

PROVENANCE = ("schema", "operation", "date", "version", "git", "compiler", "flags", "cuda", "machine")


def run(words):
    """What the program told; not to have reached the tolerance (7) is an answer, too."""
    done = subprocess.run([*words, "--json", "-"], capture_output=True, text=True)
    if done.returncode not in (0, 7):
        sys.exit(f"{' '.join(words)}: {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def table(runs, rows):
    """A document of rows, with the machine and the build of these runs."""
    out = {"kind": "compare", **{name: runs[0][name] for name in PROVENANCE}, "argv": sys.argv}
    out["devices"] = list({run["device"]["label"]: run["device"] for run in runs}.values())
    return {**out, "rows": rows}


def write(path, document):
    with open(path, "w") as file:
        json.dump(document, file, indent=1)
        file.write("\n")
