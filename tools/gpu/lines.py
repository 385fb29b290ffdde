# SPDX-License-Identifier: Apache-2.0
"""The device side of `tools/agreement lines`, for a GPU machine with Nsight Compute and nothing of this source tree built.
  python3 tools/gpu/lines.py FOLDER     FOLDER is what `tools/agreement lines build` made; all goes to $OUT/lines.json

For each program: what it writes, and for the first launch of each kernel the counts of every global access instruction
with its place in the source."""
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

METRICS = ["inst_executed", "thread_inst_executed", "thread_inst_executed_true", "memory_type",
           "memory_l1_tag_requests_global", "memory_l2_theoretical_sectors_global"]
GLOBAL = ("LD", "LDG", "ST", "STG", "ATOM", "ATOMG", "RED", "REDG")  # generic accesses included


def tool(name):
    places = [f"/usr/local/cuda/bin/{name}", *sorted(glob.glob(f"/opt/nvidia/nsight-compute/*/{name}"))]
    found = shutil.which(name) or next(filter(os.path.exists, places), None)
    return found or sys.exit(f"there is no {name} on the PATH, in /usr/local/cuda or in /opt/nvidia")


def report_module():
    places = ["/opt/nvidia/nsight-compute/*", "/usr/local/cuda*/nsight-compute*", "/usr/local/NVIDIA-Nsight-Compute*"]
    sys.path += [found for place in places for found in sorted(glob.glob(place + "/extras/python"))]
    import ncu_report
    return ncu_report


def opcode(sass):
    words = sass.split()
    return words[words[0].startswith("@")].split(".")[0]


def accesses(action):
    """The global accesses of a launch: place, instruction, counts."""
    counts = {}
    for name in METRICS:
        metric = action[name] if name in action.metric_names() else None
        if metric is not None and metric.has_correlation_ids():
            at = metric.correlation_ids()
            for i in range(metric.num_instances()):
                counts.setdefault(at.as_uint64(i), {})[name] = metric.as_double(i)
    out = []
    for pc in sorted(counts):
        sass, place = action.sass_by_pc(pc).strip(), action.source_info(pc)
        if opcode(sass) in GLOBAL:
            out.append({"file": place.file_name() if place else "", "line": place.line() if place else 0, "sass": sass, **counts[pc]})
    return out


def launches(module, report):
    for group in module.load_report(str(report)):
        for action in group:
            size = {what: [int(action[f"launch__{what}_dim_{axis}"].as_uint64()) for axis in "xyz"] for what in ("grid", "block")}
            yield {"kernel": action.name(action.NameBase_DEMANGLED), **size, "accesses": accesses(action)}


def output_of(words, folder=None):
    done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    return {"code": done.returncode, "out": done.stdout.decode(errors="replace"), "err": done.stderr.decode(errors="replace")}


def profile(ncu, module, words, folder):
    with tempfile.TemporaryDirectory() as place:
        report = pathlib.Path(place, "lines.ncu-rep")
        # The invocation is counted for each instance of a template.
        done = output_of([ncu, "--clock-control", "none", "--cache-control", "none", "--kernel-name-base", "mangled", "--kernel-id", ":::1",
                          "--metrics", ",".join([*METRICS, "launch__grid_size"]), "-o", str(report), *words], folder)
        if not report.exists():
            sys.exit(f"{words[0]}: ncu made no report: {done['out'][-800:]}{done['err'][-800:]}")
        return list(launches(module, report))


def main(folder):
    out, ncu, module = pathlib.Path(os.environ["OUT"]), tool("ncu"), report_module()
    device = output_of(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])["out"].strip()
    raw = {"device": device, "ncu": output_of([ncu, "--version"])["out"].strip().splitlines()[-1], "outputs": {}, "launches": {}}
    for program in json.loads((folder / "compared.json").read_text())["programs"]:
        name = program["name"]
        for build in sorted(path for path in folder.iterdir() if path.is_dir() and (path / name).exists()):
            words = [str(build / name), *program.get("arguments", [])]
            raw["outputs"].setdefault(name, output_of(words, build))
            found = raw["launches"].setdefault(build.name, {})[name] = profile(ncu, module, words, build)
            print(f"{build.name}/{name}: {len(found)} kernels", flush=True)
    (out / "lines.json").write_text(json.dumps(raw, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]).resolve())
