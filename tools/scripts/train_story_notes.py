"""Train a GPT for the stories that learns which thing is meant, with notes that are thrown away.

    python -m tools.scripts.train_story_notes FOLDER               some forty minutes on one core
    python -m tools.scripts.train_story_notes FOLDER --until 400   so many steps, and no more

While it trains, read-outs of its stream have to name what a reader knows at each word: see
tools/scripts/story_notes.py. FOLDER keeps the state every 200 steps, and the same command goes on
from there. At the end FOLDER has the model, in the two files that the package has of its own, with
16 bits a number. docs/stories.md says what came out.
"""

import argparse
import copy
import io
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from course_utils.files import write_whole
from course_utils.models import GPT2, load_gpt2, save_gpt2
from course_utils.models.story_gpt import STORY_GPT
from course_utils.stories import ALL_WORDS
from tools.scripts.story_notes import (
    NOTHING,
    NotedBatch,
    begin_with_waves,
    note_batch,
    note_loss,
    read_outs,
)
from tools.scripts.train_story_gpt import (
    BATCH,
    HELD_OUT_SEED,
    LENGTH,
    report,
    report_written,
    stories,
    things_in,
    watch,
)

KEEP_EVERY = 200
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
        falls: whether the rate falls, to a fiftieth.
    """

    steps: int
    rate: float
    notes: dict[str, tuple[int, float]]
    asked: float
    answer: float
    rises: int = 20
    at_stops: bool = True
    falls: bool = False


FACTS = {"means": (2, 1.0), "holder": (3, 1.0), "finder": (3, 1.0)}
LAST = {
    "before": (1, 0.2), "means": (2, 0.5), "colour": (2, 0.3), "asked": (2, 0.2),
    "holder": (3, 1.0), "lies": (3, 1.0), "stands": (3, 1.0), "finder": (3, 0.5),
    "place": (4, 1.0),
}  # fmt: skip
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
    Stage(
        9200, 2e-3, {kind: (block, 0.3 * weight) for kind, (block, weight) in LAST.items()},
        asked=0, answer=1, falls=True,
    ),
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
    model = load_gpt2(chosen.folder).eval()
    some = stories(HELD_OUT_SEED + 1, 5000)
    report(model, some, "as in training")
    for things in (1, 2):
        few = [story for story in some if things_in(story) == things]
        report(model, few, f"of these, with {things} to find")
    report_written(model)


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
        self.update = self._new_update()
        if path.exists():
            kept = torch.load(path)
            self.step = kept.pop("step")
            for name, state in kept.items():
                getattr(self, name).load_state_dict(state)

    def go_on(self, until: int | None, evaluate: Callable[[nn.Module], Any]) -> None:
        """Train up to this step, or to the last one; keep the state and measure on the way."""
        until = min(until or self.last, self.last)
        while self.step < until:
            self.step += 1
            stage, step = self._stage()
            if step == 1:
                self.update = self._new_update()
            rng = random.Random(f"{self.seed} {self.step}")
            batch = note_batch(rng, BATCH, LENGTH, stage.asked)
            loss = loss_with_notes(self.model, self.reads, batch, stage)
            self.learn(loss, rate_at(stage, step))
            if self.step % KEEP_EVERY == 0 or self.step == until:
                self._keep()
                evaluate(self.model)

    def learn(self, loss: Tensor, rate: float) -> None:
        """Make one step of this size."""
        self.update.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.update.param_groups[0]["lr"] = rate
        self.update.step()

    def _new_update(self) -> torch.optim.Adam:
        learned = [*self.model.parameters(), *self.reads.parameters()]
        return torch.optim.Adam(learned, betas=(0.9, 0.99), fused=True)

    def _stage(self) -> tuple[Stage, int]:
        """The stage of this step, and the number of the step in it."""
        step = self.step
        for stage in self.stages:
            if step <= stage.steps:
                return stage, step
            step -= stage.steps
        raise ValueError(f"there are {self.last} steps, not {self.step}")

    def _keep(self) -> None:
        state = {name: getattr(self, name).state_dict() for name in ("model", "reads", "update")}
        buffer = io.BytesIO()
        torch.save(state | {"step": self.step}, buffer)
        write_whole(self.path, buffer.getvalue())


def loss_with_notes(model: GPT2, reads: nn.ModuleDict, batch: NotedBatch, stage: Stage) -> Tensor:
    """Return the weighted mean loss of the next words, plus that of the notes."""
    states = model.trace(batch.inputs).hidden_states
    scores = model.logits(states[-1]).transpose(1, 2)
    losses = cross_entropy(scores, batch.targets, reduction="none")
    weights = 1 + (stage.answer - 1) * batch.answers
    notes = batch.notes
    if not stage.at_stops:
        stops = batch.inputs == FULL_STOP
        notes = {
            kind: each if kind == "before" else each.masked_fill(stops, NOTHING)
            for kind, each in notes.items()
        }
    told = (losses * weights).sum() / weights.sum()
    return told + note_loss(reads, states, notes, stage.notes)


def rate_at(stage: Stage, step: int) -> float:
    """Return the learning rate at a step of a stage, counted from 1."""
    left = max(0.02, 1 - step / stage.steps) if stage.falls else 1
    return stage.rate * min(1, step / stage.rises) * left


if __name__ == "__main__":
    main()
