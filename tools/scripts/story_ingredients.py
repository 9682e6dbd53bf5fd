"""Measure what each part of the story GPT's training buys: the training without it, three seeds.

    python -m tools.scripts.story_ingredients FOLDER --seed 10      an hour on one core
    python -m tools.scripts.story_ingredients FOLDER --seed 10 --only notes muon

First 3,000 steps of the training, whole and without a part; then 1,500 steps of stories alone, in
which the rate falls, from what the whole ones have learned. FOLDER keeps the states, and the same
command goes on from there. docs/stories.md has what it prints.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch.nn.functional import one_hot

from course_utils.models import GPT2
from course_utils.models.story_gpt import STORY_GPT
from course_utils.stories import ALL_WORDS
from tools.scripts.report_story_gpt import HELD_OUT_SEED, stories, things_in
from tools.scripts.story_measures import score_stories
from tools.scripts.story_notes import NotedBatch
from tools.scripts.train_story_gpt import COUNTED, STAGES, Run, Stage

FIRST, THEN = 3000, 1500
LEARNED = "all of them"
FALLING = Stage(THEN, 2e-3, COUNTED, asked=0, answer=1, rises=30, falls=True, muon=0.01)


class WordRun(Run):
    """A training whose targets are the words that came, and not how likely each word was."""

    def batch(self, stage: Stage) -> NotedBatch:
        """One that came is drawn for the last word of a row."""
        batch = super().batch(stage)
        last = batch.chances[:, -1].multinomial(1)
        came = torch.cat((batch.inputs[:, 1:], last), 1)
        return batch._replace(chances=one_hot(came, len(ALL_WORDS)).float())


@dataclass(frozen=True)
class Arm:
    """A training that is measured.

    Attributes:
        without: the part that is missing.
        change: of a stage.
        has_waves: whether positions begin as waves, and two heads by what binding needs.
        goes_on: whether it begins with what the whole training has learned.
        run: how it trains.
    """

    without: str
    change: Callable[[Stage], Stage] = lambda stage: stage
    has_waves: bool = True
    goes_on: bool = False
    run: type[Run] = Run


ARMS = {
    "all": Arm(LEARNED),
    "notes": Arm("without notes", lambda stage: replace(stage, notes={})),
    "questions": Arm("without questions between", lambda stage: replace(stage, asked=0)),
    "waves": Arm("without the beginning as waves", has_waves=False),
    "then": Arm("then: exact targets, Muon", goes_on=True),
    "muon": Arm("then: Adam", lambda stage: replace(stage, muon=None), goes_on=True),
    "exact": Arm("then: the words that came", goes_on=True, run=WordRun),
}


def main() -> None:
    """Train each arm, and print its line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, help="for the states")
    parser.add_argument("--seed", type=int, default=10, help="of the weights and of the stories")
    parser.add_argument("--only", nargs="+", choices=ARMS, default=list(ARMS), metavar="ARM")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    for name in chosen.only:
        print(f"{ARMS[name].without}, seed {chosen.seed}: ", end="", flush=True)
        print(report(train(chosen.folder, name, chosen.seed)), flush=True)


def train(folder: Path, name: str, seed: int) -> GPT2:
    """Return what an arm has learned."""
    arm = ARMS[name]
    path = folder / f"{name}-{seed}.pt"
    if not arm.goes_on:
        run = arm.run(path, seed, [arm.change(stage) for stage in STAGES])
        if not arm.has_waves and run.step == 0:
            torch.manual_seed(seed)
            run.model = GPT2(STORY_GPT)
        run.go_on(FIRST, lambda _: None)
        return run.model
    learned = Run(folder / f"all-{seed}.pt", seed)
    if learned.step != FIRST:
        raise ValueError(f"train the arm 'all' first: it has {learned.step} of {FIRST} steps")
    run = arm.run(path, seed + 1000, [arm.change(FALLING)])
    if run.step == 0:
        run.model, run.reads = learned.model, learned.reads
    run.go_on(THEN, lambda _: None)
    return run.model


def report(model: GPT2) -> str:
    """The loss, and right answers where a story has two things; no training reads these stories."""
    some = stories(HELD_OUT_SEED + 11, 2000)
    nats = score_stories(model, some).nats
    scores = score_stories(model, [story for story in some if things_in(story) == 2])
    shares = (f"{kind} {scores.right[kind] / scores.asked[kind]:.1%}" for kind in scores.asked)
    return f"{nats:.4f} nats; of two things {', '.join(shares)}"


if __name__ == "__main__":
    main()
