#!/usr/bin/env python3
"""One-GPU training steps of unedited `transformers` models in PyTorch: what `trunkline predict` is held against.

    tests/device/torch_steps.py [--mode eager,compile] [--precision autocast,bf16] [--models NAME…] [--seconds S] > steps.csv

Random weights of the shipped config.json files, random data on the GPU, AdamW (fused), no recomputation, no accumulation.
autocast = fp32 weights under torch.autocast(bfloat16); bf16 = weights, gradients and moments in bf16.
--jobs N compiles up to N cases at a time, each in a process of its own, and stops all others while one is timed.
A row: the median wall-clock step, its parts by CUDA events (median), the spread of the steps, and from one profiled step the time
that GPU kernels ran and the number of them. The clock and power are read while the steps run.
"""
import argparse
import csv
import json
import os
import pathlib
import select
import signal
import statistics
import subprocess
import sys
import time

import torch
import transformers

from step_cases import CASES

MODELS = pathlib.Path(__file__).resolve().parents[2] / "data" / "models"
COLUMNS = ("model", "batch", "sequence", "mode", "precision", "optimizer", "step_s", "step_p10_s", "step_p90_s", "forward_s", "backward_s",
           "optimizer_s", "gpu_s", "kernels", "memory_gb", "power_w", "clock_mhz", "warmup_s", "torch", "transformers")


def build(name):
    config = transformers.AutoConfig.from_pretrained(MODELS / name)
    kind = getattr(transformers, json.loads((MODELS / name / "config.json").read_text())["architectures"][0])
    with torch.device("cuda"):  # random weights are drawn there in a second
        return kind(config), config


def random_batch(config, batch, sequence, dtype):
    def tokens(vocab):
        return torch.randint(0, vocab, (batch, sequence), device="cuda")

    def pixels(size):
        return torch.randn(batch, 3, size, size, device="cuda", dtype=dtype)

    if config.model_type == "vit":
        return {"pixel_values": pixels(config.image_size), "labels": torch.randint(0, 1000, (batch,), device="cuda")}
    if config.model_type == "clip":
        return {"input_ids": tokens(config.text_config.vocab_size), "pixel_values": pixels(config.vision_config.image_size), "return_loss": True}
    ids = tokens(config.vocab_size)
    return {"input_ids": ids, "labels": ids, "use_cache": False}


def smi():
    query = ["nvidia-smi", "--query-gpu=power.draw,clocks.sm", "--format=csv,noheader,nounits"]
    return subprocess.run(query, capture_output=True, text=True).stdout.strip().splitlines()[0].replace(" ", "").split(",")


def measure(name, batch, sequence, mode, precision, optimizer_kind, seconds, when_warm=lambda: None):
    torch._dynamo.reset()
    model, config = build(name)
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    model = model.to("cuda", dtype).train()
    options = {"fused": True} if optimizer_kind == "fused" else {}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, **options)
    run = torch.compile(model, dynamic=False) if mode == "compile" else model
    data = random_batch(config, batch, sequence, dtype)
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(4)]

    def step():
        marks[0].record()
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "autocast"):
            loss = run(**data).loss
        marks[1].record()
        loss.backward()
        marks[2].record()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        marks[3].record()

    start = time.time()
    for _ in range(4):
        step()
    torch.cuda.synchronize()
    warmup = time.time() - start
    when_warm()
    step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()

    walls, parts = [], []
    until = time.time() + seconds
    state = ["", ""]
    while time.time() < until or len(walls) < 8:
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        walls.append(time.perf_counter() - begin)
        parts.append([1e-3 * marks[i].elapsed_time(marks[i + 1]) for i in range(3)])
        if len(walls) % 16 == 8:
            step()
            state = smi()  # while the step runs
            torch.cuda.synchronize()
            step()  # the queue is warm again
            torch.cuda.synchronize()
    # Back to back, as a training loop runs them: the host works ahead where the GPU is the slower one.
    count = max(8, min(40, int(seconds / statistics.median(walls))))
    loops = []
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(count):
            step()
        torch.cuda.synchronize()
        loops.append((time.perf_counter() - begin) / count)
    memory = torch.cuda.max_memory_allocated() / 1e9

    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as prof:
        step()
        torch.cuda.synchronize()
    kernels = [e for e in prof.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    by_name = {}
    for e in kernels:
        by_name.setdefault(e.name, [0, 0.0])
        by_name[e.name][0] += 1
        by_name[e.name][1] += e.device_time_total if hasattr(e, "device_time_total") else e.time_range.elapsed_us()
    gpu_s = 1e-6 * sum(v[1] for v in by_name.values())
    deciles = statistics.quantiles(walls, n=10)
    row = (name, batch, sequence, mode, precision, "adamw " + optimizer_kind, statistics.median(loops), deciles[0], deciles[-1],
           *[statistics.median(p[i] for p in parts) for i in range(3)], gpu_s, len(kernels), memory, *state, warmup, torch.__version__,
           transformers.__version__)
    top = sorted(by_name.items(), key=lambda kv: -kv[1][1])[:60]
    return row, [(name, batch, mode, precision, n[:160], v[0], round(v[1], 1)) for n, v in top]


def worker(case, optimizer_kind, seconds):
    """One case in a process of its own: says `warm`, waits for a line, measures, answers with one line of JSON."""
    name, batch, sequence, mode, precision = json.loads(case)

    def wait():
        print("warm", flush=True)
        sys.stdin.readline()

    row, top = measure(name, batch, sequence, mode, precision, optimizer_kind, seconds, wait)
    print(json.dumps({"row": row, "top": top}), flush=True)


def side_by_side(cases, options, memory_of, take):
    """Warms up to --jobs cases at once, as far as their memory allows; whoever is warm is timed while the others stand still."""
    waiting, running = list(cases), {}
    begin = time.time()
    while waiting or running:
        for case in list(waiting):
            used = sum(memory_of(c) for c in running.values())
            if len(running) >= options.jobs or (running and used + memory_of(case) > MEMORY_SIDE_BY_SIDE):
                continue
            if time.time() - begin > options.until:
                print(f"not run for time: {case}", file=sys.stderr)
                waiting.remove(case)
                continue
            waiting.remove(case)
            process = subprocess.Popen([sys.executable, __file__, "--case", json.dumps(case), "--optimizer", options.optimizer, "--seconds",
                                        str(options.seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
            running[process] = case
        ready, _, _ = select.select([p.stdout for p in running], [], [], 1.0)
        for process in [p for p in running if p.stdout in ready]:
            line = process.stdout.readline()
            if line.startswith("warm"):
                others = [p for p in running if p is not process]
                for other in others:
                    os.killpg(other.pid, signal.SIGSTOP)
                time.sleep(0.5)
                print("go", file=process.stdin, flush=True)
                line = process.stdout.readline()
                for other in others:
                    os.killpg(other.pid, signal.SIGCONT)
            if line:
                answer = json.loads(line)
                take(answer["row"], answer["top"])
            else:
                print(f"{running[process]}: ended without a result", file=sys.stderr)
            process.wait()
            del running[process]


# What a compiled case holds at most, GB, and how much of it side by side fits (seen on an H200).
MEMORY = {"gpt2-xl": (36, 80), "llama-3.2-1b": (27, 60), "llama-3.2-3b": (55, 85), "vit-l-16": (12, 66), "clip-vit-b-32": (7, 39)}
MEMORY_SIDE_BY_SIDE = 140


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--mode", default="eager,compile")
    parser.add_argument("--precision", default="autocast,bf16")
    parser.add_argument("--optimizer", default="fused")
    parser.add_argument("--models", default=",".join(CASES))
    parser.add_argument("--batches", default="0,1", help="which of a model's two batches")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--kernels", help="CSV of each profiled step's longest kernels")
    parser.add_argument("--until", type=float, default=1e18, help="start no further case after so many seconds")
    options = parser.parse_args()
    if options.case:
        worker(options.case, options.optimizer, options.seconds)
        return
    out = csv.writer(sys.stdout)
    out.writerow(COLUMNS)
    kernels = csv.writer(open(options.kernels, "w", newline="")) if options.kernels else None
    if kernels:
        kernels.writerow(("model", "batch", "mode", "precision", "kernel", "count", "us"))

    def take(row, top):
        out.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in row])
        sys.stdout.flush()
        if kernels:
            kernels.writerows(top)

    chosen = list(map(int, options.batches.split(",")))
    if options.jobs > 1:
        cases = [(name, CASES[name][0][i], CASES[name][1], mode, precision) for mode in options.mode.split(",")
                 for precision in options.precision.split(",") for name in options.models.split(",") for i in chosen]
        side_by_side(cases, options, lambda c: MEMORY[c[0]][CASES[c[0]][0].index(c[1])], take)
        return
    started = time.time()
    for mode in options.mode.split(","):
        for precision in options.precision.split(","):
            for name in options.models.split(","):
                batches, sequence = CASES[name]
                for i in chosen:
                    if time.time() - started > options.until:
                        print(f"not run for time: {name} {batches[i]} {mode} {precision}", file=sys.stderr)
                        continue
                    try:
                        row, top = measure(name, batches[i], sequence, mode, precision, options.optimizer, options.seconds)
                        take(row, top)
                    except Exception as error:  # the other cases go on
                        print(f"{name} {batches[i]} {mode} {precision}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
                    torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
