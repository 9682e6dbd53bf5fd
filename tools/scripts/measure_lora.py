"""Measure what LoRA learns of the course's code, rank by rank, for the sliders of lecture 07b.

    python tools/scripts/measure_lora.py             some minutes on two cores
    python tools/scripts/measure_lora.py --quick     to see that it runs, without writing anything

Each rank, and two fine-tunes without LoRA, get the best of three learning rates, chosen by one
seed's loss on unseen code; so all losses are a little too good, and alike. Three seeds are measured
at that rate. To be run again whenever train_small_gpt.py has made another small GPT. The hash it
prints is for course_utils/data/package_files.py.
"""

import argparse
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import torch
from torch import Tensor, nn

from course_utils.data.package_files import SHA256
from course_utils.language_modeling import text_loss
from course_utils.models.small_gpt import load_small_gpt
from lectures.l07b_sharing.experiments.adapting import (
    FULL_RATE,
    LENGTH,
    LORA_RATE,
    Adapted,
    adapt_to_code,
    course_tokens,
    cut_changes,
    matrix_changes,
)
from lectures.l07b_sharing.experiments.lora_runs import LORA_RUNS_FILE
from tools.ending import end_with_parent
from tools.scripts.packaged import as_json, write_packaged

RANKS = (1, 2, 4, 8, 16, 32, 64)
STEPS, SEEDS, POINTS = 60, (0, 1, 2), 12


def main() -> None:
    """Measure, write the file, and say what came out."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    steps, seeds = (1, (0,)) if quick else (STEPS, SEEDS)
    kinds = [*((rank, False) for rank in RANKS), (None, True), (None, False)]
    # Each process begins afresh: a fork of one whose torch has threads may wait for ever.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, spawn, initializer=end_with_parent) as pool:
        waiting = [pool.submit(measured, rank, only, steps, seeds) for rank, only in kinds]
        runs = [each.result() for each in waiting]
    full = runs[-1]
    model, tokens = load_small_gpt(), course_tokens()
    found = {
        "measured_on": SHA256["small_gpt/model.safetensors"],
        "steps": steps,
        "seeds": seeds,
        "code_before": round(text_loss(model, tokens.code_unseen, length=LENGTH), 4),
        "prose_before": round(text_loss(model, tokens.prose_unseen, length=LENGTH), 4),
        "cut": full.pop("cut"),
        "spectra": full.pop("spectra"),
        "runs": runs,
    }
    print({name: found[name] for name in ("code_before", "prose_before", "cut")})
    if not quick:
        write_packaged(LORA_RUNS_FILE, as_json(found))


def measured(
    rank: int | None, only_matrices: bool, steps: int, seeds: tuple[int, ...]
) -> dict[str, object]:
    """Return what the file holds of one rank, or of a fine-tune without LoRA."""
    torch.set_num_threads(1)
    kind = {"rank": rank, "only_matrices": only_matrices, "steps": steps}
    rate = best_rate(kind)
    done = adapt_to_code(**kind, seeds=seeds, learning_rate=rate)
    found = described(done, rate, only_matrices)
    print(found | {"curve": None}, flush=True)
    if done.learned == load_small_gpt().config.parameters:
        found |= changes_of(done.training.models[0])
    return found


def changes_of(trained: nn.Module) -> dict[str, object]:
    """Return the spectra of what a full fine-tune changed, and what their beginnings are worth."""
    model, unseen = load_small_gpt(), course_tokens().code_unseen
    cuts = [(rank, cut_changes(model, trained, rank)) for rank in RANKS]
    return {
        "cut": [[rank, round(text_loss(cut, unseen, length=LENGTH), 4)] for rank, cut in cuts],
        "spectra": {
            name: rounded(torch.linalg.svdvals(change))
            for name, change in matrix_changes(model, trained).items()
        },
    }


def best_rate(kind: dict) -> float:
    """Return the learning rate with which one seed reads unseen code best."""
    middle = FULL_RATE if kind["rank"] is None else LORA_RATE
    tried = {
        rate: adapt_to_code(**kind, learning_rate=rate).code_losses.item()
        for rate in (middle / 3, middle, 3 * middle)
    }
    print(f"{kind}: {tried}", flush=True)
    return min(tried, key=tried.__getitem__)


def described(done: Adapted, rate: float, only_matrices: bool) -> dict[str, object]:
    """Return what the file holds of one rank: the curve as means of equally many steps."""
    curve = done.training.losses.mean(dim=0)
    parts = curve.tensor_split(min(POINTS, len(curve)))
    return {
        "rank": done.rank,
        "only_matrices": only_matrices,
        "learned": done.learned,
        "learning_rate": round(rate, 6),
        "code": rounded(done.code_losses),
        "prose": rounded(done.prose_losses),
        "curve": rounded(torch.stack([part.mean() for part in parts])),
    }


def rounded(values: Tensor) -> list[float]:
    """Return numbers with four digits."""
    return [float(f"{value:.4g}") for value in values.tolist()]


if __name__ == "__main__":
    main()
