#!/usr/bin/env python3
"""How many instructions fixed runs of the program take, against what was recorded: a guard that a busy machine does not disturb.

    tests/slow/instructions.py --update     records what the release build takes now (instructions.json); say in the commit why it grew

Counts depend on the compiler and the libraries, so they are compared only with the compiler that they were recorded with.
Environment: TRUNKLINE the program, TRUNKLINE_BUILD its build type and compiler (both from ctest).
"""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
RECORD = os.path.join(FOLDER, "instructions.json")
PROGRAM = os.environ.get("TRUNKLINE", os.path.join(ROOT, "build/release/trunkline"))
GROWTH = 1.05  # more than this times the record is a failure
RUNS = {
    # One prediction, reading its files and the built-in data included; a deep interleaved pipeline of 16,384 GPUs.
    "predict": ["predict", "examples/llama3-405b/job.yaml", "--platform", "examples/llama3-405b/platform.yaml", "--json", "/dev/null"],
    # A search over parallelisms.
    "predict auto": ["predict", "examples/llama3-405b/job.yaml", "--platform", "examples/llama3-405b/platform.yaml", "--set", "parallelism=auto",
                     "--json", "/dev/null"],
    # The max-min solver: thousands of flows that finish one after the other.
    "fabric": ["fabric", "bench/fabric/w3.yaml", "--json", "/dev/null"],
}


def instructions(arguments):
    """Of one run, by callgrind."""
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", PROGRAM, *arguments], cwd=ROOT, capture_output=True,
                          text=True, env=dict(os.environ, NO_COLOR="1", COLUMNS="100"), check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        raise AssertionError(f"{' '.join(arguments)}: exit status {done.returncode}\n{done.stderr}")
    return int(found.group(1))


def recorded():
    with open(RECORD, encoding="utf-8") as file:
        return json.load(file)


class Instructions(unittest.TestCase):
    def setUp(self):
        if not shutil.which("valgrind"):
            self.skipTest("valgrind is missing: apt-get install valgrind")
        build, wanted = os.environ.get("TRUNKLINE_BUILD", ""), recorded()["build"]
        if build != wanted:
            self.skipTest(f"recorded with {wanted}, this is {build or 'unknown'}")

    def check(self, name):
        before, now = recorded()["instructions"][name], instructions(RUNS[name])
        print(f"{name}: {now:,} instructions, recorded {before:,} ({100 * (now / before - 1):+.1f} %)", file=sys.stderr)
        self.assertLessEqual(now, before * GROWTH, f"{name} takes more instructions than recorded; if that is meant: {__file__} --update")

    def test_predict(self):
        self.check("predict")

    def test_predict_auto(self):
        self.check("predict auto")

    def test_fabric(self):
        self.check("fabric")


def update():
    build = os.environ.get("TRUNKLINE_BUILD")
    if not build:
        compiler = subprocess.run(["c++", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
        build = f"Release, GNU {compiler}"
    record = {"build": build, "instructions": {name: instructions(arguments) for name, arguments in RUNS.items()}}
    with open(RECORD, "w", encoding="utf-8") as file:
        json.dump(record, file, indent=2)
        file.write("\n")
    print(json.dumps(record["instructions"], indent=2))


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        update()
    else:
        unittest.main()
