"""What lecture 02 claims of random and trained models; `make claims LECTURE=02` runs its cells."""

import numpy as np

from course_utils.teaching.claims import RATES, Claim, Setting
from lectures.l02_softmax.experiments import steps_until_done

ROWS = "setup", "rows", "reach"
RECALL = "setup", "recall-model", "recall-loss"
SEEDS = (*RECALL, "race", "seeds")
STEPS = "steps; one more than it had: not done"
SHORT = {"STEPS": 3}
OTHER_WIDTHS = Setting("widths 8 and 128", arguments={"WIDTHS": (8, 128)})
FLIPS = Setting(
    "coordinates ±1 (coin flips)",
    edits={
        "q, k = torch.randn(QUERIES, WIDTH)": "q, k = torch.randn(QUERIES, WIDTH).sign()",
        "torch.randn(KEYS, WIDTH)": "torch.randn(KEYS, WIDTH).sign()",
    },
)
RANDOM = (FLIPS, Setting("128 keys", arguments={"KEYS": 128}))
ROWS_DIVIDED = Setting(
    "divided all the same",
    edits={
        '"not divided": raw}': '"not divided": raw / WIDTH**0.5}',
        '"not divided": 1.0}': '"not divided": WIDTH**-0.5}',
    },
)
RACE_DIVIDED = Setting(
    "divided all the same", edits={"Recall(d_k, 1.0),": "Recall(d_k, d_k**-0.5),"}
)


def read_gradients(cell):
    """The gradient at the query: the median row and the smallest tenth, in divided medians."""
    divided, plain = cell.sizes.values()
    low, middle = np.quantile(plain, (0.1, 0.5)) / np.median(divided)
    return {"median row, times": middle, "one row in ten, below": low}


def steps_of(models, steps):
    """After how many of these steps each model is done, in the first of its runs."""
    first = {name: runs[0] for name, runs in models.items()}
    start = {"the first loss": first["divided"][0]}  # tells seeds apart in a short run
    return {name: steps_until_done(losses, steps) for name, losses in first.items()} | start


def read_narrow(cell):
    """The later of both optimisers at the smallest width."""
    panels = (cell.panels[f"{name}, d_k = {cell.WIDTHS[0]}"] for name in cell.RATE)
    sgd, adam = (steps_of(panel, cell.STEPS) for panel in panels)
    return {name: max(sgd[name], adam[name]) for name in sgd}


def read_crossed(cell):
    """The median run of two models with equal first steps, whose first scores differ."""
    longer, _, shorter, _ = cell.mixed.values()
    runs = {"start divided": longer, "start not divided": shorter}
    done = {
        name: np.median([steps_until_done(losses, cell.STEPS) for losses in each])
        for name, each in runs.items()
    }
    return done | {"the first loss": longer[0][0]}


CLAIMS = (
    Claim(
        name="rows_are_sharp",
        sentence="For random queries and 64 random keys of 64 dimensions, with scores not divided "
        "by √d_k, the largest weight of a query averages between 0.75 and 0.85, and a query "
        "attends to fewer than 2.5 keys on average (effective tokens).",
        cells=ROWS,
        read=lambda cell: {
            "largest weight, not divided": cell.largest["not divided"].mean(),
            "divided": cell.largest["divided"].mean(),
            "keys": cell.tokens["not divided"].mean(),
        },
        holds=lambda n: 0.75 < n["largest weight, not divided"] < 0.85 and n["keys"] < 2.5,
        effect="largest weight, not divided",
        unit="of 1",
        rival="divided",
        control=ROWS_DIVIDED,
        settings=RANDOM,
    ),
    Claim(
        name="query_gradient_is_unequal",
        sentence="For random queries and 64 random keys of 64 dimensions, relative to the gradient "
        "that the median query gets with the division by √d_k, the median query without it gets "
        "four to six times as much, and one query in ten less than 0.1.",
        cells=ROWS,
        read=read_gradients,
        holds=lambda n: 4 < n["median row, times"] < 6 and n["one row in ten, below"] < 0.1,
        effect="median row, times",
        unit="times the divided median",
        control=ROWS_DIVIDED,
        settings=RANDOM,
    ),
    Claim(
        name="narrow_heads_need_no_scale",
        sentence="With a head of width 4, the recall model is done (a mean loss of 20 steps below "
        "0.2 nats) within 250 steps with and without the division by √d_k, under SGD at a rate of "
        "0.12 and under Adam at 0.004.",
        cells=SEEDS,
        read=read_narrow,
        holds=lambda n: max(n["not divided"], n["divided"]) <= 250,
        effect="not divided",
        unit=STEPS,
        rival="divided",
        control=Setting("width 256 in its place", arguments={"WIDTHS": (256,)}),
        quick=SHORT,
        settings=(*RATES, OTHER_WIDTHS),
    ),
    Claim(
        name="adam_does_not_make_up_for_it",
        sentence="Under Adam at a rate of 0.004, with a head of width 256, the recall model is "
        "done (a mean loss of 20 steps below 0.2 nats) within 100 steps with the division by √d_k, "
        "and takes more than twice as many steps without it.",
        cells=SEEDS,
        read=lambda cell: steps_of(cell.panels[f"Adam, d_k = {cell.WIDTHS[-1]}"], cell.STEPS),
        holds=lambda n: n["divided"] <= 100 and n["not divided"] > 2 * n["divided"],
        effect="not divided",
        unit=STEPS,
        rival="divided",
        control=RACE_DIVIDED,
        quick=SHORT,
        settings=(*RATES, OTHER_WIDTHS),
    ),
    Claim(
        name="saturated_start_is_late",
        sentence="Under Adam at a rate of 0.004, with a head of width 256, and with first steps "
        "that move the scores four times as far as under the division by √d_k, the recall model is "
        "done (a mean loss of 20 steps below 0.2 nats) within 250 steps, in the median of three "
        "runs, if its first scores are divided by √d_k, and is not if they are not.",
        cells=(*RECALL, "race", "crossed"),
        read=read_crossed,
        holds=lambda n: n["start divided"] <= 250 < n["start not divided"],
        effect="start not divided",
        unit=STEPS,
        rival="start divided",
        control=Setting(
            "divided first scores in both",
            edits={"partial(crossed, 1.0, 1 / s)": "partial(crossed, 1 / many, few)"},
        ),
        quick=SHORT,
        settings=(*RATES, Setting("width 128", arguments={"WIDE": 128})),
    ),
)
