"""Train what the package carries for lecture 06b, with the lecture's own cells.

    python -m tools.scripts.train_learning_runs moments    half a minute: one training, four moments
    python -m tools.scripts.train_learning_runs curves     a minute: with a fault, and without

What is printed last is for course_utils/data/package_files.py.
"""

import random
import sys

import safetensors.torch
import torch
from torch.nn.functional import cross_entropy

from lectures import find_lecture
from lectures.l06b_learning.experiments.moments import MOMENTS_FILE
from tools.claims.cells import run_cells
from tools.claims.measuring import LECTURES
from tools.scripts.packaged import as_json, write_packaged

LOOP = "setup", "stories", "muon", "steps", "loop"
CURVES_FILE = "learning_curves.json"
SEEDS, STEPS, EVERY = (1, 2), 100, 5
ROWS = 4
FAULTS = {
    "right": {},
    "rate too high": {"times": 30.0},
    "rate too low": {"times": 0.01},
    "not shifted": {"is_shifted": False},
    "one batch": {"is_one": True},
}


def main() -> None:
    """Train, write a file, and print its line."""
    {"moments": moments, "curves": curves}[sys.argv[1]]()


def moments() -> None:
    """The weights that the cell of section 1 keeps, 16 bits each."""
    cell = run(*LOOP, "patterns", "kinds", "shares", "train")
    saved = {
        f"{moment}/{name}": weight.half().contiguous()
        for moment, model in cell.kept.items()
        for name, weight in model.state_dict().items()
    }
    print({kind: round(each[-1], 2) for kind, each in cell.shares.items()})
    write_packaged(MOMENTS_FILE, safetensors.torch.save(saved))


def curves() -> None:
    """The losses of section 3's trainings and of one batch by heart, for two seeds each."""
    cell = run(*LOOP)
    found = []
    for seed in SEEDS:
        for kind, fault in FAULTS.items():
            losses, unseen = one_run(cell, seed, **fault)
            print(kind, losses[-1], unseen, flush=True)
            found.append({"kind": kind, "losses": losses, "unseen": unseen})
    write_packaged(CURVES_FILE, as_json(found))


def one_run(cell, seed, times=1.0, is_shifted=True, is_one=False):
    """A training's losses, each a mean of some steps, and its loss on new stories."""
    dice, new = random.Random(seed), random.Random(1000 + seed)
    batch = cell.stories(dice, ROWS)

    def draw(dice=dice):
        inputs, targets = batch if is_one else cell.stories(dice, ROWS)
        return inputs, targets if is_shifted else inputs.masked_fill(targets < 0, -100)

    torch.manual_seed(seed)
    model = cell.MyGPT(V=180, P=64, C=64, L=2, H=4)
    losses = cell.train(model, draw, STEPS, rate=times * cell.RATE, warmup=10)
    inputs, targets = cell.stories(new, 50)
    targets = targets if is_shifted else inputs.masked_fill(targets < 0, -100)
    with torch.no_grad():
        unseen = cross_entropy(model(inputs).flatten(0, 1), targets.flatten()).item()
    every = torch.tensor(losses).view(-1, EVERY).mean(1).tolist()
    return [round(loss, 3) for loss in every], round(unseen, 3)


def run(*ids):
    """What these cells of the lecture leave."""
    return run_cells(LECTURES / f"{find_lecture('06b').stem}.ipynb", ids)


if __name__ == "__main__":
    main()
