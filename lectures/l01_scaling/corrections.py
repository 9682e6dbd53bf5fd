"""Where the source lectures and a run disagree, on what lecture 01 is about."""

import torch
from torch.nn.functional import layer_norm, normalize

from course_utils.models import minilm_or_random as models
from course_utils.teaching import source_note

PAIRS, D = 20_000, 64


def estimate(samples):
    """A mean, and the interval that holds it in 99 of 100 samples."""
    return f"{samples.mean():.2f} ± {2.576 * samples.std() / len(samples) ** 0.5:.2f}"


def row_4():
    """Why a score has the variance d."""
    coins, others = torch.randint(2, (2, PAIRS, D)) * 2.0 - 1
    scores = (coins * others).sum(dim=1)
    q, k = torch.randn(2, PAIRS, D)
    tied = (q * (0.3 * q + (1 - 0.3**2) ** 0.5 * k)).sum(dim=1)  # correlation ρ = 0.3
    scores_of_heads = [
        torch.stack(r.queries) @ torch.stack(r.keys).mT / 32**0.5  # (layers, heads, T, T)
        for r in map(models.read_text, models.SENTENCES)
    ]
    spread = torch.cat([each.flatten(2) for each in scores_of_heads], dim=2).std(dim=2)
    return source_note(
        4,
        claim="Var(q·k) = d_k because Q and K are initialised so.",
        measured=f"At d_k = 64, coin flips: variance {estimate(scores**2)}; correlated, ρ = 0.3: "
        f"mean {estimate(tied)}. Standard deviation of the scores of 72 trained heads: "
        f"{spread.min():.2f} to {spread.max():.1f} after the division.",
        holds="It takes independent numbers of mean 0 and variance 1, and no normal distribution. "
        "Correlation ρ gives a mean of ρ·d_k. Over the words of a text, the numbers of a trained "
        "query have neither mean 0 nor variance 1.",
    )


def row_5():
    """LayerNorm and cosines."""
    reading = models.read_text(models.TIRED)
    hidden = reading.hidden_states[3]  # what layer 3 reads
    vectors = {
        "LayerNorm": layer_norm(hidden, hidden.shape[-1:]),
        "q": reading.queries[3][1],
        "k": reading.keys[3][1],
    }
    lengths = {name: rows.norm(dim=-1) for name, rows in vectors.items()}
    ratio = {name: f"{each.max() / each.min():.2f}" for name, each in lengths.items()}
    return source_note(
        5,
        claim="LayerNorm makes QKᵀ a matrix of cosines.",
        measured=f"Longest over shortest vector of one sentence: {ratio['LayerNorm']} after "
        f"LayerNorm, {ratio['q']} for the queries of layer 3, head 1, {ratio['k']} for its keys.",
        holds="LayerNorm fixes mean and variance of x. The length of q = W_Q·LN(x) is free. Only "
        "models that normalise q and k themselves have |q| = |k| = 1.",
    )


def row_6():
    """The rule for unit vectors."""
    q, k = normalize(torch.randn(2, PAIRS, D), dim=-1)
    return source_note(
        6,
        claim="The rule is: divide by √d_k.",
        measured="Unit vectors, d_k = 64: variance of the score times d_k "
        f"{estimate(D * (q * k).sum(dim=1) ** 2)}.",
        holds="The rule depends on the lengths. For numbers of variance 1 divide by √d_k; for unit "
        "vectors the variance is 1/d_k, so nGPT multiplies by √d_k.",
    )
