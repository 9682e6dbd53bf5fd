"""What a small GPT learns first from short stories: sentences, then pronouns, then names.

    python -m tools.scripts.story_order                          one model, its text, its answers
    python -m tools.scripts.story_order --seeds 12 --keep FOLDER
    python -m tools.scripts.story_order --rate 0.333 --width 32

A model trains for a minute on one thread. docs/stories.md has the sentence that this was run for,
and what came out. It was settled, with the thresholds, before the seeds from 2000 on were run.
"""

import argparse
import math
import random
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import cast

import torch
from torch import nn

from course_utils.models import GPT2, save_gpt2
from course_utils.models.story_gpt import SHORT_STORIES, train_on_short_stories, write_stories
from course_utils.stories import tell
from course_utils.training import learning_rates_times
from tools.scripts.story_measures import pronoun_share, score_stories, sentence_share

STEPS, EVERY = 1000, 50
HELD_OUT_SEED, HELD_OUT, WRITTEN = 10**6, 100, 20
# What has arrived: half of it is chance for he or she, and next to nothing for the others.
ARRIVED = {"sentences": 0.75, "pronouns": 0.75, "finder": 0.5, "place": 0.5}
ORDER = tuple(ARRIVED)
Shares = dict[str, float]


def main() -> None:
    """Train a model for each seed, and say in which order things arrived."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--first", type=int, default=2000, help="the first seed")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--rate", type=float, default=1.0, help="factor on the learning rate")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--keep", type=Path, help="folder for the models")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    for seed in range(chosen.first, chosen.first + chosen.seeds):
        began, worked = time.perf_counter(), time.process_time()
        seen: dict[int, Shares] = {}
        with learning_rates_times(chosen.rate):
            done = train_on_short_stories(
                seeds=[seed], steps=chosen.steps, width=chosen.width,
                evaluate=watch(seen, chosen.seeds == 1), every=EVERY,
            )  # fmt: skip
        when = arrivals(seen)
        came = ", ".join(f"{name} {step}" for name, step in when.items())
        end = ", ".join(f"{name} {share:.0%}" for name, share in seen[max(seen)].items())
        print(f"seed {seed}: {came}: {verdict(when)}; at the end {end}")
        print(f"  {time.perf_counter() - began:.0f} s, {time.process_time() - worked:.0f} s of a "
              "processor, with the measurements", flush=True)  # fmt: skip
        if chosen.keep:
            folder = chosen.keep / str(seed)
            folder.mkdir(parents=True, exist_ok=True)
            save_gpt2(cast("GPT2", done.models[0]), folder)


def watch(seen: dict[int, Shares], aloud: bool) -> Callable[[nn.Module], float]:
    """Return a function that keeps the shares of a model, by step, and prints them if asked."""
    rng = random.Random(HELD_OUT_SEED)
    stories = [tell(rng, SHORT_STORIES) for _ in range(HELD_OUT)]

    def evaluate(model: nn.Module) -> float:
        scores = score_stories(model, stories)
        written = write_stories(cast("GPT2", model), WRITTEN, torch.Generator().manual_seed(1))
        shares = {"sentences": sentence_share(written), "pronouns": pronoun_share(model, stories)}
        shares |= {kind: scores.right[kind] / scores.asked[kind] for kind in scores.asked}
        step = EVERY * (len(seen) + 1)
        seen[step] = shares
        if aloud:
            print(f"{step:5} steps  {scores.nats:.2f} nats",
                  *(f"{name} {share:.0%}" for name, share in shares.items()), sep="  ")  # fmt: skip
            print(f"    {written[0]}", flush=True)
        return scores.nats

    return evaluate


def arrivals(seen: dict[int, Shares]) -> dict[str, float]:
    """The first step at which each share reached its threshold; infinity if it did not."""
    return {
        name: next((step for step in sorted(seen) if seen[step][name] >= least), math.inf)
        for name, least in ARRIVED.items()
    }


def verdict(when: dict[str, float]) -> str:
    """Whether each arrived after the one before; a model that knows no names says nothing."""
    if when["finder"] == math.inf:
        return "names did not come"
    in_order = all(when[one] < when[other] for one, other in pairwise(ORDER))
    return "in order" if in_order else "NOT in order"


if __name__ == "__main__":
    main()
