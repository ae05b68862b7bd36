#!/usr/bin/env python3
"""One-GPU training steps of unedited `transformers` models in PyTorch: what `trunkline predict` is held against.

    tests/device/torch_steps.py [--mode eager,compile] [--precision autocast,bf16] [--models NAME…] [--seconds S] > steps.csv

Random weights of the shipped config.json files, random data on the GPU, AdamW (fused), no recomputation, no accumulation.
autocast = fp32 weights under torch.autocast(bfloat16); bf16 = weights, gradients and moments in bf16.
A row: the median wall-clock step, its parts by CUDA events (median), the spread of the steps, and from one profiled step the time
that GPU kernels ran and the number of them. The clock and power are read while the steps run.
"""
import argparse
import csv
import json
import pathlib
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


def measure(name, batch, sequence, mode, precision, optimizer_kind, seconds):
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
    for _ in range(3):
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", default="eager,compile")
    parser.add_argument("--precision", default="autocast,bf16")
    parser.add_argument("--optimizer", default="fused")
    parser.add_argument("--models", default=",".join(CASES))
    parser.add_argument("--batches", default="0,1", help="which of a model's two batches")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--kernels", help="CSV of each profiled step's longest kernels")
    parser.add_argument("--until", type=float, default=1e18, help="start no further case after so many seconds")
    options = parser.parse_args()
    out = csv.writer(sys.stdout)
    out.writerow(COLUMNS)
    kernels = csv.writer(open(options.kernels, "w", newline="")) if options.kernels else None
    if kernels:
        kernels.writerow(("model", "batch", "mode", "precision", "kernel", "count", "us"))
    started = time.time()
    for mode in options.mode.split(","):
        for precision in options.precision.split(","):
            for name in options.models.split(","):
                batches, sequence = CASES[name]
                for i in map(int, options.batches.split(",")):
                    if time.time() - started > options.until:
                        print(f"not run for time: {name} {batches[i]} {mode} {precision}", file=sys.stderr)
                        continue
                    try:
                        row, top = measure(name, batches[i], sequence, mode, precision, options.optimizer, options.seconds)
                        out.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in row])
                        if kernels:
                            kernels.writerows(top)
                    except Exception as error:  # the other cases go on
                        print(f"{name} {batches[i]} {mode} {precision}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
                    sys.stdout.flush()
                    torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
