"""Train the small GPTs that the package carries for the induction picture of lecture 06.

    python tools/scripts/train_induction_runs.py        half a minute on two cores

They are trained by ``train_induction``, as in the lecture. Of the seeds 0 to 15, seed 2 gave the
clearest pair of heads, and seed 5 the lowest loss without an induction head: both are chosen, and
the lecture says how often each occurs. What is printed last is for
course_utils/data/package_files.py.
"""

import safetensors.torch
import torch

from course_utils.models.gpt2 import GPT2
from course_utils.training import TEST_SEED
from lectures.l06b_learning.experiments.induction import (
    induction_scores,
    repeat_loss,
    repeated_tokens,
    train_induction,
)
from lectures.l06b_learning.experiments.induction_runs import (
    INDUCTION_RUNS,
    INDUCTION_RUNS_FILE,
)
from tools.scripts.packaged import write_packaged


def main() -> None:
    """Train, write the file, and say what came out."""
    rows = repeated_tokens(torch.Generator().manual_seed(TEST_SEED), batch=256)
    saved = {}
    for name, (num_layers, seed) in INDUCTION_RUNS.items():
        (model,) = train_induction(seeds=(seed,), num_layers=num_layers).models
        assert isinstance(model, GPT2)
        weights = {key: value.half() for key, value in model.state_dict().items()}
        model.load_state_dict(weights)
        with torch.no_grad():
            loss, scores = repeat_loss(model, rows), induction_scores(model, rows)
        print(f"{name}: loss {loss:.3f}, induction scores {scores.tolist()}", flush=True)
        saved |= {f"{name}/{key}": value for key, value in weights.items()}
    write_packaged(INDUCTION_RUNS_FILE, safetensors.torch.save(saved))


if __name__ == "__main__":
    main()
