"""Lecture 07b: what LoRA learns and forgets at each rank, and how thin a full change is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.inputs import Choice, Steps
from course_utils.models.small_gpt import SMALL_GPT
from lectures.l07b_sharing.experiments.adapting import MATRICES
from lectures.l07b_sharing.experiments.lora_runs import lora_runs

RANKS = (1, 2, 4, 8, 16, 32, 64)
BLOCKS = tuple(range(SMALL_GPT.num_layers))
ALL = SMALL_GPT.parameters


@dataclass(frozen=True)
class RanksState:
    """What was learned and forgotten at a rank, and how much of each full change it keeps.

    `learned` and `forgotten` are medians of the runs, in nats: by how much the loss on code fell,
    and that on prose rose. `energies` (blocks, matrices) are the shares of the squared singular
    values that the largest of each change of a full fine-tune hold, `energy` that of the chosen.
    """

    rank: int
    trained: int
    learned: float
    forgotten: float
    energies: np.ndarray
    energy: float
    matrix: str
    block: int


class Ranks(Explorer):
    """Rank → the thin change, what it learns and forgets, what it keeps of a full fine-tune's."""

    title = "How thin can a change of the weights be?"
    inputs = {
        "rank": Steps("rank", RANKS, 4, in_picture=True),
        "block": Steps("block", BLOCKS, 0, in_picture=True),
        "matrix": Choice("matrix", MATRICES, "query", in_picture=True),
    }
    presets = {
        "rank 1": {"rank": 1},
        "rank 16": {"rank": 16},
        "rank 64": {"rank": 64},
        "another matrix": {"rank": 4, "block": 2, "matrix": "contract"},
    }
    view = "ranks.js"
    reading = (
        "The small GPT knows prose and learns code. LoRA keeps W as it is and trains B and A, each "
        "as thin as the rank. Bars up: how much the loss on unseen code falls. Bars down: how much "
        "the loss on unseen prose rises, which is forgotten. Medians of three runs; thin lines are "
        "the runs. “Blocks” trains the same matrices without LoRA, “full” all weights. Each has "
        "that of three learning rates at which it learns the code best. The singular values are "
        "those of one matrix's change in the full training, and a diamond is the gain that is left "
        "of it if every matrix's change is cut to the rank. Embeddings, norms and biases stay as "
        "trained there, which alone is worth a part of the gain."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        found = lora_runs()
        cut = [found.code_before - found.cut[rank] for rank in RANKS]
        code, prose = (np.array(each) for each in (_gains("code"), _gains("prose")))
        return {
            "learned": code,
            "forgotten": -prose,
            "cut": np.array(cut),
            "spectra": _spectra().reshape(-1, _spectra().shape[-1]).astype(np.float32),
            "shapes": [list(_shape(matrix)) for matrix in MATRICES],
        }

    def compute(self, rank: int, block: int, matrix: str) -> RanksState:
        at = RANKS.index(rank)
        energies = _energies(rank)
        return RanksState(
            rank=rank,
            trained=lora_runs().runs[at].learned,
            learned=float(np.median(_gains("code")[at])),
            forgotten=float(-np.median(_gains("prose")[at])),
            energies=energies,
            energy=float(energies[block, MATRICES.index(matrix)]),
            matrix=matrix,
            block=block,
        )

    def caption(self, state: RanksState) -> str:
        share = number(100 * state.trained / ALL, 1)
        values = "value holds" if state.rank == 1 else "values hold"
        return (
            f"Rank [b:{state.rank}] trains [b:{share}%] of the model: code improves by "
            f"[b:{number(state.learned, 2)}] nats, prose worsens by "
            f"[b:{number(state.forgotten, 2)}]. {state.rank} singular {values} "
            f"[b:{number(100 * state.energy)}%] ({state.matrix}, block {state.block})."
        )


def _gains(text: str) -> list[list[float]]:
    """By how much each run's loss fell on a text: LoRA's by rank, then matrices alone, then all."""
    found = lora_runs()
    before = getattr(found, f"{text}_before")
    return [[before - loss for loss in getattr(run, text).tolist()] for run in found.runs]


@lru_cache(maxsize=1)
def _spectra() -> np.ndarray:
    """Singular values of the changes of a full fine-tune, (blocks, matrices, values)."""
    spectra = lora_runs().spectra
    return np.array(
        [
            [
                next(
                    values.numpy()
                    for name, values in spectra.items()
                    if name.startswith(f"blocks.{block}.") and name.endswith(f".{matrix}")
                )
                for matrix in MATRICES
            ]
            for block in BLOCKS
        ]
    )


def _energies(rank: int) -> np.ndarray:
    squares = _spectra() ** 2
    return squares[..., :rank].sum(axis=-1) / squares.sum(axis=-1)


def _shape(matrix: str) -> tuple[int, int]:
    C, hidden = SMALL_GPT.width, SMALL_GPT.hidden
    return {"expand": (hidden, C), "contract": (C, hidden)}.get(matrix, (C, C))
