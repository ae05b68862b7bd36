#!/usr/bin/env python3
"""Training steps of one unedited `transformers` model on several GPUs of a host, as PyTorch runs them.

    torchrun --nproc_per_node N tests/device/torch_parallel.py [--model NAME] [--batch B] [--sharding none,zero3] [--trace FILE]

none = DistributedDataParallel under bf16 autocast; zero3 = FSDP2, a unit a layer, bf16 weights and gradients on the wire, fp32 kept.
A CSV row a case from rank 0: the median step of 5 loops, and how the slowest and fastest loop differ from it. --trace keeps the
profiler's trace of two steps of the first case.
"""
import argparse
import csv
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel

from torch_steps import build, random_batch


def layers_of(model):
    return next(m for m in model.modules() if isinstance(m, torch.nn.ModuleList))


def prepare(name, sharding, device):
    model, config = build(name)
    model = model.train()
    if sharding == "zero3":
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)
        for layer in layers_of(model):
            fully_shard(layer, mp_policy=policy)
        fully_shard(model, mp_policy=policy)
        return model, config
    return DistributedDataParallel(model, device_ids=[device]), config


def measure(options, sharding, trace):
    rank, world, device = dist.get_rank(), dist.get_world_size(), torch.cuda.current_device()
    model, config = prepare(options.model, sharding, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    data = random_batch(config, options.batch, options.sequence, torch.float32)

    def step():
        with torch.autocast("cuda", torch.bfloat16, enabled=sharding == "none"):
            loss = model(**data).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    for _ in range(4):
        step()
    torch.cuda.synchronize()
    loops = []
    for _ in range(5):
        dist.barrier()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(options.steps):
            step()
        torch.cuda.synchronize()
        loops.append((time.perf_counter() - begin) / options.steps)
    if trace:
        from torch.profiler import ProfilerActivity, profile
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
            step()
            step()
            torch.cuda.synchronize()
        if rank == 0:
            prof.export_chrome_trace(trace)
    memory = torch.cuda.max_memory_allocated() / 1e9
    del model, optimizer, data
    torch.cuda.empty_cache()
    return (options.model, world, options.batch, options.sequence, sharding, statistics.median(loops), min(loops), max(loops), memory)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="llama-3.2-1b")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--sequence", type=int, default=2048)
    parser.add_argument("--sharding", default="none,zero3")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--trace")
    options = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    out = csv.writer(sys.stdout)
    if dist.get_rank() == 0:
        out.writerow(("model", "gpus", "batch_per_gpu", "sequence", "sharding", "step_s", "fastest_s", "slowest_s", "memory_gb"))
    for number, sharding in enumerate(options.sharding.split(",")):
        row = measure(options, sharding, options.trace if number == 0 else None)
        if dist.get_rank() == 0:
            out.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in row])
            sys.stdout.flush()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
