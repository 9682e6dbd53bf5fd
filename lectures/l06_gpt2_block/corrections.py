"""Where the source lectures and a run disagree, on what lecture 06 is about."""

import math

import torch
from torch.nn.functional import gelu, layer_norm

from course_utils.layers.feedforward import SwiGLU
from course_utils.models.gpt2 import GPT2, GPT2Config
from course_utils.teaching import source_note


def count(module):
    """The parameters of a module; one that is used twice counts once."""
    return sum(each.numel() for each in module.parameters())


def row_18():
    """LayerNorm's deviation."""
    h = torch.randn(4, 8, dtype=torch.float64)
    claimed = (h - h.mean(-1, keepdim=True)) / (h.std(-1, keepdim=True) + 1e-5)
    return source_note(
        18,
        claim="LayerNorm is (x − μ)/(std + 1e-5), the deviation estimated with N − 1.",
        measured=f"At width 8 that is {(claimed / layer_norm(h, (8,))).mean():.4f} times LayerNorm "
        f"as PyTorch and GPT-2 have it; √(7/8) = {math.sqrt(7 / 8):.4f}.",
        holds="The variance is the mean of squares over C, not C − 1, and ε is inside the root. At "
        "C = 768 the difference is still 0.07 %, far above 1e-5.",
    )


def row_19():
    """What a block learns."""
    with torch.device("meta"):  # sizes, and no numbers
        gpt2 = GPT2(GPT2Config())
    names = [name for name, _ in gpt2.blocks[0].named_parameters()]
    biases = [name for name in names if name.endswith("bias")]
    return source_note(
        19,
        claim="A GPT-2 block has eight groups of learned parameters; attention has no biases.",
        measured=f"{len(names)} tensors, {len(biases)} of them biases; "
        f"{count(gpt2.blocks[0]):,} parameters in a block, {count(gpt2):,} in all.",
        holds="All four projections of attention have biases, and each norm has two vectors. The "
        "output matrix is the embedding's and adds nothing.",
    )


def row_20():
    """Which GELU."""
    z = torch.linspace(-6, 6, 100_001, dtype=torch.float64)
    gap = (gelu(z, approximate="tanh") - z * torch.special.ndtr(z)).abs().max()  # ndtr is Φ
    return source_note(
        20,
        claim="The feed-forward part has ReLU; GELU is x·Φ(x).",
        measured=f"GPT-2's tanh form differs from x·Φ(x) by up to {gap:.1e}.",
        holds="GPT-2 computes the tanh form. Both are GELU in a paper; only one is GPT-2's when "
        "parts are compared.",
    )


def row_21():
    """SwiGLU's third matrix."""
    two_matrices, three_matrices = 2 * 768 * (4 * 768), 3 * 768 * (4 * 768)
    equal = sum(each.numel() for each in SwiGLU(768).parameters() if each.dim() == 2)
    return source_note(
        21,
        claim="SwiGLU(x) = (W₁x) ⊗ swish(W₂x), with a hidden width of 4C.",
        measured=f"With a width of 4C its three matrices have {three_matrices:,} numbers, "
        f"{three_matrices / two_matrices:.2f} times those of GELU's two.",
        holds="There is a third matrix, W₃, back to width C. Equal parameters need a hidden width "
        f"of 8C/3: {equal:,} numbers at C = 768.",
    )
