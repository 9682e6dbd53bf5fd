"""What lecture 02 claims of random and of trained models; `make claims LECTURE=02` runs it."""

import torch

from course_utils.attention import effective_tokens
from course_utils.lectures.l02_softmax import experiments
from course_utils.teaching.claims import LONGER, RATES, Claim, Setting

__all__ = ["CLAIMS"]

STEPS = "steps; 251 means not done"
RANDOM = (
    Setting("coordinates ±1 (coin flips)", arguments={"coins": True}),
    Setting("128 keys", arguments={"keys": 128}),
)
NAMES = {"scaled": "divided", "unscaled": "not divided", "small start": "small start"}


def race(seeds, steps, d_k, optimizer, rate=None, starts=("scaled", "unscaled")):
    """Return columns: after how many steps each start is done, and the loss at the end."""
    trainings = experiments.train_with_and_without_scale(
        widths=[d_k], starts=starts, optimizers=[optimizer], seeds=seeds, steps=steps, rate=rate
    )
    columns = {
        f"steps, {NAMES[setting.start]}": torch.tensor(experiments.steps_until_done(done))
        for setting, done in trainings.items()
    }
    losses = [done.losses[:, -20:].mean(dim=1) for done in trainings.values()]
    return columns | {
        f"loss, {NAMES[start]}": loss for start, loss in zip(starts, losses, strict=True)
    }


def rows(columns):
    """Return a dictionary for each seed."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def run_narrow(seeds, steps, d_k=4):
    """The later of both optimisers at width 4."""
    sgd, adam = (race(seeds, steps, d_k, optimizer) for optimizer in ("sgd", "adam"))
    return rows({name: torch.maximum(sgd[name], adam[name]) for name in sgd})


def run_adam(seeds, steps, d_k=256):
    """Width 256 under Adam."""
    return rows(race(seeds, steps, d_k, "adam"))


def run_small_rate(seeds, steps, d_k=64):
    """Width 64 under SGD, at the smallest rate."""
    return rows(race(seeds, steps, d_k, "sgd", experiments.RATES["sgd"][0]))


def run_best_rates(seeds, steps, d_k=64):
    """How many times as many steps the undivided model takes, each at its best rate."""
    columns = {}
    for optimizer, rates in experiments.RATES.items():
        races = [race(seeds, steps, d_k, optimizer, rate) for rate in rates]
        plain, divided = (
            torch.stack([each[f"steps, {name}"] for each in races]).amin(dim=0)
            for name in ("not divided", "divided")
        )
        columns[f"{optimizer}, times as many"] = plain / divided
        columns[f"{optimizer}, a loss"] = races[0]["loss, divided"]
    return rows(columns)


def run_small_start(seeds, steps, d_k=64):
    """A small W_q beside the division, at SGD's middle and largest rate."""
    columns, starts = {}, ("scaled", "small start")
    for size, rate in zip(("middle", "large"), experiments.RATES["sgd"][1:], strict=True):
        for name, column in race(seeds, steps, d_k, "sgd", rate, starts).items():
            columns[f"{name}, {size} rate"] = column
    return rows(columns)


def fresh_rows(seed, rows, keys, coins):
    """Return queries, keys and a pull on the weights at width 64, all random."""
    generator = torch.Generator().manual_seed(seed)
    shapes = (rows, 64), (keys, 64), (rows, keys)
    q, k, u = (torch.randn(shape, generator=generator) for shape in shapes)
    return (q.sign(), k.sign(), u) if coins else (q, k, u)


def run_rows(seeds, rows, keys=64, coins=False):
    """The mean largest weight of a row, and how many keys it attends to."""
    found = []
    for seed in seeds:
        q, k, _ = fresh_rows(seed, rows, keys, coins)
        plain, divided = ((scale * q @ k.T).softmax(dim=-1) for scale in (1.0, 1 / 8))
        found.append(
            {
                "largest weight, not divided": plain.amax(dim=-1).mean(),
                "divided": divided.amax(dim=-1).mean(),
                "keys": effective_tokens(plain).mean(),
            }
        )
    return found


def run_query_gradient(seeds, rows, keys=64, coins=False):
    """The gradient at the query: the median row and the smallest tenth, in divided medians."""
    found = []
    for seed in seeds:
        q, k, u = fresh_rows(seed, rows, keys, coins)
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
        sentence="For random queries and 64 random keys of 64 dimensions, with scores not divided "
        "by √d_k, the largest weight of a query averages between 0.75 and 0.85, and a query "
        "attends to fewer than 2.5 keys on average (effective tokens).",
        run=run_rows,
        holds=lambda n: 0.75 < n["largest weight, not divided"] < 0.85 and n["keys"] < 2.5,
        effect="largest weight, not divided",
        unit="of 1",
        rival="divided",
        budget=4000,
        quick=50,
        settings=RANDOM,
    ),
    Claim(
        name="query_gradient_is_unequal",
        sentence="For random queries and 64 random keys of 64 dimensions, relative to the gradient "
        "that the median query gets with the division by √d_k, the median query without it gets "
        "four to six times as much, and one query in ten less than 0.1.",
        run=run_query_gradient,
        holds=lambda n: 4 < n["median row, times"] < 6 and n["one row in ten, below"] < 0.1,
        effect="median row, times",
        unit="times the divided median",
        budget=4000,
        quick=50,
        settings=RANDOM,
    ),
    Claim(
        name="narrow_heads_need_no_scale",
        sentence="With a head of width 4, the recall model is done (a mean loss of 20 steps below "
        "0.2 nats) within 250 steps with and without the division by √d_k, under SGD and under "
        "Adam.",
        run=run_narrow,
        holds=lambda n: max(n["steps, not divided"], n["steps, divided"]) <= 250,
        effect="steps, not divided",
        unit=STEPS,
        rival="steps, divided",
        budget=250,
        quick=5,
        settings=(*RATES, Setting("twice the width", arguments={"d_k": 8})),
    ),
    Claim(
        name="adam_does_not_make_up_for_it",
        sentence="Under Adam, with a head of width 256, the recall model is done (a mean loss of "
        "20 steps below 0.2 nats) within 100 steps with the division by √d_k, and takes more than "
        "twice as many steps without it.",
        run=run_adam,
        holds=lambda n: (
            n["steps, divided"] <= 100 and n["steps, not divided"] > 2 * n["steps, divided"]
        ),
        effect="steps, not divided",
        unit=STEPS,
        rival="steps, divided",
        budget=250,
        quick=5,
        settings=(*RATES, Setting("half the width", arguments={"d_k": 128})),
    ),
    Claim(
        name="sgd_at_a_small_rate",
        sentence="Under SGD with a rate of 0.03 and a head of width 64, the recall model without "
        "the division by √d_k has a lower loss after 250 steps than the one with it.",
        run=run_small_rate,
        holds=lambda n: n["loss, not divided"] < n["loss, divided"],
        effect="loss, not divided",
        unit="nats",
        rival="loss, divided",
        budget=250,
        quick=5,
        settings=(*RATES, Setting("twice the width", arguments={"d_k": 128}), LONGER),
    ),
    Claim(
        name="best_rate_of_three_for_each",
        sentence="With a head of width 64, and each recall model at the best of three learning "
        "rates, the one without the division by √d_k takes more steps until it is done (a mean "
        "loss of 20 steps below 0.2 nats) than the one with it, under SGD and under Adam.",
        run=run_best_rates,
        holds=lambda n: min(n["sgd, times as many"], n["adam, times as many"]) > 1,
        effect="sgd, times as many",
        unit="times the divided model's steps",
        budget=400,
        quick=5,
        settings=(*RATES, Setting("twice the width", arguments={"d_k": 128})),
    ),
    Claim(
        name="small_start_trains_at_small_rates",
        sentence="Under SGD with a head of width 64, a recall model whose W_q starts √d_k times "
        "smaller is done (a mean loss of 20 steps below 0.2 nats) in fewer steps than one with the "
        "division by √d_k at a rate of 0.12, and in more steps at a rate of 0.5.",
        run=run_small_start,
        holds=lambda n: (
            n["steps, small start, middle rate"] < n["steps, divided, middle rate"]
            and n["steps, small start, large rate"] > n["steps, divided, large rate"]
        ),
        effect="steps, small start, large rate",
        unit=STEPS,
        rival="steps, divided, large rate",
        budget=250,
        quick=5,
        settings=(*RATES, Setting("twice the width", arguments={"d_k": 128})),
    ),
)
