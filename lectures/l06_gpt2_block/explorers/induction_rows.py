"""The packaged models on prepared rows, with some heads off."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch

from course_utils.models.gpt2 import GPT2
from lectures.l06_gpt2_block.experiments.ablation import without_heads
from lectures.l06_gpt2_block.experiments.induction import (
    LENGTH,
    repeat_loss,
    repeated_tokens,
)
from lectures.l06_gpt2_block.experiments.induction_runs import load_induction_run

ROWS = 8


class Run(NamedTuple):
    """A model on one row: tokens (16,), weights (heads, 16, 16), probabilities (16, 16), loss."""

    tokens: np.ndarray
    weights: np.ndarray
    shares: np.ndarray
    loss: float


@lru_cache
def rows_of_tokens() -> np.ndarray:
    """The prepared rows (8, 8): the first of those that the lecture looks at."""
    return repeated_tokens(torch.Generator().manual_seed(11))[:ROWS, :LENGTH].numpy()


@lru_cache
def loaded(model: str) -> GPT2:
    """One of the trained models, in 64 bits as in the browser."""
    return load_induction_run(model).double()


@lru_cache(maxsize=256)
@torch.no_grad()
def run_without(model: str, row: int, start: int, off: tuple[tuple[int, int], ...]) -> Run:
    """What a model makes of a row whose copy starts at a position; some heads write nothing."""
    first = rows_of_tokens()[row - 1]
    tokens = np.concatenate((first, np.roll(first, -start)))
    silent, ids = without_heads(loaded(model), off), torch.tensor(tokens)[None]
    trace = silent.trace(ids)
    maps = torch.cat([each.weights[0] for each in trace.heads])
    shares = silent.logits(trace.hidden_states[-1])[0].softmax(dim=-1)
    return Run(tokens, maps.numpy(), shares.numpy(), float(repeat_loss(silent, ids)))
