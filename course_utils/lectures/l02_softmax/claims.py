"""What lecture 02 claims of random and of trained models; `make claims LECTURE=02` runs it."""

import torch

from course_utils.attention import effective_tokens
from course_utils.lectures.l02_softmax.experiments import (
    RATES,
    steps_until_done,
    train_with_and_without_scale,
)
from course_utils.teaching.claims import Claim

__all__ = ["CLAIMS"]

NAMES = {"scaled": "divided", "unscaled": "not divided", "small start": "small start"}


def race(seeds, steps, d_k, optimizer, rate=None, starts=("scaled", "unscaled")):
    """Return columns: after how many steps each start is done, and the loss at the end."""
    trainings = train_with_and_without_scale(
        widths=[d_k], starts=starts, optimizers=[optimizer], seeds=seeds, steps=steps, rate=rate
    )
    columns = {
        f"steps, {NAMES[setting.start]}": torch.tensor(steps_until_done(done))
        for setting, done in trainings.items()
    }
    losses = [done.losses[:, -20:].mean(dim=1) for done in trainings.values()]
    return columns | {
        f"loss, {NAMES[start]}": loss for start, loss in zip(starts, losses, strict=True)
    }


def rows(columns):
    """Return a dictionary for each seed."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def run_narrow(seeds, steps):
    """The later of both optimisers at width 4."""
    sgd, adam = (race(seeds, steps, 4, optimizer) for optimizer in ("sgd", "adam"))
    return rows({name: torch.maximum(sgd[name], adam[name]) for name in sgd})


def run_adam(seeds, steps):
    """Width 256 under Adam."""
    return rows(race(seeds, steps, 256, "adam"))


def run_small_rate(seeds, steps):
    """Width 64 under SGD, at the smallest rate."""
    return rows(race(seeds, steps, 64, "sgd", RATES["sgd"][0]))


def run_large_rate(seeds, steps):
    """Width 64 under SGD, at the largest rate."""
    return rows(race(seeds, steps, 64, "sgd", RATES["sgd"][2]))


def run_best_rates(seeds, steps):
    """How many times as many steps the undivided model takes, each at its best rate."""
    columns = {}
    for optimizer, rates in RATES.items():
        races = [race(seeds, steps, 64, optimizer, rate) for rate in rates]
        plain, divided = (
            torch.stack([each[f"steps, {name}"] for each in races]).amin(dim=0)
            for name in ("not divided", "divided")
        )
        columns[f"{optimizer}, times as many"] = plain / divided
        columns[f"{optimizer}, a loss"] = races[0]["loss, divided"]
    return rows(columns)


def run_small_start(seeds, steps):
    """A small W_q beside the division, at SGD's middle and largest rate."""
    columns = {}
    for rate in RATES["sgd"][1:]:
        for name, column in race(seeds, steps, 64, "sgd", rate, ("scaled", "small start")).items():
            columns[f"{name}, rate {rate}"] = column
    return rows(columns)


def fresh_rows(seed, rows):
    """Return queries, keys and a pull on the weights at width 64, all random."""
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(count, 64, generator=generator) for count in (rows, 64, rows))


def run_rows(seeds, rows):
    """The mean largest weight of a row, and how many keys it attends to."""
    found = []
    for seed in seeds:
        q, k, _ = fresh_rows(seed, rows)
        plain, divided = ((scale * q @ k.T).softmax(dim=-1) for scale in (1.0, 1 / 8))
        found.append(
            {
                "largest weight, not divided": plain.amax(dim=-1).mean(),
                "divided": divided.amax(dim=-1).mean(),
                "keys": effective_tokens(plain).mean(),
            }
        )
    return found


def run_query_gradient(seeds, rows):
    """The gradient at the query: the median row and the smallest tenth, in divided medians."""
    found = []
    for seed in seeds:
        q, k, u = fresh_rows(seed, rows)
        tenth = torch.tensor([0.1, 0.5])
        sizes = {}
        for scale in (1.0, 1 / 8):
            query = q.clone().requires_grad_()
            ((scale * query @ k.T).softmax(dim=-1) * u).sum().backward()
            sizes[scale] = query.grad.norm(dim=-1).quantile(tenth)  # pyright: ignore[reportOptionalMemberAccess]
        low, middle = sizes[1.0] / sizes[1 / 8][1]
        found.append({"median row, times": middle, "one row in ten, below": low})
    return found


CLAIMS = (
    Claim(
        name="rows_are_sharp",
        sentence="So a typical row is sharp, not dead: its largest weight averages 0.8, and it "
        "attends to two keys instead of forty.",
        run=run_rows,
        holds=lambda n: 0.75 < n["largest weight, not divided"] < 0.85 and n["keys"] < 2.5,
        effect="largest weight, not divided",
        baseline="divided",
        budget=4000,
        quick=50,
    ),
    Claim(
        name="query_gradient_is_unequal",
        sentence="Call what the median divided row receives 1: without the division the median row "
        "receives four to six, and one row in ten less than 0.1.",
        run=run_query_gradient,
        holds=lambda n: 4 < n["median row, times"] < 6 and n["one row in ten, below"] < 0.1,
        effect="median row, times",
        baseline="one row in ten, below",
        budget=4000,
        quick=50,
    ),
    Claim(
        name="narrow_heads_need_no_scale",
        sentence="At width 4 both models are done within 250 steps, under SGD and Adam alike.",
        run=run_narrow,
        holds=lambda n: max(n["steps, not divided"], n["steps, divided"]) <= 250,
        effect="steps, not divided",
        baseline="steps, divided",
        budget=250,
        quick=5,
    ),
    Claim(
        name="adam_does_not_make_up_for_it",
        sentence="Under Adam, at width 256, the divided model is done within 100 steps, and the "
        "undivided one takes more than twice as many.",
        run=run_adam,
        holds=lambda n: (
            n["steps, divided"] <= 100 and n["steps, not divided"] > 2 * n["steps, divided"]
        ),
        effect="steps, not divided",
        baseline="steps, divided",
        budget=250,
        quick=5,
    ),
    Claim(
        name="sgd_at_a_small_rate",
        sentence="At SGD's rate of 0.03 the division hardly helps at width 64: the undivided model "
        "is ahead after 250 steps in {held} of {tried} fresh runs.",
        run=run_small_rate,
        holds=lambda n: n["loss, not divided"] < n["loss, divided"],
        effect="loss, not divided",
        baseline="loss, divided",
        budget=250,
        quick=5,
    ),
    Claim(
        name="sgd_bears_a_large_rate_divided",
        sentence="At SGD's rate of 0.5 the divided one is done within 100 steps, and the undivided "
        "one not after 250.",
        run=run_large_rate,
        holds=lambda n: n["steps, divided"] <= 100 and n["steps, not divided"] > 250,
        effect="steps, not divided",
        baseline="steps, divided",
        budget=250,
        quick=5,
    ),
    Claim(
        name="best_rate_of_three_for_each",
        sentence="Give each model of width 64 the best of its three rates, and the undivided one "
        "still takes longer, under SGD and Adam alike.",
        run=run_best_rates,
        holds=lambda n: min(n["sgd, times as many"], n["adam, times as many"]) > 1,
        effect="sgd, times as many",
        baseline="adam, times as many",
        budget=400,
        quick=5,
    ),
    Claim(
        name="small_start_trains_at_small_rates",
        sentence="At SGD's rate of 0.12 a small start trains even faster than the division, at 0.5 "
        "more slowly.",
        run=run_small_start,
        holds=lambda n: (
            n["steps, small start, rate 0.12"] < n["steps, divided, rate 0.12"]
            and n["steps, small start, rate 0.5"] > n["steps, divided, rate 0.5"]
        ),
        effect="steps, small start, rate 0.5",
        baseline="steps, divided, rate 0.5",
        budget=250,
        quick=5,
    ),
)
