#!/usr/bin/env python3
"""What the host needs to launch the kernels of transformer layers from eager PyTorch.

Tiny layers make the step host-bound: (time of a step) / (kernels of a step) is then the host's cost a launch, Python
modules, dispatcher and autograd included. Prints one JSON object; run on a machine with a GPU and PyTorch.
"""
import json
import platform
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class UnfusedLayer(nn.Module):
    """A GPT layer as frameworks before FlashAttention wrote it: separate bias, mask, softmax, dropout and residual kernels."""

    def __init__(self, hidden, heads):
        super().__init__()
        self.heads, self.d = heads, hidden // heads
        self.n1, self.n2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x, mask):
        s, b, h = x.shape
        q, k, v = self.qkv(self.n1(x)).view(s, b, self.heads, 3 * self.d).chunk(3, dim=-1)
        q, k, v = (t.reshape(s, b * self.heads, self.d).transpose(0, 1) for t in (q, k, v))
        scores = torch.baddbmm(mask, q, k.transpose(1, 2), beta=1.0, alpha=self.d ** -0.5)
        p = F.dropout(F.softmax(scores, dim=-1, dtype=torch.float32).to(x.dtype), 0.1)
        a = torch.bmm(p, v).transpose(0, 1).reshape(s, b, h)
        x = x + F.dropout(self.out(a), 0.1)
        return x + F.dropout(self.down(F.gelu(self.up(self.n2(x)))), 0.1)


class FlashLayer(nn.Module):
    """A Llama-like layer with scaled_dot_product_attention and eager norms and rotary."""

    def __init__(self, hidden, heads):
        super().__init__()
        self.heads, self.d = heads, hidden // heads
        self.n1, self.n2 = nn.Parameter(torch.ones(hidden)), nn.Parameter(torch.ones(hidden))
        self.q, self.k, self.v, self.o = (nn.Linear(hidden, hidden, bias=False) for _ in range(4))
        self.gate, self.up, self.down = nn.Linear(hidden, 3 * hidden, bias=False), nn.Linear(hidden, 3 * hidden, bias=False), nn.Linear(3 * hidden, hidden, bias=False)

    @staticmethod
    def norm(x, w):
        y = x.float()
        return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * w

    @staticmethod
    def rotate(x, cos, sin):
        a, b = x.chunk(2, dim=-1)
        return x * cos + torch.cat((-b, a), dim=-1) * sin

    def forward(self, x, extra):
        cos, sin = extra
        b, s, h = x.shape
        y = self.norm(x, self.n1)
        q, k, v = (f(y).view(b, s, self.heads, self.d).transpose(1, 2) for f in (self.q, self.k, self.v))
        a = F.scaled_dot_product_attention(self.rotate(q, cos, sin), self.rotate(k, cos, sin), v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(b, s, h))
        y = self.norm(x, self.n2)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


def timed(run, repeats=30):
    for _ in range(5):
        run()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        t = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - t)
    times.sort()
    return times[len(times) // 2]


def kernels_of(run):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA, torch.profiler.ProfilerActivity.CPU]) as p:
        run()
        torch.cuda.synchronize()
    return sum(e.count for e in p.key_averages() if str(e.device_type).endswith("CUDA"))


def measure(kind, layers=24, hidden=128, heads=4, compiled=False):
    dev, dtype = "cuda", torch.bfloat16
    if kind == "unfused":
        stack = nn.ModuleList(UnfusedLayer(hidden, heads) for _ in range(layers)).to(dev, dtype)
        x = torch.randn(64, 1, hidden, device=dev, dtype=dtype, requires_grad=True)
        extra = torch.zeros(heads, 64, 64, device=dev, dtype=dtype)
    else:
        stack = nn.ModuleList(FlashLayer(hidden, heads) for _ in range(layers)).to(dev, dtype)
        x = torch.randn(1, 64, hidden, device=dev, dtype=dtype, requires_grad=True)
        extra = (torch.ones(64, hidden // heads, device=dev, dtype=dtype), torch.zeros(64, hidden // heads, device=dev, dtype=dtype))
    if compiled:
        stack = nn.ModuleList(torch.compile(layer) for layer in stack)

    def forward():
        y = x
        for layer in stack:
            y = layer(y, extra)
        return y

    def forward_only():
        with torch.enable_grad():
            forward()

    def both():
        forward().sum().backward()

    f, fb = timed(forward_only), timed(both)
    kf, kfb = kernels_of(forward_only), kernels_of(both)
    return {"kind": kind, "compiled": compiled, "layers": layers, "forward_us_a_layer": 1e6 * f / layers, "step_us_a_layer": 1e6 * fb / layers,
            "kernels_forward_a_layer": kf / layers, "kernels_step_a_layer": kfb / layers, "us_a_launch_forward": 1e6 * f / kf, "us_a_launch_step": 1e6 * fb / kfb}


if __name__ == "__main__":
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.processor())
    results = [measure("unfused"), measure("flash")]
    try:
        results.append(measure("flash", compiled=True))
    except Exception as problem:  # no compiler on the machine is a result too
        results.append({"kind": "flash", "compiled": True, "failed": str(problem)[:200]})
    print(json.dumps({"gpu": torch.cuda.get_device_name(0), "cpu": cpu, "torch": torch.__version__, "python": platform.python_version(), "results": results}, indent=1))
