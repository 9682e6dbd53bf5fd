"""What saturation costs in training: the task, and after how many steps it is learned.

The task is associative recall: a batch row shows pairs of a name and a value, all names different,
then asks for one of the names. The answer is its value. One head can do it, once its query matches
the key of the same name and no other; before, its weights fall on the wrong pairs.
"""

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from course_utils.shapes import Int

NAMES, VALUES, PAIRS = 16, 8, 12
DONE = 0.2  # the mean loss of 20 steps


def recall_batch(
    generator: torch.Generator, size: int = 32
) -> tuple[Int[Tensor, "B S"], Int[Tensor, "B S"], Int[Tensor, " B"], Int[Tensor, " B"]]:
    """Names and values of 12 pairs, (B, S) each, a name that is asked for and the value it has."""
    names = torch.rand(size, NAMES, generator=generator).argsort(dim=1)[:, :PAIRS]
    values = torch.randint(VALUES, (size, PAIRS), generator=generator)
    row, pair = torch.arange(size), torch.randint(PAIRS, (size,), generator=generator)
    return names, values, names[row, pair], values[row, pair]


def steps_until_done(losses: ArrayLike, steps: int = 0) -> int:
    """After how many steps the mean of the last 20 losses of a run was below 0.2.

    A run that does not get there counts one step more than it had, or than the `steps` that it
    would have had: training ends early where every run of it has diverged.
    """
    losses = np.asarray(losses)
    window = min(20, len(losses))
    done = np.lib.stride_tricks.sliding_window_view(losses, window).mean(axis=-1) < DONE
    return int(done.argmax()) + window if done.any() else max(len(losses), steps) + 1
