#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Integrals whose values are known, as results that `tessera report` shows.
  tools/gpu/integrals.py cubature PROGRAM RESULT.json [--devices cpu,cuda] [--relative R] [--seconds S] [NAME…]
      Genz's families in 5 to 8 dimensions: the GPU's cubature beside the processors' rule and closed forms
  tools/gpu/integrals.py vegas PROGRAM RESULT.json [RUNG,… [FORMULA…]]
      VEGAS on the processors and by every kernel of a device: every bit must be the same
  tools/gpu/integrals.py given PROGRAM RESULT.json [ID…]
      tests/data/given_integrals.tsv by `auto`: what is claimed, and whether it is so"""
import argparse
import csv
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
from decimal import Decimal, getcontext
from fractions import Fraction

PROVENANCE = ("schema", "operation", "date", "version", "git", "compiler", "flags", "cuda", "machine")


def run(words):
    """The JSON of one call. Not to have reached the tolerance (7) is an answer, too."""
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


OFF = 0.45


def joined(sign, term, d):
    return sign.join(term.format(i=i) for i in range(1, d + 1))


def oscillatory(d, scale):
    exact = math.cos(0.3 + scale * d * (d + 1) / 4) * math.prod(2 * math.sin(scale * i / 2) / (scale * i) for i in range(1, d + 1))
    return f"cos(0.3+{scale}*({joined('+', '{i}*x{i}', d)}))", exact


def product_peak(d, c):
    axis = c * (math.atan(c * (1 - OFF)) + math.atan(c * OFF))
    return joined("*", f"1/({1 / (c * c)!r}+(x{{i}}-{OFF})^2)", d), axis ** d


def corner_peak(d, scale):
    c = [Fraction(scale) * i for i in range(1, d + 1)]
    total = sum(Fraction((-1) ** bin(v).count("1")) / (1 + sum(c[i] for i in range(d) if v >> i & 1)) for v in range(1 << d))
    return f"(1+{scale}*({joined('+', '{i}*x{i}', d)}))^(-{d + 1})", float(total / (math.factorial(d) * math.prod(c)))


def gaussian(d, c):
    axis = math.sqrt(math.pi) / (2 * c) * (math.erf(c * (1 - OFF)) + math.erf(c * OFF))
    return f"exp(-{c * c!r}*({joined('+', f'(x{{i}}-{OFF})^2', d)}))", axis ** d


def kink(d, c):
    axis = (2 - math.exp(-c * OFF) - math.exp(-c * (1 - OFF))) / c
    return f"exp(-{c}*({joined('+', f'abs(x{{i}}-{OFF})', d)}))", axis ** d


def jump(d, c):
    exact = (math.expm1(0.43 * c) / c) * (math.expm1(0.57 * c) / c) * (math.expm1(c) / c) ** (d - 2)
    return f"if(x1<0.43 and x2<0.57, exp({c}*({joined('+', 'x{i}', d)})), 0)", exact


# name: (integrand, exact), dimensions, as a share of the tolerance asked for
CASES = {
    "oscillatory-6": (oscillatory(6, 1), 6, 1), "oscillatory-8": (oscillatory(8, 0.45), 8, 1),
    "product-peak-5": (product_peak(5, 14), 5, 1), "corner-peak-6": (corner_peak(6, 2), 6, 1),
    "corner-peak-8": (corner_peak(8, 0.5), 8, 10), "gaussian-6": (gaussian(6, 5.5), 6, 1), "gaussian-8": (gaussian(8, 1.75), 8, 1),
    "kink-5": (kink(5, 12), 5, 1), "kink-8": (kink(8, 3), 8, 100), "jump-5": (jump(5, 1), 5, 100),
}


def summary(out, exact):
    values = out["values"]
    true = abs(values["integral"] - exact)
    return {"variant": out["variant"], "seconds": out["seconds"]["kernel"], "samples": 1, "evaluations": values["evaluations"],
            "value": values["integral"], "error": values["error"], "true_error": true, "honest": true <= values["error"],
            "ended": values["reason"]}


def bench(words):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "bench.json")
        done = subprocess.run([*words, "--reps", "5", "--time", "2", "--no-verify", "--no-serial", "--json", file], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)}: {done.returncode}\n{done.stderr}")
        with open(file) as text:
            return json.load(text)["rows"][0]


def measure(program, device, words, exact, runs):
    variant = {"cpu": "rules", "simt": "regions"}.get(device, "cubature")
    words = ["integrate", *words, "--variant", variant, "--device", device]
    runs.append(run([program, *words]))
    out = {"device": device, **summary(runs[-1], exact)}
    if device != "cuda":
        return out
    # The first run compiled the formula; what it compiled is kept on disk. The second must give the same bits.
    again = summary(run([program, *words]), exact)
    row = bench([program, "bench", *words])
    return {**out, "first_seconds": out["seconds"], "seconds": row["median"], "samples": row["samples"], "clock_mhz": row["clock_mhz"],
            "each": row["seconds"], "same_bits": again["value"] == out["value"] and again["evaluations"] == out["evaluations"]}


# Where the processors ran out of time, how many times as fast is a lower bound.
def compare(cpu, gpu):
    ratio = cpu["seconds"] / gpu["seconds"]
    gpu["times_as_fast"], gpu["times_per_evaluation"] = ratio, ratio * gpu["evaluations"] / cpu["evaluations"]
    print(f"{'':16} {ratio:.1f} times as fast, {gpu['times_per_evaluation']:.1f} times per evaluation", flush=True)


def cubature(program, result, names=(), devices="cpu,cuda", relative=1e-6, seconds=4.0):
    rows, runs = [], []
    print(f"{'integral':16} {'device':5} {'seconds':>10} {'evaluations':>12} {'per second':>11} {'error':>9} {'true':>9}  reason")
    for name in names or CASES:
        (formula, exact), d, easier = CASES[name]
        words = [formula, *(f"x{i}=[0,1]" for i in range(1, d + 1)), "--rule", "genz_malik", "--relative", repr(relative * easier),
                 "--most-evaluations", "1e13", "--most-seconds", repr(seconds)]
        by_device = {}
        for device in devices.split(","):
            one = by_device[device] = measure(program, device, words, exact, runs)
            rows.append({"integral": name, "dimensions": d, "relative": relative * easier, **one, "exact": exact, "formula": formula})
            print(f"{name:16} {device:5} {one['seconds']:10.6f} {one['evaluations']:12.3e} {one['evaluations'] / one['seconds']:11.3e} "
                  f"{one['error'] / abs(exact):9.1e} {one['true_error'] / abs(exact):9.1e}  {one['ended']}", flush=True)
        if "cpu" in by_device and "cuda" in by_device:
            compare(by_device["cpu"], by_device["cuda"])
            rows[-1].update(by_device["cuda"])
        write(result, table(runs, rows))
    wrong = [f"beyond the estimate: {row['integral']} on {row['device']}" for row in rows if not row["honest"]]
    wrong += [f"other bits in a second run: {row['integral']}" for row in rows if not row.get("same_bits", True)]
    print("\n".join(wrong), end="\n" if wrong else "")
    return not wrong


def each(count, term, between):
    """The term for each variable, its number in place of #."""
    return between.join(term.replace("#", str(i)) for i in range(1, count + 1))


def unit(count):
    return each(count, "x#=[0,1]", " ").split()


VEGAS = [["exp(x)", "0", "1", "--relative", "1e-6"],
         ["exp(-(x^2+y^2)/2)*z", "x=[-inf,inf]", "y=[-inf,3]", "z=[0.1,1.7]", "--relative", "1e-4"],
         [f"1/({each(6, '(1/2500+(x#-0.5)^2)', '*')})", *unit(6), "--relative", "1e-3"],
         [f"{each(6, 'x#<(3+#)/10', ' and ')} ? exp({each(6, '(#+4)*x#', '+')}) : 0", *unit(6), "--relative", "1e-3"],
         [each(24, "(0.5+x#)", "*"), *unit(24), "--relative", "1e-4", "--random-seed", "5"]]


def vegas_bits(program, result, rungs="cpu:rules,cuda:vegas,cuda:vegas_compiled", cases=None):
    rows, runs = [], []
    for words in VEGAS if cases is None else cases:
        of_one = [run([program, "integrate", *words, "--rule", "vegas", "--most-seconds", "30", "--device", device, "--variant", variant])
                  for device, variant in (rung.split(":") for rung in rungs.split(","))]
        values = of_one[0]["values"]
        same = all(one["values"] == values for one in of_one)
        rows.append({"formula": words[0], "limits": of_one[0]["arguments"]["LIMITS"], "same_bits": same, "value": values["integral"],
                     "error": values["error"], "evaluations": values["evaluations"], "ended": values["reason"],
                     **{f"seconds, {one['variant']}": one["seconds"]["kernel"] for one in of_one}})
        runs += of_one
        print("the same bits" if same else "OTHER BITS", values["integral"], "±", values["error"], values["reason"], words[0][:60], flush=True)
    write(result, table(runs, rows))
    return all(row["same_bits"] for row in rows)


getcontext().prec = 40
LIST = pathlib.Path(__file__).resolve().parent.parent.parent / "tests" / "data" / "given_integrals.tsv"


def row_of(one, answer):
    values, exact = answer["values"], Decimal(one["exact"])
    value, error = values["integral"], values["error"]
    off = None if value is None else abs(Decimal(value) - exact)
    # The list's own digits end somewhere, and so do those of a double.
    spare = abs(exact) * Decimal("4e-16") + Decimal(1).scaleb(exact.as_tuple().exponent)
    claims = values["reason"] == "converged"
    wrong = claims and (off is None or off > Decimal(error) + spare or off > Decimal(one["relative"]) * abs(exact) + spare)
    return {**one, "relative": float(one["relative"]), "value": value, "error": error, "off": None if off is None else float(off),
            "true_relative": None if off is None else float(off / abs(exact)), "evaluations": values["evaluations"],
            "reason": values["reason"], "by": values["by"], "claims": claims, "wrong": wrong}


def counts_of(rows):
    def met(row):
        return row["true_relative"] is not None and row["true_relative"] <= row["relative"]

    out = {}
    for name, some in (("one_variable", [r for r in rows if "=[" not in r["limits"]]),
                       ("several_variables", [r for r in rows if "=[" in r["limits"]])):
        out[name] = {"integrals": len(some), "claimed": sum(r["claims"] for r in some), "to_tolerance": sum(map(met, some)),
                     "wrong_claims": sum(r["wrong"] for r in some)}
    return out


def given(program, result, wanted=()):
    with open(LIST, newline="", encoding="utf-8") as file:
        integrals = [one for one in csv.DictReader(file, delimiter="\t") if not wanted or one["id"] in wanted]
    rows, runs = [], []
    for one in integrals:
        words = [one["formula"], *one["limits"].split(), "--relative", one["relative"], "--device", "cpu"]
        runs.append(run([program, "integrate", *words]))
        rows.append(row_of(one, runs[-1]))
        row = rows[-1]
        print(f"{row['id']:4} {row['evaluations']:>10.0f}  off {row['true_relative']!s:>24}  {row['reason']}{'  WRONG' if row['wrong'] else ''}",
              flush=True)
    counts = counts_of(rows)
    print(json.dumps(counts, indent=1))
    write(result, {**table(runs, rows), "counts": counts})
    return not any(row["wrong"] for row in rows)


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in ("cubature", "vegas", "given"):
        sys.exit(__doc__)
    what, program, result, *words = sys.argv[1:]
    if what == "given":
        return given(program, result, words)
    if what == "vegas":
        return vegas_bits(program, result, *words[:1], cases=[case for case in VEGAS if case[0] in words[1:]] or None)
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--devices", default="cpu,cuda")
    parser.add_argument("--relative", type=float, default=1e-6)
    parser.add_argument("--seconds", type=float, default=4)
    return cubature(program, result, **vars(parser.parse_intermixed_args(words)))


if __name__ == "__main__":
    sys.exit(not main())
