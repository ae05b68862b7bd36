#!/usr/bin/env python3
"""Sets `trunkline predict` beside the steps that tests/device/torch_steps.py measured.

    tests/device/steps_table.py [--program build/release/trunkline] [STEPS.csv]

Without a CSV it prints the predictions alone (to be kept before anything is measured). Ends with the median and the largest error of
each kind of weights; a case that was measured on more than one machine counts once, with the last (the host of the first ran small
kernels up to twice as slowly). --judge fails where weights under autocast miss 6 % in the median or 12 % in one case.
"""
import argparse
import csv
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

from step_cases import CASES

PLATFORM = "name: one H200\nnode: {gpu: h200-sxm, gpus: 1, count: 1}\n"


def job(model, batch, sequence, mode, precision):
    length = f", sequence: {sequence}" if sequence else ""
    parts = "bf16" if precision == "bf16" else "fp32"
    return (f"model: {model}\n"
            f"training: {{kind: full, precision: {{compute: bf16, parameters: {parts}, optimizer: {parts}}}, framework: pytorch-{mode}, "
            f"recompute: none, library: transformers}}\n"
            f"batch: {{global: {batch}, micro: {batch}{length}}}\n"
            "parallelism: {tp: 1, pp: 1, dp: 1, sharding: none}\n")


def predict(program, folder, row, more):
    (folder / "job.yaml").write_text(job(*row))
    (folder / "platform.yaml").write_text(PLATFORM)
    done = subprocess.run([program, "predict", folder / "job.yaml", "--platform", folder / "platform.yaml", "--json", "-", *more],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    answer = json.loads(done.stdout)
    return answer["step_s"] if "step_s" in answer else answer["platforms"][0]["step_s"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="build/release/trunkline")
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--calibration", help="efficiencies that trunkline calibrate wrote")
    parser.add_argument("steps", nargs="?")
    options = parser.parse_args()
    if options.steps:
        with open(options.steps, newline="") as file:
            rows = [(r["model"], int(r["batch"]), int(r["sequence"]), r["mode"], r["precision"], r) for r in csv.DictReader(file)]
    else:
        rows = [(name, batch, sequence, mode, precision, None) for mode in ("eager", "compile") for precision in ("autocast", "bf16")
                for name, (batches, sequence) in CASES.items() for batch in batches]
    more = ["--calibration", options.calibration] if options.calibration else []
    errors = {}
    print("| model | batch | mode | weights | predicted s |" + (" measured s | kernels ran s | error |" if options.steps else ""))
    print("|---|---|---|---|---|" + ("---|---|---|" if options.steps else ""))
    with tempfile.TemporaryDirectory() as name:
        for *what, measured in rows:
            predicted = predict(options.program, pathlib.Path(name), what, more)
            line = f"| {what[0]} | {what[1]} | {what[3]} | {what[4]} | {predicted:.4f} |"
            if measured:
                error = predicted / float(measured["step_s"]) - 1
                errors.setdefault(what[4], {})[tuple(what)] = abs(error)
                line += f" {float(measured['step_s']):.4f} | {float(measured['gpu_s']):.4f} | {100 * error:+.1f} % |"
            print(line)
    missed = False
    for precision, found in errors.items():
        median, largest = statistics.median(found.values()), max(found.values())
        print(f"{precision}: median {100 * median:.1f} %, largest {100 * largest:.1f} %, {len(found)} cases")
        missed |= precision == "autocast" and (median > 0.06 or largest > 0.12)
    if options.judge and (missed or not errors):
        sys.exit("a prediction misses by more than 6 % in the median or 12 % in one case")


if __name__ == "__main__":
    main()
