#!/usr/bin/env python3
"""What PyTorch gets of the same GPU, by the same method as the probes: for tests/device/run.

Prints JSON: FLOP/s of 8192^3 bf16 products on normal random data (x·W^T as nn.Linear runs it, and a @ b), bytes/s of copies. Each product
sample is ten or so products after two warm ones, after a pause of 30 ms; the median of 25 samples is given.
"""
import json
import statistics
import time

import torch

N = 8192
SAMPLES, LEAD, TIMES, PAUSE_S = 25, 2, 8, 0.03


def timed(run, times):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(times):
        run()
    end.record()
    torch.cuda.synchronize()
    return 1e-3 * start.elapsed_time(end) / times


def median(run, times, lead, pause=0.0):
    samples = []
    for _ in range(SAMPLES):
        time.sleep(pause)
        for _ in range(lead):
            run()
        samples.append(timed(run, times))
    return statistics.median(samples)


def gemm(product):
    a = torch.randn(N, N, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(N, N, device="cuda", dtype=torch.bfloat16)
    return 2.0 * N**3 / median(lambda: product(a, b), TIMES, LEAD, PAUSE_S)


def copy(to, source, factor):
    return factor * source.numel() * source.element_size() / median(lambda: to.copy_(source, non_blocking=True), 2, 1)


def main():
    size = 1 << 30
    device = torch.randint(0, 255, (size,), device="cuda", dtype=torch.uint8)
    other = torch.empty_like(device)
    host = torch.empty(size // 4, dtype=torch.uint8, pin_memory=True)
    part = device[: size // 4]
    host.copy_(part)
    print(json.dumps({
        "torch": torch.__version__,
        "gemm_forward_flop_per_s": gemm(torch.nn.functional.linear),
        "gemm_plain_flop_per_s": gemm(torch.matmul),
        "copy_traffic_bytes_per_s": copy(other, device, 2),
        "h2d_bytes_per_s": copy(part, host, 1),
        "d2h_bytes_per_s": copy(host, part, 1),
    }, indent=1))


if __name__ == "__main__":
    main()
