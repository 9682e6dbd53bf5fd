"""What lecture 03 claims of trained models; `make claims LECTURE=03` runs it on fresh seeds."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from course_utils.attention import attend
from course_utils.layers import merge_heads, split_heads
from course_utils.lectures.l03_heads.experiments import dates
from course_utils.lectures.l03_heads.experiments.copying import train_copier
from course_utils.teaching.claims import LONGER, RATES, Claim, Setting
from course_utils.training import TEST_SEED, train

__all__ = ["CLAIMS"]

WIDER = Setting("twice the width", arguments={"width": 64})
T, V = 16, 16  # tokens in a sequence, and kinds of them, where heads are split wrongly


def run_two_heads(seeds, steps, width=32):
    """Two heads and one, after the same steps."""
    two, one = (
        train_copier(H, seeds=seeds, steps=steps, width=width).scores[:, -1] for H in (2, 1)
    )
    return [{"two heads": a, "one head": b} for a, b in zip(two, one, strict=True)]


def run_by_position(seeds, steps, width=32):
    """One head whose weights depend on positions alone: its best share, and that of two."""
    one = train_copier(1, seeds=seeds, steps=steps, width=width).scores.amax(dim=1)
    two = train_copier(2, seeds=seeds, steps=min(steps, 500), width=width).scores[:, -1]
    return [
        {"one head, its best": a, "two heads, 500 steps": b} for a, b in zip(one, two, strict=True)
    ]


def run_from_tokens(seeds, steps, width=32):
    """One head whose weights depend on the tokens too."""
    curves = train_copier(1, seeds=seeds, steps=steps, from_tokens=True, width=width).scores
    early = min(14, curves.shape[1] - 1)  # the 15th point is after 300 steps
    return [{"at the end": row[-1], "after 300 steps": row[early]} for row in curves]


def run_feedforward(seeds, steps, width=32):
    """One head whose weights depend on positions alone, with and without a network behind it."""
    behind, plain = (
        train_copier(1, seeds=seeds, steps=steps, feedforward=each, width=width).scores[:, -1]
        for each in (True, False)
    )
    return [{"feed-forward": a, "linear": b} for a, b in zip(behind, plain, strict=True)]


def run_two_layers(seeds, steps, width=32):
    """Two layers of one head each, beside one layer."""
    two, one = (
        train_copier(1, seeds=seeds, steps=steps, num_layers=layers, width=width).scores[:, -1]
        for layers in (2, 1)
    )
    return [{"two layers": a, "one layer": b} for a, b in zip(two, one, strict=True)]


class Reader(nn.Module):
    """The lecture's layer of four heads that names the token one place before."""

    def __init__(self, split, merge, width):
        super().__init__()
        self.split, self.merge = split, merge
        self.tokens, self.positions = nn.Embedding(V, width), nn.Embedding(T, width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, V)

    def forward(self, ids):
        """Return logits, (B, T, V)."""
        x = self.tokens(ids) + self.positions.weight
        q, k, v = (self.split(part) for part in self.qkv(x).chunk(3, dim=-1))
        return self.out(self.merge(attend(q, k, v)[0]))


def last_losses(seeds, steps, width, split, merge):
    """Return the mean loss of the last ten steps, for each seed."""

    def loss(model, ids):
        guesses, answers = model(ids)[:, 1:], ids[:, :-1]
        return cross_entropy(guesses.flatten(0, 1), answers.flatten())

    def batch(generator):
        return (torch.randint(V, (32, T), generator=generator),)

    def build():
        return Reader(split, merge, width)

    done = train(build, batch, loss, seeds=seeds, steps=steps, learning_rate=0.01)
    return done.losses[:, -10:].mean(dim=1)


def right_split(y):
    """Split into four heads."""
    return split_heads(y, 4)


def wrong_split(y):
    """Cut the memory into four stretches: the same shape, other tokens."""
    return y.reshape(-1, 4, T, y.shape[-1] // 4)


def wrong_merge(y):
    """Put the four stretches together again."""
    return y.reshape(-1, T, 4 * y.shape[-1])


def run_wrong_split(seeds, steps, width=32):
    """Wrong there and back, beside right there and back."""
    wrong = last_losses(seeds, steps, width, wrong_split, wrong_merge)
    right = last_losses(seeds, steps, width, right_split, merge_heads)
    return [{"wrong split": a, "right split": b} for a, b in zip(wrong, right, strict=True)]


def run_hidden_split(seeds, steps, width=32):
    """The wrong split with the right merge, beside right there and back."""
    wrong = last_losses(seeds, steps, width, wrong_split, merge_heads)
    right = last_losses(seeds, steps, width, right_split, merge_heads)
    names = "wrong split, right merge", "both right"
    return [dict(zip(names, each, strict=True)) for each in zip(wrong, right, strict=True)]


def run_dates(seeds, steps, width=32):
    """The mean weight of cross-attention on the token that gives the answer."""

    def pairs(generator):
        return dates.date_pairs(32, generator)

    done = train(
        lambda: dates.DateTranslator(width),
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
                "dates right": right,
            }
        )
    return found


CLAIMS = (
    Claim(
        name="two_heads_copy",
        sentence="After 300 steps of training, one layer of two heads whose weights depend on "
        "positions alone names both the token one back and the token three back at more than 95 % "
        "of the places.",
        run=run_two_heads,
        holds=lambda n: n["two heads"] > 0.95,
        effect="two heads",
        unit="of 1: share right",
        rival="one head",
        budget=300,
        quick=20,
        settings=(*RATES, WIDER),
    ),
    Claim(
        name="one_head_by_position_cannot",
        sentence="In 4,000 steps of training, one layer of one head whose weights depend on "
        "positions alone, with a linear readout, never names both the token one back and the token "
        "three back at 40 % of the places or more.",
        run=run_by_position,
        holds=lambda n: n["one head, its best"] < 0.4,
        at_stake=lambda n: n["two heads, 500 steps"] > 0.4,  # else nothing learns
        effect="one head, its best",
        unit="of 1: share right",
        rival="two heads, 500 steps",
        budget=4000,
        quick=20,
        settings=(*RATES, WIDER),
    ),
    Claim(
        name="one_head_escapes",
        sentence="After 4,000 steps of training, one layer of one head whose weights depend on the "
        "tokens too, with a linear readout, names both the token one back and the token three back "
        "at more than 80 % of the places.",
        run=run_from_tokens,
        holds=lambda n: n["at the end"] > 0.8,
        effect="at the end",
        unit="of 1: share right",
        rival="after 300 steps",
        budget=4000,
        quick=20,
        settings=(*RATES, WIDER),
    ),
    Claim(
        name="feedforward_reads_one_mixture",
        sentence="After 600 steps of training, one layer of one head whose weights depend on "
        "positions alone, with a feed-forward network between it and the linear readout, names "
        "both the token one back and the token three back at more than 80 % of the places.",
        run=run_feedforward,
        holds=lambda n: n["feed-forward"] > 0.8,
        effect="feed-forward",
        unit="of 1: share right",
        rival="linear",
        budget=600,
        quick=20,
        settings=(*RATES, WIDER),
    ),
    Claim(
        name="two_layers_copy",
        sentence="After 300 steps of training, two layers of one head each, whose weights depend "
        "on positions alone, name both the token one back and the token three back at more than "
        "95 % of the places.",
        run=run_two_layers,
        holds=lambda n: n["two layers"] > 0.95,
        effect="two layers",
        unit="of 1: share right",
        rival="one layer",
        budget=300,
        quick=20,
        settings=(*RATES, WIDER),
    ),
    Claim(
        name="wrong_split_trains",
        sentence="A layer of four heads that splits vectors into heads with one reshape and no "
        "transpose, and merges them in the same way, has a loss between 0.55 and 0.60 nats after "
        "200 steps of training to name the token one back.",
        run=run_wrong_split,
        holds=lambda n: 0.55 < n["wrong split"] < 0.60,
        effect="wrong split",
        unit="nats",
        rival="right split",
        budget=200,
        quick=20,
        settings=(*RATES, WIDER, LONGER),
    ),
    Claim(
        name="wrong_split_hides",
        sentence="A layer of four heads that splits vectors into heads with one reshape and no "
        "transpose, but merges them correctly, has a loss below 0.02 nats after 400 steps of "
        "training to name the token one back.",
        run=run_hidden_split,
        holds=lambda n: n["wrong split, right merge"] < 0.02,
        effect="wrong split, right merge",
        unit="nats",
        rival="both right",
        budget=400,
        quick=20,
        settings=(*RATES, WIDER),
    ),
    Claim(
        name="dates_are_aligned",
        sentence="After 300 steps of training to rewrite dates, cross-attention puts more than 0.8 "
        "of its weight on the source token that gives the answer, where there is one, and more "
        "than 95 % of unseen dates are right from end to end.",
        run=run_dates,
        holds=lambda n: n["weight on the right token"] > 0.8 and n["dates right"] > 0.95,
        effect="weight on the right token",
        unit="of 1: mean weight",
        budget=300,
        quick=10,
        settings=(*RATES, WIDER),
    ),
)
