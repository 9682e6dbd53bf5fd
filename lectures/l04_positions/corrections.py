"""Where the source lectures and a run disagree, on what lecture 04 is about."""

from statistics import median

import torch

from course_utils.attention import attend
from course_utils.models.minilm_or_random import reading_encoder
from course_utils.positions import sinusoidal_positions
from course_utils.teaching import source_note
from course_utils.teaching.claims import read_replications


def row_13():
    """Invariant or equivariant."""
    x, (w_q, w_k, w_v) = torch.randn(5, 8), torch.randn(3, 8, 8)
    order = torch.tensor([3, 0, 4, 1, 2])

    def head(x):
        return attend(x @ w_q, x @ w_k, x @ w_v)[0]

    unchanged = torch.allclose(head(x[order]), head(x), atol=1e-5)
    shuffled = torch.allclose(head(x[order]), head(x)[order], atol=1e-5)
    return source_note(
        13,
        claim="Self-attention is permutation invariant.",
        measured=f"Shuffled words give the same output: {unchanged}. They give the same vectors in "
        f"the shuffled order, to 1e-5: {shuffled}.",
        holds="It is equivariant. What pools over all words afterwards is invariant.",
    )


def row_14():
    """The sinusoids at position 1."""
    row = [f"{value:.3f}" for value in sinusoidal_positions(2, 8)[1].tolist()]
    return source_note(
        14,
        claim="The sinusoidal table for d = 8 at position 1: 0.841, 0.541, 0.01, 1.0, 0.0, …",
        measured=", ".join(row),
        holds="The exponent counts pairs: speeds 1, 0.1, 0.01, 0.001.",
    )


def row_15():
    """The positions of BERT and GPT-3."""
    learned = reading_encoder().embeddings.positions.weight.detach()
    waves = sinusoidal_positions(*learned.shape)
    cosine = torch.cosine_similarity(learned.flatten(), waves.flatten(), dim=0)
    return source_note(
        15,
        claim="GPT-3 and BERT use sinusoidal positions.",
        measured="MiniLM has the form of a BERT. Its table of positions is a learned parameter of "
        f"shape {tuple(learned.shape)}; its cosine with the sinusoids is {abs(cosine):.2f}.",
        holds="BERT and GPT-1 to GPT-3 learn one vector for each position.",
    )


def row_16():
    """The score of two rotated vectors."""
    distance, width = 12, 64
    speeds = 10_000.0 ** -(torch.arange(0, width, 2, dtype=torch.float64) / width)
    q, k = torch.view_as_complex(torch.randn(2, width // 2, 2, dtype=torch.float64))
    products = q * k.conj()
    score = (products * torch.exp(1j * distance * speeds)).real.sum()
    cosine_part = (products.real * torch.cos(distance * speeds)).sum()
    return source_note(
        16,
        claim="q'·k' = q·k·cos((m − n)θ) + cross terms.",
        measured=f"At m − n = {distance}, {width // 2} pairs: the score is {score:.3f}, and its "
        f"cosine part {cosine_part:.3f}.",
        holds="The “cross terms” are (q₀k₁ − q₁k₀)·sin((m − n)θ) in each pair, no small rest; and "
        "θ differs from pair to pair, so that q·k does not come out as a factor.",
    )


def row_17():
    """RoPE on longer texts."""
    found = read_replications()

    def lost(claim, which="effect"):
        return f"{median(getattr(found[claim], which)):.2f}"

    return source_note(
        17,
        claim="RoPE extrapolates to longer sequences.",
        measured="Trained on 32 notes and tested on 256, 12 seeds, the median loss of accuracy. "
        f"The answer stays near: RoPE {lost('rope_falls')}, ALiBi {lost('alibi_holds_near')}. It "
        f"moves away: RoPE interpolated {lost('interpolated_rope_holds_away')}, ALiBi "
        f"{lost('alibi_holds_near', 'rival')}.",
        holds="RoPE degrades most when more than the length grows: rivals, distances. ALiBi holds "
        "while what matters is near, interpolation while distances grow with the text.",
    )
