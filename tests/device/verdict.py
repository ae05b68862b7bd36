#!/usr/bin/env python3
"""Judges what tests/device/run left in a folder: the figures that an H200 must reach, and whether medians repeat.

Reads full.json, quick_1.json … and torch.json; prints a table and ends with 1 if anything is missed. Limits of other GPUs are not known here:
there the shares of the catalogue's limits are shown and only repetition is judged.
"""
import json
import os
import sys

REPEATS_WITHIN = 0.02
QUICK_S = 60


def load(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def medians(result):
    """(probe, metric) → median of every metric that was sampled."""
    return {(p["name"], m["name"]): m["median"] for p in result["probes"] for m in p["metrics"] if m["median"] is not None}


def seconds_of(result):
    return sum(p["duration_s"] or 0 for p in result["probes"])


class Table:
    def __init__(self):
        self.failed = 0

    def row(self, what, value, wanted, good):
        self.failed += not good
        print(f"{'ok  ' if good else 'MISS'}  {what:<58} {value:>14}  {wanted}")


def gates(table, full, torch):
    got = medians(full)
    copy, h2d, d2h = (got.get(k, 0) for k in (("gpu.memory_copy", "traffic"), ("gpu.h2d", "bandwidth@gpu0"), ("gpu.d2h", "bandwidth@gpu0")))
    table.row("copy inside the GPU, read + write", f"{copy * 1e-12:.3f} TB/s", ">= 4.2 TB/s", copy >= 4.2e12)
    table.row("host to GPU", f"{h2d * 1e-9:.1f} GB/s", ">= 55 GB/s", h2d >= 55e9)
    table.row("GPU to host", f"{d2h * 1e-9:.1f} GB/s", ">= 55 GB/s", d2h >= 55e9)
    if torch:
        for metric, key in (("rate@bf16", "gemm_forward_flop_per_s"), ("rate@bf16_8192x8192x8192_dx", "gemm_plain_flop_per_s")):
            rate, peer = got.get(("gpu.gemm", metric), 0), torch[key]
            table.row(f"{metric} against PyTorch's {peer * 1e-12:.0f} TFLOP/s", f"{rate / peer:.3f}", ">= 0.98", rate >= 0.98 * peer)


def repeats(table, quick):
    runs = [medians(q) for q in quick]
    worst = {}
    for key in sorted(set.intersection(*(set(r) for r in runs))):
        values = [r[key] for r in runs]
        worst[key] = max(values) / min(values) - 1 if min(values) > 0 else 0
    wide = {k: v for k, v in worst.items() if v > REPEATS_WITHIN}
    table.row(f"medians of {len(worst)} metrics over {len(runs)} runs", f"{100 * max(worst.values()):.1f} %", f"<= {100 * REPEATS_WITHIN:.0f} %", not wide)
    for (probe, metric), spread in sorted(wide.items(), key=lambda item: -item[1]):
        values = " ".join(f"{r[(probe, metric)]:.4g}" for r in runs)
        print(f"      {probe} {metric}: {100 * spread:.1f} % ({values})")


def show(full):
    for p in full["probes"]:
        print(f"{p['name']}: {p['status']} {p['reason'] or ''} ({p['duration_s'] or 0:.1f} s)")
        for m in p["metrics"]:
            share = "" if m["share_of_limit"] is None else f"{100 * m['share_of_limit']:.1f} %"
            print(f"   {m['name']:<42} {m['median'] if m['median'] is not None else float('nan'):>12.5g} {m['unit']:<7} n={m['n']:<5} {m['stopped'] or '':<8} {share}")
        for warning in p["warnings"]:
            print(f"   ! {warning}")


def main():
    folder = sys.argv[1]
    full, torch = load(folder, "full.json"), load(folder, "torch.json")
    quick = [q for q in (load(folder, f"quick_{i}.json") for i in (1, 2, 3)) if q]
    table = Table()
    if full:
        show(full)
        for p in full["probes"]:
            if p["status"] == "failed":
                table.row(p["name"], "failed", p["reason"], False)
        names = {g["name"] for g in full["context"].get("gpus", [])}
        if names == {"NVIDIA H200"}:
            gates(table, full, torch)
    for number, q in enumerate(quick, 1):
        table.row(f"quick run {number}", f"{seconds_of(q):.1f} s", f"< {QUICK_S} s", seconds_of(q) < QUICK_S)
    if len(quick) > 1:
        repeats(table, quick)
    sys.exit(1 if table.failed or not (full or quick) else 0)


if __name__ == "__main__":
    main()
