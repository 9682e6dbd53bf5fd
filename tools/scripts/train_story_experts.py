"""Train the GPTs of lecture 07's section 4 for longer than a reader waits.

    python -m tools.scripts.train_story_experts        seven minutes of one core

Model, loop, stories and layers are those of the lecture's cells. The losses on new stories are
kept on the way. The hash that is printed last is for course_utils/data/package_files.py.
"""

from itertools import product

from lectures.l07_dynamic_pruning.claims import STORY
from lectures.l07_dynamic_pruning.experiments.story_runs import STORY_RUNS_FILE, STORY_STEPS
from tools.claims.cells import run_cells
from tools.notebook_file import LECTURES
from tools.scripts.packaged import as_json, write_packaged

RATE, SEEDS = 0.005, (1, 2)  # the lecture's rate
START, LOOP = "def tell(make_layer", "    for step, (inputs, targets) in enumerate(batches):\n"
DENSE = '    "dense": lambda: FeedForward(64, 256),\n'
WIDE = '    "wide": lambda: FeedForward(64, 1024),\n'  # as many parameters as the experts
LOSS = "F.cross_entropy(gpt(unseen[0]).flatten(0, 1), unseen[1].flatten()).item()"
ON_THE_WAY = {
    START: f"midway = []\n\n\n{START}",
    LOOP: f"{LOOP}        if step in {STORY_STEPS}:\n"
    f"            with torch.no_grad():\n                midway.append({LOSS})\n",
}


def main() -> None:
    """Train, write the file, and say what came out."""
    runs = []
    for rate, seed in product((RATE, RATE / 3, RATE * 3), SEEDS):
        runs.append(trained(rate, seed))
        print(runs[-1], flush=True)
    runs.sort(key=lambda run: (run["rate"], run["seed"]))
    write_packaged(STORY_RUNS_FILE, as_json(runs))


def trained(rate: float, seed: int) -> dict:
    """The losses of each layer after each number of steps, and the busiest experts' shares."""
    changes = {
        "SEED": lambda _: seed,
        "STORY_RATE": lambda _: rate,
        "STORY_STEPS": lambda _: STORY_STEPS[-1],
    }
    edits = {**ON_THE_WAY, DENSE: DENSE + (WIDE if rate == RATE else "")}
    notebook = LECTURES / "07_dynamic_pruning.ipynb"
    cell = run_cells(notebook, (*STORY, "story-train"), changes, edits)
    midway, losses = iter(cell.midway), {}
    for name, last in cell.told.items():
        each = [*(next(midway) for _ in STORY_STEPS[:-1]), last]
        losses[name.removeprefix("8 ").partition(",")[0]] = [round(loss, 3) for loss in each]
    busiest = [(each.bincount().max() / len(each)).item() for each in cell.chosen]
    shares = [round(share, 2) for share in busiest]
    return {"rate": round(rate, 4), "seed": seed, **losses, "busiest": shares}


if __name__ == "__main__":
    main()
