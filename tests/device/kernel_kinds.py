"""What a GPU kernel of PyTorch does, read from its name."""
import re

# The first that matches counts.
KINDS = (
    ("unaligned matrix", r"gemm.*align1\b|gemm.*_ffma_"),
    ("convolution", r"conv|wgrad|fprop_optimized|nchw|nhwc"),
    ("attention backward", r"sdpa.*bprop|compute_dot_do_o|convert_dq|flash_bwd"),
    ("attention forward", r"sdpa.*fprop|flash_fwd"),
    ("matrix", r"nvjet|gemm|splitKreduce|cutlass"),
    ("optimizer", r"multi_tensor_apply"),
    ("norm weight gradient", r"GammaBeta"),
    ("norm backward", r"layer_norm_grad_input"),
    ("norm forward", r"vectorized_layer_norm"),
    ("compiled", r"^triton_"),
    ("softmax and loss", r"SoftMax|softmax|nll_loss"),
    ("dropout", r"dropout|masked_scale"),
    ("activation", r"gelu|silu|Gelu|tanh|sigmoid|pow_tensor_scalar"),
    ("cast", r"copy_kernel_cuda"),
    ("concatenate", r"CatArray"),
    ("reduction", r"reduce_kernel"),
    ("set and copy", r"^Mem|FillFunctor"),
    ("elementwise", r"elementwise"),
)


def kind_of(name):
    return next((kind for kind, pattern in KINDS if re.search(pattern, name)), "other")
