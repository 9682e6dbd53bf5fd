"""Where the source lectures and a run disagree, on what lecture 00 is about."""

import torch

from course_utils.attention import attend
from course_utils.measure.costs import attention_mixing_flops, path_length, recurrent_flops
from course_utils.teaching import source_note

KINDS = "recurrent", "convolution", "dilated convolution", "attention"


def row_1():
    """Three words and their weights."""
    x = torch.tensor([[1.0, 0.5, 0.2, 0.1], [0.3, 1.0, 0.4, 0.2], [0.2, 0.3, 1.0, 0.5]])
    out, weights = attend(x, x, x)
    return source_note(
        1,
        claim="Three words have the weights 0.348/0.325/0.327, 0.32/0.36/0.32, 0.309/0.314/0.377.",
        measured=f"With the text's own x: {weights.double().numpy().round(3).tolist()}.",
        holds="Each word gives itself about 0.4. The printed outputs are not those of the printed "
        f"code either, whose first row is {out[0].double().numpy().round(3).tolist()}.",
    )


def row_2():
    """How far a convolution reaches."""
    paths = ", ".join(f"{kind} {path_length(kind, 81)}" for kind in KINDS)
    return source_note(
        2,
        claim="A convolutional network carries a signal over distance N in O(log N) layers.",
        measured=f"From the first of 81 tokens to the last, in steps or layers: {paths}.",
        holds="The logarithm needs dilation. Plain ones of width 3 that look back need (N − 1)/2 "
        "layers, centred ones N − 1, and attention one.",
    )


def row_3():
    """What an RNN and attention cost."""
    work = [(n, attention_mixing_flops(n, 512), recurrent_flops(n, 512)) for n in (64, 512, 4096)]
    rows = [f"N = {n}: {mixing / 1e6:,.0f} and {rnn / 1e6:,.0f}" for n, mixing, rnn in work]
    return source_note(
        3,
        claim="An RNN costs O(N), attention O(N²).",
        measured=f"Million operations at width C = 512, N² part and RNN: {'; '.join(rows)}.",
        holds="The width counts too: 4N²C for scores and mixing, 4NC² for the RNN, equal at "
        "N = C. Attention's four matrices take 8NC² on top. What no recurrent layer can do is read "
        "all tokens in one step.",
    )
