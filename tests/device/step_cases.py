"""The one-GPU training steps that are measured and predicted: model of data/models → (batches, tokens a sample)."""
CASES = {
    "gpt2-xl": ((4, 16), 1024),
    "llama-3.2-1b": ((2, 8), 2048),
    "llama-3.2-3b": ((1, 4), 2048),
    "vit-l-16": ((32, 256), 0),
    "clip-vit-b-32": ((128, 1024), 77),
}
