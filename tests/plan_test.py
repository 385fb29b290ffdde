#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `tessera plan` predicts: its words, and its model against what was measured.   plan_test.py PROGRAM"""
import glob
import json
import os
import unittest

import cli_case

RESULTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "results", "nvidia-h200")
NEAR = 0.25


def measured():
    """Rows of whole GPUs alike, with as much memory as they wanted: (file, row, whether matrices lay on the hosts)."""
    for path in sorted(glob.glob(os.path.join(RESULTS, "matmul-together-*.json")) +
                       glob.glob(os.path.join(RESULTS, "matmul-resident-*.json"))):
        with open(path, encoding="utf-8") as file:
            told = json.load(file)
        if "--memory" in told["argv"]:
            continue
        for row in told["rows"]:
            # A queue, and shares that leave one GPU idle, are no plan of equal parts.
            if row["variant"] in ("split plan", "split auto", "split 1:1") or row["variant"].startswith("resident"):
                yield os.path.basename(path), row, row["variant"].startswith("split")


class Plan(cli_case.Case):
    def plans(self, *words):
        self.passes("plan", "matmul", *words, "--json", "plan.json")
        with open("plan.json", encoding="utf-8") as file:
            return {plan["gpus"]: plan for plan in json.load(file)["plans"]}

    def test_plans_are_worked_out(self):
        plans = self.plans("m=65536", "n=m", "k=m", "--gpus", "16")
        self.assertEqual(list(plans), [1, 2, 4, 8, 16, 64, 1024])
        self.assertEqual(plans[8]["grid"], [2, 4])
        self.assertAlmostEqual(plans[1]["compute_seconds"], 2 * 65536 ** 3 / plans[1]["flops"])
        self.assertEqual(plans[4]["received_bytes"], 4 * 65536 ** 2 / 2)
        self.assertTrue(all(plans[count]["network_bytes"] == 0 for count in (1, 2, 4, 8)))

    def test_what_cannot_be_predicted_is_said(self):
        self.fails(2, "say --flops", "plan", "matmul", "m=8", "n=8", "k=8", "--element", "i32")
        self.fails(2, "--gpus 0", "plan", "matmul", "m=8", "n=8", "k=8", "--gpus", "0")
        self.fails(2, "runs on one device", "plan", "seamcarve")
        self.fails(2, "there are no copies to plan", "plan", "integrate", "x", "0", "1", "--strips", "1e6")

    def test_gpus_without_work_are_told(self):
        plans = self.plans("m=4096", "n=m", "k=m", "--gpus", "1000000", "--per-host", "1")
        self.assertEqual(plans[1000000]["gpus_with_work"], 256 * 256)
        self.assertEqual(plans[8]["gpus_with_work"], 8)
        told = self.passes("plan", "matmul", "m=4096", "n=m", "k=m", "--gpus", "1000000", "--per-host", "1").stdout
        self.assertRegex(told, r"1000000 +65536 +256 × 256")
        for size in ("m=0", "n=0"):
            empty = self.plans(*{"m=7", "n=7", "k=7"} - {size[0] + "=7"}, size)
            self.assertTrue(all(plan["gpus_with_work"] == 0 and plan["host_seconds"] == 0 for plan in empty.values()))

    def test_a_grid_fits_the_result(self):
        for plan in self.plans("m=40", "n=17", "k=4096", "--gpus", "100").values():
            self.assertLessEqual(plan["grid"][0], 3)
            self.assertLessEqual(plan["grid"][1], 2)

    def test_every_kind_of_product_has_its_rate(self):
        fast = self.plans("m=4096", "n=m", "k=m", "--element", "e4m3", "--accumulate", "fast")[1]["flops"]
        self.assertGreater(fast, self.plans("m=4096", "n=m", "k=m", "--element", "e4m3")[1]["flops"])
        strict = self.plans("m=4096", "n=m", "k=m", "--element", "f32")[1]["flops"]
        self.assertGreater(self.plans("m=4096", "n=m", "k=m", "--element", "f32", "--compute", "tf32")[1]["flops"], 5 * strict)

    def test_the_model_comes_near_what_was_measured(self):
        seen, held = set(), 0
        for name, row, from_hosts in measured():
            dims, gpus = row["dims"], row["device"].count("+") + 1
            plan = self.plans(*(f"{d}={dims[d]}" for d in "mnk"), "--element", row["element"], "--gpus", str(gpus))[gpus]
            predicted = plan["host_seconds" if from_hosts else "seconds"]
            self.assertLess(abs(predicted / row["median"] - 1), NEAR,
                            f"{name}: {row['variant']} on {row['device']}: {predicted} predicted, {row['median']} measured")
            print(f"{row['element']} {dims['m']}^3 on {gpus} from {'hosts' if from_hosts else 'devices'}: "
                  f"{1e3 * row['median']:.1f} ms measured, {1e3 * predicted:.1f} predicted, {predicted / row['median']:.2f}")
            seen.add((row["element"], gpus, from_hosts))
            held += 1
        self.assertEqual(held, 16, "docs/hosts.md tells how many rows of the files this holds")
        for case in (("f32", 1, True), ("f64", 1, True), ("f32", 2, True), ("f64", 2, True), ("bf16", 1, True), ("bf16", 2, True),
                     ("f32", 1, False), ("bf16", 1, False), ("f32", 2, False), ("bf16", 2, False)):
            self.assertIn(case, seen)


if __name__ == "__main__":
    unittest.main(verbosity=1)
