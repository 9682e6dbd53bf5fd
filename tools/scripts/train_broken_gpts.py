"""Train the broken GPTs of lecture 09, and sound ones for comparison: 36 trainings.

    python -m tools.scripts.train_broken_gpts    ten to thirty minutes on one thread

What is printed last is for course_utils/data/package_files.py.
"""

import torch

from lectures.l09_since_gpt2.experiments.broken_runs import BROKEN_FILE, measured, trainings
from tools.scripts.packaged import as_json, write_packaged


def main() -> None:
    """Train, write the file, and print its line."""
    torch.set_num_threads(1)
    found = []
    for fault, seed in trainings():
        found.append(measured(fault, seed))
        print(fault, seed, found[-1]["loss"][-1], flush=True)
    write_packaged(BROKEN_FILE, as_json(found))


if __name__ == "__main__":
    main()
