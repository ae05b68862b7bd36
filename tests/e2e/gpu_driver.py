#!/usr/bin/env python3
"""A machine whose NVIDIA driver is older than the program: every GPU probe is waived with the next step, and nothing crashes.

The driver is a stand-in library that says it is for CUDA 9.0. Where a real GPU is here, or no compiler, there is nothing to see.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

STAND_IN = """
int cuDriverGetVersion(int* version) { *version = 9000; return 0; }
int cuInit(unsigned flags) { return (int)flags; }
"""


def check(condition, message):
    if not condition:
        sys.exit(f"failed: {message}")


def main():
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler or os.path.exists("/dev/nvidia0"):
        print("skipped: no C compiler, or a real driver is here")
        return
    with tempfile.TemporaryDirectory() as folder:
        source, result = os.path.join(folder, "cuda.c"), os.path.join(folder, "r.json")
        with open(source, "w", encoding="utf-8") as file:
            file.write(STAND_IN)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", os.path.join(folder, "libcuda.so.1"), source], check=True)
        environment = dict(os.environ, LD_LIBRARY_PATH=folder)
        done = subprocess.run([os.environ["TRUNKLINE"], "measure", "gpu", "-o", result], env=environment, capture_output=True, text=True)
        check(done.returncode == 3, f"exit status {done.returncode} instead of 3: {done.stderr}")
        with open(result, encoding="utf-8") as file:
            probes = json.load(file)["probes"]
        check(len(probes) > 10, f"{len(probes)} probes")
        for probe in probes:
            check(probe["status"] == "waived", f"{probe['name']} is {probe['status']}")
            check(";" in probe["reason"], f"{probe['name']} does not say what to do: {probe['reason']}")
        reasons = {probe["reason"] for probe in probes if probe["name"] != "gpu.nvlink"}
        check(len(reasons) == 1, f"different reasons: {reasons}")
        reason = reasons.pop()
        check("the driver is for CUDA 9.0" in reason or "built without CUDA" in reason, reason)
        print(reason)


if __name__ == "__main__":
    main()
