"""What lecture 03 claims of trained models; `make claims LECTURE=03` runs it on fresh seeds."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from course_utils.attention import attend
from course_utils.layers import merge_heads, split_heads
from course_utils.lectures.l03_heads.experiments import dates
from course_utils.lectures.l03_heads.experiments.copying import train_copier
from course_utils.teaching.claims import Claim
from course_utils.training import TEST_SEED, train

__all__ = ["CLAIMS"]

T, V = 16, 16  # tokens in a sequence, and kinds of them, where heads are split wrongly


def run_two_heads(seeds, steps):
    """Two heads and one, after the same steps."""
    two, one = (train_copier(H, seeds=seeds, steps=steps).scores[:, -1] for H in (2, 1))
    return [{"two heads": a, "one head": b} for a, b in zip(two, one, strict=True)]


def run_by_position(seeds, steps):
    """One head whose weights depend on positions alone: its best share, and that of two."""
    one = train_copier(1, seeds=seeds, steps=steps).scores.amax(dim=1)
    two = train_copier(2, seeds=seeds, steps=min(steps, 500)).scores[:, -1]
    return [
        {"one head, its best": a, "two heads, 500 steps": b} for a, b in zip(one, two, strict=True)
    ]


def run_from_tokens(seeds, steps):
    """One head whose weights depend on the tokens too."""
    curves = train_copier(1, seeds=seeds, steps=steps, from_tokens=True).scores
    early = min(14, curves.shape[1] - 1)  # the 15th point is after 300 steps
    return [{"at the end": row[-1], "after 300 steps": row[early]} for row in curves]


def run_two_layers(seeds, steps):
    """Two layers of one head each, beside one layer."""
    two, one = (
        train_copier(1, seeds=seeds, steps=steps, num_layers=layers).scores[:, -1]
        for layers in (2, 1)
    )
    return [{"two layers": a, "one layer": b} for a, b in zip(two, one, strict=True)]


class Reader(nn.Module):
    """The lecture's layer of four heads that names the token one place before."""

    def __init__(self, split, merge):
        super().__init__()
        self.split, self.merge = split, merge
        self.tokens, self.positions = nn.Embedding(V, 32), nn.Embedding(T, 32)
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, V)

    def forward(self, ids):
        """Return logits, (B, T, V)."""
        x = self.tokens(ids) + self.positions.weight
        q, k, v = (self.split(part) for part in self.qkv(x).chunk(3, dim=-1))
        return self.out(self.merge(attend(q, k, v)[0]))


def last_losses(seeds, steps, split, merge):
    """Return the mean loss of the last ten steps, for each seed."""

    def loss(model, ids):
        guesses, answers = model(ids)[:, 1:], ids[:, :-1]
        return cross_entropy(guesses.flatten(0, 1), answers.flatten())

    def batch(generator):
        return (torch.randint(V, (32, T), generator=generator),)

    done = train(
        lambda: Reader(split, merge), batch, loss, seeds=seeds, steps=steps, learning_rate=0.01
    )
    return done.losses[:, -10:].mean(dim=1)


def right_split(y):
    """Split into four heads."""
    return split_heads(y, 4)


def wrong_split(y):
    """Cut the memory into four stretches: the same shape, other tokens."""
    return y.reshape(-1, 4, T, 8)


def run_wrong_split(seeds, steps):
    """Wrong there and back, beside right there and back."""
    wrong = last_losses(seeds, steps, wrong_split, lambda y: y.reshape(-1, T, 32))
    right = last_losses(seeds, steps, right_split, merge_heads)
    return [{"wrong split": a, "right split": b} for a, b in zip(wrong, right, strict=True)]


def run_hidden_split(seeds, steps):
    """The wrong split with the right merge, beside right there and back."""
    wrong = last_losses(seeds, steps, wrong_split, merge_heads)
    right = last_losses(seeds, steps, right_split, merge_heads)
    names = "wrong split, right merge", "both right"
    return [dict(zip(names, each, strict=True)) for each in zip(wrong, right, strict=True)]


def run_dates(seeds, steps):
    """The mean weight of cross-attention on the token that gives the answer."""

    def pairs(generator):
        return dates.date_pairs(32, generator)

    done = train(
        dates.DateTranslator,
        pairs,
        dates.date_loss,
        seeds=seeds,
        steps=steps,
        learning_rate=0.004,
    )
    source, target = dates.date_pairs(1000, torch.Generator().manual_seed(TEST_SEED))
    places = dates.places_to_read(source)
    found = []
    for model in done.models:
        written, weights = model.translate(source)  # pyright: ignore[reportCallIssue]
        there = weights[:, 0].gather(-1, places.clamp(min=0)[..., None])[..., 0]
        right = (written == target).all(dim=1).float().mean()
        found.append(
            {
                "weight on the right token": there[places >= 0].mean(),
                "even weights": 1 / source.shape[1],
                "dates right": right,
            }
        )
    return found


CLAIMS = (
    Claim(
        name="two_heads_copy",
        sentence="With two heads, both answers are right at more than 95 % of the places after "
        "300 steps.",
        run=run_two_heads,
        holds=lambda n: n["two heads"] > 0.95,
        effect="two heads",
        baseline="one head",
        budget=300,
        quick=20,
    ),
    Claim(
        name="one_head_by_position_cannot",
        sentence="One head whose weights depend on positions alone never gets beyond 40 %, even "
        "in 4,000 steps.",
        run=run_by_position,
        holds=lambda n: n["one head, its best"] < 0.4,
        effect="one head, its best",
        baseline="two heads, 500 steps",
        budget=4000,
        quick=20,
    ),
    Claim(
        name="one_head_escapes",
        sentence="Let its weights depend on the tokens too, and one head escapes, late: after "
        "4,000 steps more than 80 % of the places are right.",
        run=run_from_tokens,
        holds=lambda n: n["at the end"] > 0.8,
        effect="at the end",
        baseline="after 300 steps",
        budget=4000,
        quick=20,
    ),
    Claim(
        name="two_layers_copy",
        sentence="Two layers of one head each get more than 95 % of the places right after 300 "
        "steps.",
        run=run_two_layers,
        holds=lambda n: n["two layers"] > 0.95,
        effect="two layers",
        baseline="one layer",
        budget=300,
        quick=20,
    ),
    Claim(
        name="wrong_split_trains",
        sentence="Wrong there and back, it trains to a loss between 0.55 and 0.60.",
        run=run_wrong_split,
        holds=lambda n: 0.55 < n["wrong split"] < 0.60,
        effect="wrong split",
        baseline="right split",
        budget=200,
        quick=20,
    ),
    Claim(
        name="wrong_split_hides",
        sentence="With the right merge behind it, the wrong split trains to a loss below 0.02: the "
        "loss does not show it.",
        run=run_hidden_split,
        holds=lambda n: n["wrong split, right merge"] < 0.02,
        effect="wrong split, right merge",
        baseline="both right",
        budget=400,
        quick=20,
    ),
    Claim(
        name="dates_are_aligned",
        sentence="Where one token gives the answer, cross-attention puts more than 0.8 of its "
        "weight on that token, and more than 95 % of whole dates are right.",
        run=run_dates,
        holds=lambda n: n["weight on the right token"] > 0.8 and n["dates right"] > 0.95,
        effect="weight on the right token",
        baseline="even weights",
        budget=300,
        quick=10,
    ),
)
