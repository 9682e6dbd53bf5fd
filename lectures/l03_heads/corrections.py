"""Where the source lectures and a run disagree, on what lecture 03 is about."""

import torch

from course_utils.layers import MultiHeadAttention
from course_utils.teaching import source_note


def row_11():
    """The parameters of h heads."""
    layers = [MultiHeadAttention(512, heads, bias=False) for heads in (1, 8, 32)]
    counts = [sum(each.numel() for each in layer.parameters()) for layer in layers]
    return source_note(
        11,
        claim="Splitting into h heads makes the parameters O(C²/h).",
        measured=f"At C = 512: {counts[0]:,} parameters with 1 head, {counts[1]:,} with 8, "
        f"{counts[2]:,} with 32.",
        holds="4·C² for every h. What falls with h is the rank of one head's scores: at most C/h.",
    )


def row_12():
    """The split into heads."""
    tokens = torch.arange(6)[:, None].repeat(1, 6)  # (N, C) = (6, 6): whose number it is
    heads = tokens.reshape(2, 6, 3)  # (h, N, d_k), at once
    return source_note(
        12,
        claim="A head's q, k, v are a reshape of (N, C), by (N, h, d_k) to (h, N, d_k).",
        measured=f"Reshaped at once, head 0 has tokens {heads[0].unique().tolist()} of six. "
        "Lecture 03 trains such layers.",
        holds="view(N, h, d_k), then transpose. The direct view keeps every shape right.",
    )
