"""Three small GPTs that were trained to copy, ready to look into: they come with the package.

``induction`` says what they learn; tools/scripts/train_induction_runs.py trains them.
"""

import dataclasses
from functools import lru_cache

import safetensors.torch
import torch
from torch import Tensor

from course_utils.data.package_files import read_packaged
from course_utils.models.gpt2 import GPT2
from lectures.l06b_learning.experiments.induction import CONFIG

INDUCTION_RUNS_FILE = "induction_runs.safetensors"
# Name → number of layers, seed.
INDUCTION_RUNS = {
    "with an induction head": (2, 2),
    "learned without one": (2, 5),
    "one layer": (1, 0),
}


def load_induction_run(name: str) -> GPT2:
    """Return one of the trained models; a new one at each call.

    The file has 16 bits per number, the model 32.

    Args:
        name: one of ``INDUCTION_RUNS``.

    >>> load_induction_run("one layer").config.num_layers
    1
    """
    config = dataclasses.replace(CONFIG, num_layers=INDUCTION_RUNS[name][0])
    with torch.device("meta"):  # no weights are drawn: the reader's random numbers stay as they are
        model = GPT2(config)
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
