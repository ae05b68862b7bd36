#!/usr/bin/env python3
"""How much memory beyond what its tensors need a training step must be given before it runs, and what an eager optimizer step moves.

Each case first runs without a limit (largest allocated and reserved memory), then with the caching allocator held to less and less:
`least_bytes` is the smallest limit, to 1 %, under which five steps run. Prints CSV; needs a GPU and PyTorch.
"""
import gc
import time

import torch
import torch.utils.checkpoint
from torch import nn

DEV = "cuda"
TOTAL = torch.cuda.get_device_properties(0).total_memory


class Block(nn.Module):
    def __init__(self, h, ffn, heads):
        super().__init__()
        self.n1, self.n2, self.heads = nn.LayerNorm(h), nn.LayerNorm(h), heads
        self.qkv, self.out, self.up, self.down = nn.Linear(h, 3 * h), nn.Linear(h, h), nn.Linear(h, ffn), nn.Linear(ffn, h)

    def forward(self, x):
        b, s, h = x.shape
        q, k, v = (t.view(b, s, self.heads, -1).transpose(1, 2) for t in self.qkv(self.n1(x)).chunk(3, -1))
        a = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(b, s, h))
        return x + self.down(nn.functional.gelu(self.up(self.n2(x))))


class Decoder(nn.Module):
    def __init__(self, layers, h, heads, vocab, recompute):
        super().__init__()
        self.embed, self.norm, self.head = nn.Embedding(vocab, h), nn.LayerNorm(h), nn.Linear(h, vocab, bias=False)
        self.blocks = nn.ModuleList(Block(h, 4 * h, heads) for _ in range(layers))
        self.recompute = recompute

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False) if self.recompute else block(x)
        return self.head(self.norm(x))


def steps(case, limit):
    """(ran, largest allocated, largest reserved) of five steps under `limit` bytes."""
    layers, h, heads, vocab, batch, sequence, recompute, varied = case
    torch.cuda.set_per_process_memory_fraction(min(1.0, limit / TOTAL))
    model = optimizer = logits = loss = None
    ran = True
    try:
        torch.manual_seed(0)
        model = Decoder(layers, h, heads, vocab, recompute).to(DEV)
        optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
        torch.cuda.reset_peak_memory_stats()
        for i in range(5):
            length = sequence - 128 * (i % 3) if varied else sequence
            ids = torch.randint(0, vocab, (batch, length), device=DEV)
            with torch.autocast(DEV, torch.bfloat16):
                logits = model(ids)
                loss = nn.functional.cross_entropy(logits.view(-1, vocab).float(), ids.view(-1))
            loss.backward()
            logits = loss = None
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
    except torch.OutOfMemoryError:
        ran = False
    peak = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
    del model, optimizer, logits, loss
    gc.collect()
    torch.cuda.empty_cache()
    return ran, *peak


def least_limit(case, peak, reserved):
    low, high = float(peak), float(max(reserved, peak * 1.02))
    while high / low > 1.005:
        middle = (low + high) / 2
        ran, *_ = steps(case, middle)
        low, high = (low, middle) if ran else (middle, high)
    return high


CASES = {
    "decoder 350M": (24, 1024, 16, 50257, 8, 1024, False, False),
    "decoder 350M full recompute": (24, 1024, 16, 50257, 16, 1024, True, False),
    "decoder 1.3B": (24, 2048, 16, 50257, 4, 2048, False, False),
    "decoder 1.3B full recompute": (24, 2048, 16, 50257, 8, 2048, True, False),
    "decoder 350M lengths vary": (24, 1024, 16, 50257, 8, 1024, False, True),
    "decoder 1.3B lengths vary": (24, 2048, 16, 50257, 4, 2048, False, True),
    "decoder 1.3B full, lengths vary": (24, 2048, 16, 50257, 8, 2048, True, True),
}


def optimizer_rate(kind, options, count=24, size=2 * 1024 * 1024 * 8):
    parameters = [nn.Parameter(torch.randn(size, device=DEV)) for _ in range(count)]
    for p in parameters:
        p.grad = torch.randn_like(p)
    optimizer = kind(parameters, **options)
    torch.cuda.reset_peak_memory_stats()
    optimizer.step()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times = []
    for _ in range(7):
        start.record()
        optimizer.step()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1e-3)
    extra = torch.cuda.max_memory_allocated() - before
    n = count * size
    return sorted(times)[3], n, extra / n


def main():
    print("what,seconds_or_peak_bytes,parameters_or_reserved_bytes,temporary_bytes_a_parameter_or_least_bytes")
    x = torch.empty(2**30, device=DEV)
    y = torch.empty_like(x)
    for _ in range(3):
        torch.cuda.synchronize()
        t = time.time()
        y.copy_(x)
        torch.cuda.synchronize()
        copy = time.time() - t
    print(f"copy of {8 * 2**30} bytes,{copy:.6f},,")
    del x, y
    torch.cuda.empty_cache()
    a = torch.optim
    for name, kind, options in [("adamw foreach", a.AdamW, dict(lr=1e-4, foreach=True)), ("adamw fused", a.AdamW, dict(lr=1e-4, fused=True)),
                                ("adamw for-loop", a.AdamW, dict(lr=1e-4, foreach=False)), ("sgd momentum foreach", a.SGD, dict(lr=1e-4, momentum=0.9, foreach=True))]:
        t, n, extra = optimizer_rate(kind, options)
        print(f"{name},{t:.6f},{n},{extra:.2f}", flush=True)
        torch.cuda.empty_cache()
    until = time.time() + 100
    for name, case in CASES.items():
        if time.time() > until:
            break
        _, peak, reserved = steps(case, TOTAL)
        print(f"{name},{peak},{reserved},{least_limit(case, peak, reserved):.0f}", flush=True)


main()
