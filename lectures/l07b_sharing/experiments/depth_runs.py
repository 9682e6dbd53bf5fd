"""Which tokens a small GPT lets through which block, measured by tools/scripts/measure_depths.py.

Each of the small GPT's blocks is a ``MixtureOfDepths``. Routers learn while the blocks still take
every token, and choose from then on.
"""

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from course_utils.data.package_files import read_measured
from course_utils.shapes import Bool, Float

CAPACITIES = (0.125, 0.25, 0.5, 0.75, 1.0)
DEPTH_RUNS_FILE = "depth_runs.json"


@dataclass(frozen=True)
class DepthText:
    """A text that the model has not seen, and the way of its tokens in the first run.

    Attributes:
        tokens: as they are written.
        routed: by capacity, whether a block takes a token, where the routers choose the best of the
            text; the first block in the first row.
        predicted: the same where the predictors decide, which see no other token.
    """

    tokens: tuple[str, ...]
    routed: dict[float, Bool[Tensor, "blocks T"]]
    predicted: dict[float, Bool[Tensor, "blocks T"]]


@dataclass(frozen=True)
class DepthRuns:
    """All capacities, as many steps each, losses on unseen prose in nats per token.

    Attributes:
        routed: by capacity, the losses where the routers choose, in the order of the seeds.
        random: the same where chance chooses, in the training too. With capacity 1 there is no
            choice, and no entry.
        predicted: as ``routed``, where the predictors decide.
        predicted_share: which share of the tokens they let through.
        texts: some to look at.
    """

    routed: dict[float, Float[Tensor, " runs"]]
    random: dict[float, Float[Tensor, " runs"]]
    predicted: dict[float, Float[Tensor, " runs"]]
    predicted_share: dict[float, Float[Tensor, " runs"]]
    texts: tuple[DepthText, ...]


@lru_cache(maxsize=1)
def depth_runs() -> DepthRuns:
    """Return what was measured."""
    found = read_measured(DEPTH_RUNS_FILE)
    runs = found["runs"]
    return DepthRuns(
        routed=_by_capacity(runs, "router", "top_k", "loss"),
        random=_by_capacity(runs, "random", "top_k", "loss"),
        predicted=_by_capacity(runs, "router", "predicted", "loss"),
        predicted_share=_by_capacity(runs, "router", "predicted", "share"),
        texts=tuple(_text(each) for each in found["texts"]),
    )


def _by_capacity(runs: list[dict], way: str, routing: str, name: str) -> dict[float, Tensor]:
    ours = [run for run in runs if run["way"] == way]
    return {
        capacity: torch.tensor([run[routing][name] for run in ours if run["capacity"] == capacity])
        for capacity in sorted({run["capacity"] for run in ours})
    }


def _text(found: dict) -> DepthText:
    routed, predicted = (
        {float(capacity): _flags(rows) for capacity, rows in found[name].items()}
        for name in ("top_k", "predicted")
    )
    return DepthText(tuple(found["tokens"]), routed, predicted)


def _flags(rows: list[str]) -> Bool[Tensor, "blocks T"]:
    return torch.tensor([[digit == "1" for digit in row] for row in rows])
