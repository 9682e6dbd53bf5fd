"""Three small GPTs that were trained to copy, ready to look into: they come with the package.

``induction`` says what they learn; tools/scripts/train_induction_runs.py trains them.
"""

import dataclasses
from functools import lru_cache
from typing import NamedTuple

import safetensors.torch
import torch
from torch import Tensor

from course_utils.data.package_files import read_packaged
from course_utils.models.gpt2 import GPT2, GPT2Config
from lectures.l06b_learning.experiments.induction import CONFIG

INDUCTION_RUNS_FILE = "induction_runs.safetensors"


class Run(NamedTuple):
    """How one of them was trained: its sizes, its seed, the learning rate and the steps."""

    config: GPT2Config
    seed: int
    rate: float
    steps: int


ONE_LAYER = dataclasses.replace(CONFIG, num_layers=1, width=64, feedforward_width=256)
INDUCTION_RUNS = {
    "with an induction head": Run(CONFIG, 2, 0.005, 1000),
    "learned without one": Run(CONFIG, 5, 0.005, 1000),
    "one layer": Run(ONE_LAYER, 0, 0.005 / 3, 4000),
}


def load_induction_run(
    name: str,  # one of INDUCTION_RUNS
) -> GPT2:
    """Return one of the trained models; a new one at each call.

    The file has 16 bits per number, the model 32.
    """
    with torch.device("meta"):  # no weights are drawn: the reader's random numbers stay as they are
        model = GPT2(INDUCTION_RUNS[name].config)
    start = f"{name}/"
    saved = {
        key.removeprefix(start): value.float()
        for key, value in _all_saved().items()
        if key.startswith(start)
    }
    model.load_state_dict(saved, assign=True)
    return model.eval()


@lru_cache
def _all_saved() -> dict[str, Tensor]:
    return safetensors.torch.load(read_packaged(INDUCTION_RUNS_FILE))
