"""Train the layers that know the telephone book, for the picture of lecture 07.

    python -m tools.scripts.train_phone_books

Model, loop and seed are those of the lecture's cells. Five minutes of one core.
"""

import hashlib
from functools import partial

import safetensors.torch
import torch
from torch import nn

from course_utils.data.package_files import DATA
from lectures.l07_dynamic_pruning.experiments.phone_books import (
    EXPERTS,
    NAMES,
    PHONE_BOOKS_FILE,
    UNITS,
    VISITS,
    key_of,
)
from tools.claims.cells import run_cells
from tools.notebook_file import LECTURES

CELLS = ("setup", "book", "steps", "learn", "run-experts", "experts-class")


def main() -> None:
    """Train, write the file, and say what came out."""
    cell = run_cells(LECTURES / "07_dynamic_pruning.ipynb", CELLS)
    saved = {}
    for units in UNITS:
        for experts in EXPERTS:
            for visits in VISITS[:experts]:
                name = key_of(units, experts, visits)
                saved[name] = _packed(*cell.learn(partial(_layer, cell, units, experts, visits)))
                print(f"{name}: {(saved[name] & 1).float().mean():.1%} known", flush=True)
    safetensors.torch.save_file(saved, DATA / PHONE_BOOKS_FILE)
    found = hashlib.sha256((DATA / PHONE_BOOKS_FILE).read_bytes()).hexdigest()
    print(f'    "{PHONE_BOOKS_FILE}": "{found}",')


def _layer(cell, units: int, experts: int, visits: int) -> nn.Module:
    if experts == 1:
        return cell.FeedForward(cell.WIDTH, units)
    return cell.Experts(experts, units // experts, visits)


def _packed(model: nn.Module, known: torch.Tensor) -> torch.Tensor:
    chosen = getattr(model.layer, "chosen", torch.zeros(NAMES**2, 1, dtype=torch.long))
    first, last = chosen[:, 0], chosen[:, -1]
    return (known.flatten() + 2 * first + 16 * last).view(NAMES, NAMES).to(torch.uint8)


if __name__ == "__main__":
    main()
