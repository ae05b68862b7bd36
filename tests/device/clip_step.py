#!/usr/bin/env python3
"""A CLIP training step in eager PyTorch as the image-text models of 2021-2022 ran it, and where its GPU time goes.

Attention is written out (two batched products with a softmax between, as nn.MultiheadAttention did before
scaled_dot_product_attention), norms run in fp32 under autocast and come back as 16-bit tensors. Prints one JSON line a
configuration: seconds a step (median), and GPU microseconds by kind of kernel from one profiled step.
Run on a machine with a GPU and PyTorch:  tests/device/clip_step.py [SECONDS a configuration]
"""
import json
import math
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint

DEV = "cuda"


class Norm(nn.LayerNorm):
    def forward(self, x):
        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps).to(x.dtype)


class Attention(nn.Module):
    def __init__(self, width, heads, fused):
        super().__init__()
        self.heads, self.d, self.fused = heads, width // heads, fused
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, mask):
        s, b, h = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        if self.fused:
            q, k, v = (t.reshape(s, b, self.heads, self.d).permute(1, 2, 0, 3) for t in (q, k, v))
            a = F.scaled_dot_product_attention(q, k, v, is_causal=mask is not None).permute(2, 0, 1, 3).reshape(s, b, h)
            return self.out(a)
        q, k, v = (t.contiguous().view(s, b * self.heads, self.d).transpose(0, 1) for t in (q, k, v))
        q = q / math.sqrt(self.d)
        scores = torch.bmm(q, k.transpose(1, 2)) if mask is None else torch.baddbmm(mask, q, k.transpose(1, 2))
        a = torch.bmm(F.softmax(scores, dim=-1), v)
        return self.out(a.transpose(0, 1).contiguous().view(s, b, h))


class Layer(nn.Module):
    def __init__(self, width, heads, ffn, fused):
        super().__init__()
        self.n1, self.n2 = Norm(width), Norm(width)
        self.attention = Attention(width, heads, fused)
        self.up, self.down = nn.Linear(width, ffn), nn.Linear(ffn, width)

    def forward(self, x, mask=None):
        x = x + self.attention(self.n1(x), mask)
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Stack(nn.Module):
    def __init__(self, layers, width, heads, ffn, fused, recompute):
        super().__init__()
        self.layers = nn.ModuleList(Layer(width, heads, ffn, fused) for _ in range(layers))
        self.recompute = recompute

    def forward(self, x, mask=None):
        for layer in self.layers:
            x = checkpoint(layer, x, mask, use_reentrant=True) if self.recompute else layer(x, mask)
        return x


class Clip(nn.Module):
    def __init__(self, vision, text, embed, fused, recompute):
        super().__init__()
        layers, width, heads, ffn, patch = vision
        side = 224 // patch
        self.patches = nn.Conv2d(3, width, patch, patch, bias=False)
        self.cls = nn.Parameter(torch.randn(width) * 0.02)
        self.position = nn.Parameter(torch.randn(side * side + 1, width) * 0.02)
        self.before, self.behind = Norm(width), Norm(width)
        self.vision = Stack(layers, width, heads, ffn, fused, recompute)
        self.image_out = nn.Parameter(torch.randn(width, embed) * 0.02)
        layers, width, heads = text
        self.words = nn.Embedding(49408, width)
        self.word_position = nn.Parameter(torch.randn(77, width) * 0.02)
        self.text = Stack(layers, width, heads, 4 * width, fused, recompute)
        self.text_norm = Norm(width)
        self.text_out = nn.Parameter(torch.randn(width, embed) * 0.02)
        self.register_buffer("mask", torch.full((77, 77), float("-inf")).triu(1))
        self.scale = nn.Parameter(torch.ones([]) * 2.6)

    def forward(self, image, tokens):
        x = self.patches(image).flatten(2).permute(0, 2, 1)
        x = torch.cat([self.cls.to(x.dtype) + torch.zeros(x.shape[0], 1, x.shape[-1], dtype=x.dtype, device=x.device), x], dim=1)
        x = self.before(x + self.position.to(x.dtype)).permute(1, 0, 2)
        x = self.behind(self.vision(x).permute(1, 0, 2)[:, 0]) @ self.image_out
        t = (self.words(tokens) + self.word_position).permute(1, 0, 2)
        t = self.text_norm(self.text(t, self.mask).permute(1, 0, 2))
        t = t[torch.arange(t.shape[0], device=t.device), tokens.argmax(dim=-1)] @ self.text_out
        return F.normalize(x, dim=-1), F.normalize(t, dim=-1), self.scale.exp()


KINDS = [("softmax", "softmax"), ("norm backward weight", "gammabeta"), ("norm", "layer_norm"), ("norm", "layernorm"), ("norm", "rowwise"),
         ("optimizer", "multi_tensor"), ("optimizer", "adam"), ("gelu", "gelu"), ("reduction", "reduce_kernel"), ("cat", "cat"),
         ("attention", "flash"), ("attention", "fmha"), ("convolution", "conv"), ("matrix", "gemm"), ("matrix", "nvjet"), ("matrix", "cutlass"),
         ("matrix", "xmma"), ("copy or cast", "copy"), ("elementwise", "elementwise")]


def kind_of(name):
    low = name.lower()
    for kind, word in KINDS:
        if word in low:
            return kind
    return "other"


def measure(name, model, vision, text, embed, batch, all_batch, recompute, fused, precision, seconds):
    torch.manual_seed(0)
    clip = Clip(vision, text, embed, fused, recompute).to(DEV)
    optimizer = torch.optim.AdamW(clip.parameters(), lr=1e-4, foreach=True)
    scaler = torch.amp.GradScaler("cuda", enabled=precision == torch.float16)
    image = torch.randn(batch, 3, 224, 224, device=DEV)
    tokens = torch.randint(0, 49407, (batch, 77), device=DEV)
    others = F.normalize(torch.randn(all_batch, embed, device=DEV), dim=-1)
    labels = torch.arange(batch, device=DEV)

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=precision or torch.float16, enabled=precision is not None):
            i, t, s = clip(image, tokens)
            all_i, all_t = torch.cat([i, others[batch:].to(i.dtype)]), torch.cat([t, others[batch:].to(t.dtype)])
            loss = (F.cross_entropy(s * i @ all_t.T, labels) + F.cross_entropy(s * t @ all_i.T, labels)) / 2
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    out = {"configuration": name, "model": model, "batch": batch, "recompute": recompute, "fused_attention": fused,
           "precision": str(precision or "tf32").replace("torch.", "")}
    try:
        for _ in range(3):
            step()
        torch.cuda.synchronize()
        times, until = [], time.time() + seconds
        while time.time() < until or len(times) < 5:
            begin = time.time()
            step()
            torch.cuda.synchronize()
            times.append(time.time() - begin)
        times.sort()
        out["step_s"] = round(times[len(times) // 2], 5)
        out["samples_per_s"] = round(batch / out["step_s"], 1)
        out["memory_gb"] = round(torch.cuda.max_memory_allocated() / 1e9, 2)
        with profile(activities=[ProfilerActivity.CUDA]) as p:
            step()
            torch.cuda.synchronize()
        sums, names = {}, {}
        for event in p.key_averages():
            us = event.self_device_time_total
            if us <= 0:
                continue
            sums[kind_of(event.key)] = sums.get(kind_of(event.key), 0) + us
            names[event.key[:110]] = [round(us), event.count]
        out["us"] = {k: round(v) for k, v in sorted(sums.items(), key=lambda x: -x[1])}
        out["top"] = dict(sorted(names.items(), key=lambda x: -x[1][0])[:22])
    except torch.OutOfMemoryError:
        out["error"] = "out of memory"
    print(json.dumps(out), flush=True)
    del clip, optimizer
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()


def products():
    """Batched products of odd length, as scores and values of attention have it."""
    for length in (50, 56, 77, 80, 197, 200, 256, 257, 264):
        b = 4096
        q, k = (torch.randn(length, b, 64, device=DEV, dtype=torch.float16).transpose(0, 1) for _ in range(2))
        p = torch.randn(b, length, length, device=DEV, dtype=torch.float16)
        row = {"products": length}
        for what, run in (("scores", lambda: torch.bmm(q, k.transpose(1, 2))), ("values", lambda: torch.bmm(p, k)),
                          ("transposed", lambda: torch.bmm(p.transpose(1, 2), k))):
            for _ in range(3):
                run()
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            for _ in range(20):
                run()
            end.record()
            torch.cuda.synchronize()
            us = 1e3 * start.elapsed_time(end) / 20
            row[what] = {"us": round(us, 1), "tflops": round(2 * b * length * length * 64 / us * 1e-6, 1)}
        print(json.dumps(row), flush=True)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 4.0
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    print(json.dumps({"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}), flush=True)
    products()
    b32, b16, l14, h14 = (12, 768, 12, 3072, 32), (12, 768, 12, 3072, 16), (24, 1024, 16, 4096, 14), (32, 1280, 16, 5120, 14)
    small, large, huge = (12, 512, 8), (12, 768, 12), (24, 1024, 16)
    half = torch.float16
    measure("b32", "clip-vit-b-32", b32, small, 512, 256, 32768, False, False, half, seconds)
    measure("b16", "clip-vit-b-16", b16, small, 512, 256, 88064, False, False, half, seconds)
    measure("l14", "clip-vit-l-14", l14, large, 768, 512, 16384, True, False, half, seconds)
    measure("h14", "clip-vit-h-14", h14, huge, 1024, 96, 79104, True, False, half, seconds)
    measure("l14-none", "clip-vit-l-14", l14, large, 768, 128, 16384, False, False, half, seconds)
    measure("l14-tf32", "clip-vit-l-14", l14, large, 768, 256, 16384, True, False, None, seconds)
    measure("l14-fused", "clip-vit-l-14", l14, large, 768, 512, 16384, True, True, half, seconds)
    measure("b32-fused", "clip-vit-b-32", b32, small, 512, 256, 32768, False, True, half, seconds)
    measure("b16-fused", "clip-vit-b-16", b16, small, 512, 256, 32768, False, True, half, seconds)


if __name__ == "__main__":
    main()
