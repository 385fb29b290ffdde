# SPDX-License-Identifier: Apache-2.0
"""Measures on a GPU machine that need not have this source tree's tools to build.
  python3 tools/gpu pack [BUILD [EARLIER]]  the programs of BUILD (default: build) with their libraries, in build/bundle/bundle.txz; the plan
                                     `versions` measures them and the program of the build EARLIER in turn
  python3 tools/gpu run [PLAN…]      on the GPU machine: these plans, or all; results go to the folder $OUT
  python3 tools/gpu list             the names of the plans"""
import os
import pathlib
import sys

sys.dont_write_bytecode = True
import bundle  # noqa: E402
import plans  # noqa: E402


def main(words):
    if words[:1] == ["pack"] and len(words) <= 3:
        return bundle.pack(*(words[1:] or [bundle.ROOT / "build"]))
    if words == ["list"]:
        return print("\n".join(plans.PLANS))
    if words[:1] != ["run"]:
        sys.exit(__doc__)
    if "OUT" not in os.environ:
        sys.exit("$OUT must name the folder for the results")
    pathlib.Path(os.environ["OUT"]).mkdir(parents=True, exist_ok=True)
    unknown = set(words[1:]) - set(plans.PLANS)
    if unknown:
        sys.exit(f"no plan is called {', '.join(sorted(unknown))}: python3 tools/gpu list")
    bundle.unpack()
    failed = plans.run(words[1:] or list(plans.PLANS))
    return f"failed: {', '.join(failed)}" if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
