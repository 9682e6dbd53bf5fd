"""Measure what lecture 07 has no time for: longer stories, and telephone books of other sizes.

    python -m tools.scripts.measure_experts books
    python -m tools.scripts.measure_experts stories

Models and loops are those of the lecture's cells. Each part adds its rows to the file as they come,
and leaves out those that are there: half an hour of one core for the stories.
"""

import argparse
import hashlib
import json
from collections.abc import Iterator
from itertools import product
from types import SimpleNamespace
from typing import Any

from course_utils.data.package_files import DATA
from lectures.l07_dynamic_pruning.experiments.measured import MEASURED_FILE
from tools.claims.cells import run_cells
from tools.notebook_file import LECTURES

BOOK = ("setup", "book", "learn", "experts-class")
STORY = ("setup", "book", "experts-class", "shared-part", "story")
# Names of each kind, width, and hidden units that know half of the book at the lecture's size.
SIZES = ((64, 64, 32), (32, 64, 8), (96, 64, 72), (64, 32, 64))
LAYERS = ("dense", "4 × as wide", "8 experts")


def books() -> Iterator[dict[str, Any]]:
    """Rows of telephone books: of four sizes, three layers and three seeds."""
    for (names, width, hidden), layer, seed in product(SIZES, LAYERS, (0, 1, 2)):
        yield {"names": names, "width": width, "hidden": hidden, "layer": layer, "seed": seed}


def learn_book(names: int, width: int, hidden: int, layer: str, seed: int) -> dict[str, Any]:
    """Which share of a telephone book a layer knows."""
    cell = _cells(BOOK, SEED=seed, NAMES=names, WIDTH=width)
    make = {
        "dense": lambda: cell.FeedForward(width, hidden),
        "4 × as wide": lambda: cell.FeedForward(width, 4 * hidden),
        "8 experts": lambda: cell.Experts(8, hidden // 2, 2, width=width),
    }[layer]
    model, known = cell.learn(make)
    return {
        "known": round(known.float().mean().item(), 4),
        "parameters": sum(p.numel() for p in model.layer.parameters()),
    }


def stories() -> Iterator[dict[str, Any]]:
    """Rows of stories: layers, seeds, learning rates and steps."""
    base = {"seed": 0, "rate": 1.0, "steps": 1000}
    for seed in (0, 1):
        for layer in ("dense", "8 experts", "4 × as wide"):
            yield {"layer": layer, **base, "seed": seed}
    for rate, layer in product((1 / 3, 3.0), ("dense", "8 experts")):
        yield {"layer": layer, **base, "rate": round(rate, 3)}
    for layer in ("dense", "8 experts"):
        yield {"layer": layer, **base, "steps": 3000}
    yield {"layer": "8 experts, balance loss", **base}


def learn_stories(layer: str, seed: int, rate: float, steps: int) -> dict[str, Any]:
    """The loss on unseen stories, and what the busiest expert of each block gets."""
    cell = _cells(STORY, SEED=seed, STORY_STEPS=steps, STORY_RATE=0.005 * rate)
    make = {
        "dense": lambda: cell.FeedForward(64, 256),
        "4 × as wide": lambda: cell.FeedForward(64, 1024),
    }.get(layer, lambda: cell.Experts(8, 128, 2, width=64))
    cure = _balance if layer.endswith("loss") else (lambda layer: 0)
    gpt, loss = cell.tell(make, cure)
    busiest = [_loads(block.feedforward).max().item() for block in gpt.blocks if layer[0] == "8"]
    return {"loss": round(loss, 3), "busiest": [round(share, 2) for share in busiest]}


def _loads(layer: Any) -> Any:
    return layer.chosen.flatten().bincount(minlength=8) / layer.chosen.numel()


def _balance(layer: Any) -> Any:
    return 0.01 * 8 * (_loads(layer) * layer.p.mean(dim=0)).sum()


def _cells(ids: tuple[str, ...], **values: Any) -> SimpleNamespace:
    """The lecture's cells with other values of what they name."""
    changes = {name: (lambda _, value=value: value) for name, value in values.items()}
    return run_cells(LECTURES / "07_dynamic_pruning.ipynb", ids, changes)


def main() -> None:
    """Measure what is missing, and keep each row as it comes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("books", "stories"))
    part = parser.parse_args().part
    rows, run = (books, learn_book) if part == "books" else (stories, learn_stories)
    place = DATA / MEASURED_FILE
    found = json.loads(place.read_text()) if place.exists() else {"books": [], "stories": []}
    there = [{name: each[name] for name in next(rows())} for each in found[part]]
    for row in rows():
        if row in there:
            continue
        found[part].append({**row, **run(**row)})
        print(found[part][-1], flush=True)
        lines = json.dumps(found).replace("}, {", "},\n{")
        place.write_text(f"{lines}\n", encoding="utf-8")
    print(f'    "{MEASURED_FILE}": "{hashlib.sha256(place.read_bytes()).hexdigest()}",')


if __name__ == "__main__":
    main()
