"""Where the source lectures and a run disagree, on what lecture 02 is about."""

import torch

from course_utils.teaching import source_note


def row_7():
    """The lead of the best score."""
    e16 = torch.tensor(16.0, dtype=torch.float64).exp()
    ahead = e16 / (e16 + 63)
    scores = torch.randn(4000, 64) @ torch.randn(64, 64)  # 4,000 queries, 64 keys, d_k = 64
    first, second = scores.topk(2, dim=-1).values.T
    sharp = scores.softmax(dim=-1).amax(dim=-1)
    return source_note(
        7,
        claim="At d_k = 64 the best score leads by about 16, so its weight is about 0.9999 and the "
        "gradient about 1e-4.",
        measured=f"A lead of 16 gives {ahead:.6f} and p(1 − p) = {ahead * (1 - ahead):.1e}. But "
        f"the lead over the second averages {(first - second).mean():.1f}, the weight "
        f"{sharp.mean():.2f}.",
        holds=f"Undivided rows are sharp, {(sharp > 0.99).float().mean():.0%} of them beyond 0.99. "
        "Gradients become unequal.",
    )


def row_8():
    """The largest weight of a table."""
    scores = torch.randn(2000, 10, 64) @ torch.randn(2000, 10, 64).mT / 8  # 2,000 tables
    whole, each = scores.softmax(-1).amax((1, 2)), scores.softmax(-1).amax(-1)
    low, high = whole.quantile(torch.tensor([0.05, 0.95]))
    return source_note(
        8,
        claim="Divided scores (10 × 10, d_k = 64) have a largest weight of about 0.35.",
        measured=f"In 2,000 such tables it averages {whole.mean():.2f}; nine in ten are between "
        f"{low:.2f} and {high:.2f}.",
        holds=f"0.35 is one rare draw. The largest weight of one row averages {each.mean():.2f}.",
    )


def row_9():
    """A softmax that overflows."""
    high, many = torch.tensor([90.0, 91.0, 93.0]), torch.full((64,), 85.0)
    return source_note(
        9,
        claim="softmax is exp(scores) / sum(exp(scores)).",
        measured=f"In float32 the scores 90, 91, 93 give {(high.exp() / high.exp().sum()).tolist()}"
        f". And 64 scores of 85 give weights of {(many.exp() / many.exp().sum())[0]:.0f}: each "
        "exponential is finite, their sum is not.",
        holds="True on paper. In code subtract the row's maximum first.",
    )
