"""Train the GPT that the package carries for its stories: it learns which thing is meant.

    python -m tools.scripts.train_story_gpt FOLDER               three hours on one core
    python -m tools.scripts.train_story_gpt FOLDER --until 400   so many steps, and no more

While it trains, read-outs of its stream have to name what a reader knows at each word: see
tools/scripts/story_notes.py. They are thrown away. Every step draws new stories. FOLDER keeps the
state every 200 steps, and the same command goes on from there. At the end FOLDER has the model, in
the two files that course_utils/data/story_gpt has, with 16 bits a number; their SHA-256 are in
course_utils/data/package_files.py. docs/stories.md says what came out.

Other versions of torch, or another number of threads, round otherwise, and give another model.
"""

import argparse
import copy
import io
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.files import write_whole
from course_utils.models import GPT2, load_gpt2, save_gpt2
from course_utils.models.story_gpt import STORY_GPT
from course_utils.stories import ALL_WORDS, Story
from tools.scripts.report_story_gpt import HELD_OUT_SEED, report_all, stories
from tools.scripts.story_measures import score_stories
from tools.scripts.story_notes import (
    NOTHING,
    NotedBatch,
    begin_with_waves,
    note_batch,
    note_loss,
    read_outs,
)

KEEP_EVERY = 200
BATCH, LENGTH = 8, STORY_GPT.max_positions
FULL_STOP = ALL_WORDS.index(".")


@dataclass(frozen=True)
class Stage:
    """Some steps of the training.

    Attributes:
        steps: how many.
        rate: of learning; it rises for the first steps of a stage.
        notes: after which block each kind of note is read, and its weight.
        asked: the share of rows of up to three things, with a question after each sentence.
        answer: the weight of the word that answers a question; the others have 1.
        rises: number of steps until the rate is reached.
        at_stops: whether notes at full stops count.
        falls: whether the rate falls, to a hundredth, and with it the weight of the notes.
        muon: the rate with which Muon trains the blocks' matrices; without one Adam does.
    """

    steps: int
    rate: float
    notes: dict[str, tuple[int, float]]
    asked: float
    answer: float
    rises: int = 20
    at_stops: bool = True
    falls: bool = False
    muon: float | None = None


def weighed(notes: dict[str, tuple[int, float]], weight: float) -> dict[str, tuple[int, float]]:
    """The same notes with so much of their weight."""
    return {kind: (block, weight * each) for kind, (block, each) in notes.items()}


FACTS = {"means": (2, 1.0), "holder": (3, 1.0), "finder": (3, 1.0)}
LAST = {
    "before": (1, 0.2), "means": (2, 0.5), "colour": (2, 0.3), "asked": (2, 0.2),
    "holder": (3, 1.0), "lies": (3, 1.0), "stands": (3, 1.0), "finder": (3, 0.5),
    "place": (4, 1.0),
}  # fmt: skip
COUNTED = weighed(LAST, 0.1) | {"told": (2, 0.1), "people": (2, 0.1)}
STAGES = (
    Stage(
        1800, 2e-3, FACTS | {"before": (1, 1.0), "colour": (2, 1.0), "place": (3, 1.0)},
        asked=2 / 3, answer=3, rises=100, at_stops=False,
    ),
    Stage(
        2800, 2e-3,
        FACTS | {"before": (1, 0.5), "colour": (2, 1.0), "asked": (2, 1.0), "place": (3, 1.0)},
        asked=2 / 3, answer=5, at_stops=False,
    ),
    Stage(
        2800, 1.5e-3,
        FACTS | {"before": (1, 0.3), "colour": (2, 0.5), "asked": (2, 0.3), "anywhere": (3, 1.0)},
        asked=1 / 2, answer=3,
    ),
    Stage(1600, 1.5e-3, LAST, asked=1 / 3, answer=3),
    Stage(9200, 2e-3, weighed(LAST, 0.3), asked=0, answer=1, falls=True),
    Stage(20_000, 2e-3, COUNTED, asked=0, answer=1, rises=30, falls=True, muon=0.01),
    Stage(8000, 1e-3, COUNTED, asked=0, answer=1, rises=30, falls=True, muon=0.005),
)  # fmt: skip


def main() -> None:
    """Train, keep the state, and at the end write the model and say what it can do."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, help="for the state and the model")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and of the stories")
    parser.add_argument("--until", type=int, metavar="STEP", help="stop early; no model")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    run = Run(chosen.folder / f"state-{chosen.seed}.pt", chosen.seed)
    run.go_on(chosen.until, watch(stories(HELD_OUT_SEED, 500)))
    if run.step < run.last:
        return
    save_gpt2(copy.deepcopy(run.model).half(), chosen.folder)
    report_all(load_gpt2(chosen.folder).eval())


def watch(held_out: Sequence[Story]) -> Callable[[nn.Module], None]:
    """Return a function that prints what a model knows."""
    start = time.perf_counter()

    def evaluate(model: nn.Module) -> None:
        scores = score_stories(model, held_out)
        shares = (f"{kind} {scores.right[kind] / scores.asked[kind]:.0%}" for kind in scores.asked)
        took = time.perf_counter() - start
        print(f"{took:5.0f} s  {scores.nats:.4f} nats  {'  '.join(shares)}", flush=True)

    return evaluate


class Run:
    """A training that can be stopped.

    Args:
        path: of the file that keeps the state; a training whose file is there goes on.
        seed: of the weights and of the stories.
        stages: what to do, one after the other.
    """

    def __init__(self, path: Path, seed: int, stages: Sequence[Stage] = STAGES) -> None:
        self.path, self.seed, self.stages, self.step = path, seed, stages, 0
        self.last = sum(stage.steps for stage in stages)
        torch.manual_seed(seed)
        self.model, self.reads = GPT2(STORY_GPT), read_outs(STORY_GPT.width)
        begin_with_waves(self.model)
        self.updates: list[torch.optim.Optimizer] = []
        if path.exists():
            self._load()

    def go_on(self, until: int | None, evaluate: Callable[[nn.Module], Any]) -> None:
        """Train up to this step, or to the last one; keep the state and measure on the way."""
        until = min(until or self.last, self.last)
        while self.step < until:
            self.step += 1
            stage, step = self._stage()
            if step == 1:
                self.updates = self._new_updates(stage)
            share = share_at(stage, step)
            batch = self.batch(stage)
            self.learn(loss_with_notes(self.model, self.reads, batch, stage, share), stage, share)
            if self.step % KEEP_EVERY == 0 or self.step == until:
                self._keep()
                evaluate(self.model)

    def batch(self, stage: Stage) -> NotedBatch:
        """Draw the stories of this step."""
        rng = random.Random(f"{self.seed} {self.step}")
        return note_batch(rng, BATCH, LENGTH, stage.asked)

    def learn(self, loss: Tensor, stage: Stage, share: float) -> None:
        """Make one step with this share of the stage's rates."""
        self.model.zero_grad()
        self.reads.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for update, rate in zip(self.updates, (stage.rate, stage.muon or 0.0), strict=False):
            update.param_groups[0]["lr"] = share * rate
            update.step()

    def _new_updates(self, stage: Stage) -> list[torch.optim.Optimizer]:
        """Adam; of the blocks' matrices Muon, where the stage has it."""
        learned = [*self.model.parameters(), *self.reads.parameters()]
        if stage.muon is None:
            return [torch.optim.Adam(learned, betas=(0.9, 0.99), fused=True)]
        matrices = [each for each in self.model.blocks.parameters() if each.ndim == 2]
        others = {*learned} - {*matrices}
        rest = [each for each in learned if each in others]
        return [
            torch.optim.Adam(rest, betas=(0.9, 0.99), fused=True),
            torch.optim.Muon(matrices, lr=stage.muon, weight_decay=0.0),
        ]

    def _stage(self) -> tuple[Stage, int]:
        """The stage of this step, and the number of the step in it."""
        step = self.step
        for stage in self.stages:
            if step <= stage.steps:
                return stage, step
            step -= stage.steps
        raise ValueError(f"there are {self.last} steps, not {self.step}")

    def _keep(self) -> None:
        state = {
            "step": self.step,
            "model": self.model.state_dict(),
            "reads": self.reads.state_dict(),
            "updates": [update.state_dict() for update in self.updates],
        }
        buffer = io.BytesIO()
        torch.save(state, buffer)
        write_whole(self.path, buffer.getvalue())

    def _load(self) -> None:
        kept = torch.load(self.path)
        self.step = kept["step"]
        self.model.load_state_dict(kept["model"])
        self.reads.load_state_dict(kept["reads"])
        self.updates = self._new_updates(self._stage()[0])
        for update, state in zip(self.updates, kept["updates"], strict=True):
            update.load_state_dict(state)


def loss_with_notes(
    model: GPT2, reads: nn.ModuleDict, batch: NotedBatch, stage: Stage, share: float = 1.0
) -> Tensor:
    """Return the weighted mean loss of the next words, plus that of the notes.

        loss of a word = - sum over words w of P(w) log softmax(scores)_w

    Args:
        model: the GPT.
        reads: from ``read_outs``.
        batch: from ``note_batch``.
        stage: says which notes count, and how much answers do.
        share: of the weight of the notes, where it falls.
    """
    states = model.trace(batch.inputs).hidden_states
    losses = -(batch.chances * model.logits(states[-1]).log_softmax(-1)).sum(-1)
    weights = 1 + (stage.answer - 1) * batch.answers
    notes = batch.notes
    if not stage.at_stops:
        stops = batch.inputs == FULL_STOP
        notes = {
            kind: each if kind == "before" else each.masked_fill(stops, NOTHING)
            for kind, each in notes.items()
        }
    told = (losses * weights).sum() / weights.sum()
    return told + share * note_loss(reads, states, notes, stage.notes)


def share_at(stage: Stage, step: int) -> float:
    """Return the share of a stage's learning rate at a step, counted from 1."""
    left = max(0.01, 1 - step / stage.steps) if stage.falls else 1
    return min(1, step / stage.rises) * left


if __name__ == "__main__":
    main()
