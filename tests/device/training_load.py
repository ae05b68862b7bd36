#!/usr/bin/env python3
"""Matrix rates as training sees them: fp8 with and without fast accumulation, and burst against sustained under mixed load.

Prints CSV lines: what, shape, burst and sustained microseconds, power, clock. Run on a machine with a Hopper (or later) GPU.
"""
import subprocess
import time

import torch

DEV = "cuda"


def smi():
    out = subprocess.run(["nvidia-smi", "--query-gpu=power.draw,clocks.sm", "--format=csv,noheader,nounits"], capture_output=True, text=True).stdout
    return out.strip().splitlines()[0].replace(" ", "")


def event_time(run, repeats):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    run()
    torch.cuda.synchronize()
    start.record()
    for _ in range(repeats):
        run()
    end.record()
    torch.cuda.synchronize()
    return 1e3 * start.elapsed_time(end) / repeats


def burst(run):
    time.sleep(0.5)
    return event_time(run, 10)


def sustained(run, seconds=8.0):
    one = event_time(run, 3)
    until = time.time() + seconds
    last, state = one, ""
    while time.time() < until:
        last = event_time(run, max(3, int(0.5e6 / one)))
        state = smi()
    return last, state


def fp8_gemm(m, n, k, fast, fmt=torch.float8_e4m3fn):
    a = torch.randn(m, k, device=DEV).to(fmt)
    b = torch.randn(n, k, device=DEV).to(torch.float8_e4m3fn).t()
    one = torch.ones((), device=DEV)
    return lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=fast)


def bf16_gemm(m, n, k):
    a, b = torch.randn(m, k, device=DEV, dtype=torch.bfloat16), torch.randn(n, k, device=DEV, dtype=torch.bfloat16).t()
    return lambda: a @ b


def layer(tokens, hidden, ffn, heads, fraction):
    """Forward and backward of one dense layer's matrix products and `fraction` of its elementwise traffic."""
    g = lambda *s: torch.randn(*s, device=DEV, dtype=torch.bfloat16)
    x, wq, wo, w1, w2 = g(tokens, hidden), g(hidden, 3 * hidden), g(hidden, hidden), g(hidden, ffn), g(ffn, hidden)
    h1, h3 = g(tokens, ffn), g(tokens, 3 * hidden)

    def run():
        for w, a in ((wq, x), (wo, x), (w1, x), (w2, h1)):
            y = a @ w
            y @ w.t()
            a.t() @ y
        for _ in range(fraction):
            torch.nn.functional.gelu(h1)
            h3 + h3

    return run


if __name__ == "__main__":
    print("what,m,n,k,burst_us,sustained_us,power_w_clock_mhz")
    shapes = [(8192, 8192, 8192), (2048, 12288, 12288), (2048, 12288, 3072), (2048, 9216, 12288), (4096, 8192, 2048), (4096, 14336, 8192), (8192, 4096, 14336), (8192, 28672, 4096), (16384, 4096, 4096)]
    for m, n, k in shapes:
        for name, run in (("bf16", bf16_gemm(m, n, k)), ("fp8 fast", fp8_gemm(m, n, k, True)), ("fp8 exact", fp8_gemm(m, n, k, False)), ("fp8 e5m2 exact", fp8_gemm(m, n, k, False, torch.float8_e5m2))):
            print(f"{name},{m},{n},{k},{burst(run):.1f},,", flush=True)
    for name, run, size in (("fp8 fast", fp8_gemm(8192, 8192, 8192, True), (8192, 8192, 8192)), ("fp8 exact", fp8_gemm(8192, 8192, 8192, False), (8192, 8192, 8192)),
                            ("bf16", bf16_gemm(8192, 8192, 8192), (8192, 8192, 8192)),
                            ("layer 0", layer(8192, 4096, 14336, 32, 0), (8192, 4096, 14336)), ("layer 4", layer(8192, 4096, 14336, 32, 4), (8192, 4096, 14336)),
                            ("layer 12", layer(8192, 4096, 14336, 32, 12), (8192, 4096, 14336))):
        b = burst(run)
        s, state = sustained(run)
        print(f"{name},{size[0]},{size[1]},{size[2]},{b:.1f},{s:.1f},{state}", flush=True)
