"""Train the GPT that the package carries for its stories.

    python -m tools.scripts.train_story_gpt                an hour on one core
    python -m tools.scripts.train_story_gpt --more 1       two hours more with the packaged model
    python -m tools.scripts.train_story_gpt --steps 100    to see that it runs; writes nothing
    python -m tools.scripts.train_story_gpt --report       what the packaged model can do

The packaged model had the hour, and then two hours twice: `--more 1`, `--more 2`. The number is
the seed of the stories, so that each time they are new.

It begins with short stories of two people and one thing: there the model finds out in a minute that
names come back, and with the whole stories only after five. Then it reads these, each once, for
every step draws new ones. The held-out stories are drawn with another
seed, and no choice is made by them. What it prints along the way is in docs/stories.md.

The hashes it prints are for course_utils/data/package_files.py. Other versions of torch, or another
number of threads, round otherwise, and give another model of the same quality.
"""

import argparse
import copy
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, cast

import torch

from course_utils.data.package_files import DATA
from course_utils.language_modeling import next_token_loss
from course_utils.models import GPT2, load_gpt2, save_gpt2
from course_utils.models.story_gpt import (
    FOLDER,
    STORY_GPT,
    load_story_gpt,
    story_batch,
    write_stories,
)
from course_utils.stories import ALL_WORDS, Limits, Story, entropy, tell
from course_utils.training import train
from tools.scripts.packaged import print_line
from tools.scripts.story_measures import score_stories
from tools.scripts.story_reading import objection_to

SEED, HELD_OUT_SEED = 0, 10**6
SMALLER = Limits(people=2, things=1, places=2, containers=1, longest=5)
FIRST_STEPS, FIRST_BATCH, FIRST_LENGTH = 1000, 24, 64
STEPS, MORE_STEPS, BATCH, LENGTH = 9000, 20_000, 8, STORY_GPT.max_positions
LEARNING_RATE, WARMUP = 2e-3, 100
Batches = Callable[[torch.Generator], tuple[torch.Tensor, ...]]
LARGER = Limits(people=4, things=3, places=3, containers=3, longest=14)


def main() -> None:
    """Train, write the files, and say what the model can do."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--steps", type=int, help="a shorter training, which writes nothing")
    what.add_argument("--more", type=int, metavar="SEED", help="go on with the packaged model")
    what.add_argument("--report", action="store_true", help="only say what the packaged can do")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    held_out = stories(HELD_OUT_SEED, 500)
    if chosen.report or chosen.more:
        model = load_story_gpt()
    else:
        model = begun(min(FIRST_STEPS, chosen.steps or FIRST_STEPS), held_out)
    if chosen.more:
        model = gone_on(model, chosen.more, MORE_STEPS, held_out)
    elif not chosen.report:
        model = gone_on(model, SEED, chosen.steps or STEPS, held_out)
    if not (chosen.report or chosen.steps):
        save_gpt2(copy.deepcopy(model).half(), DATA / FOLDER)
        for path in sorted((DATA / FOLDER).iterdir()):
            print_line(f"{FOLDER}/{path.name}")
        model = load_gpt2(DATA / FOLDER)
    some = stories(HELD_OUT_SEED + 1, 5000)
    report(model.eval(), some, "as in training")
    for things in (1, 2):
        few = [story for story in some if things_in(story) == things]
        report(model, few, f"of these, with {things} to find")
    larger = [story for story in stories(HELD_OUT_SEED + 2, 3000, LARGER) if fits(story)]
    report(model, larger, "longer, with more people and things")
    report_written(model)
    for order, nats in enumerate(count_models(stories(SEED, 50_000), held_out), 1):
        print(f"{order}-gram model: {nats:.3f} nats for a word")
    nats, words = entropy()
    print(f"exact entropy: {nats:.3f} nats for a story, {nats / words:.4f} for a word")


def stories(seed: int, count: int, limits: Limits = Limits()) -> list[Story]:  # noqa: B008
    """Return so many stories."""
    rng = random.Random(seed)
    return [tell(rng, limits) for _ in range(count)]


def things_in(story: Story) -> int:
    """How many things are found in a story."""
    return sum(pair in {("found", "a"), ("found", "an")} for pair in pairwise(story.words))


def fits(story: Story) -> bool:
    """Whether the model has a position for each word."""
    return len(story.words) < LENGTH


def begun(steps: int, held_out: Sequence[Story]) -> GPT2:
    """Return a new model that has read short stories."""
    return _trained(
        lambda: GPT2(STORY_GPT), story_batch(FIRST_LENGTH, FIRST_BATCH, SMALLER),
        seeds=[SEED], steps=steps, evaluate=watch(held_out), every=max(1, steps // 2),
    )  # fmt: skip


def gone_on(model: GPT2, seed: int, steps: int, held_out: Sequence[Story]) -> GPT2:
    """Return the model after so many steps with whole stories, drawn with this seed."""
    return _trained(
        lambda: model, story_batch(LENGTH, BATCH),
        seeds=[seed], steps=steps, cooldown=steps // 3,
        evaluate=watch(held_out), every=max(1, steps // 18),
    )  # fmt: skip


def _trained(build: Callable[[], GPT2], batch: Batches, **chosen: Any) -> GPT2:
    done = train(
        build, batch, next_token_loss, learning_rate=LEARNING_RATE, warmup=WARMUP, **chosen
    )
    return cast("GPT2", done.models[0])


def watch(held_out: Sequence[Story]) -> Callable[[torch.nn.Module], float]:
    """Return a function that prints what a model knows, and returns its loss."""
    start = time.perf_counter()

    def evaluate(model: torch.nn.Module) -> float:
        scores = score_stories(model, held_out)
        shares = (f"{kind} {scores.right[kind] / scores.asked[kind]:.0%}" for kind in scores.asked)
        took = time.perf_counter() - start
        print(f"{took:5.0f} s  {scores.nats:.4f} nats  {'  '.join(shares)}", flush=True)
        return scores.nats

    return evaluate


def report(model: GPT2, some: Sequence[Story], name: str) -> None:
    """Print the loss and the share of right answers by kind of question."""
    scores = score_stories(model, some)
    print(f"{name}: {len(some)} stories, {scores.nats:.4f} nats for a word")
    for kind, asked in scores.asked.items():
        print(f"  {kind}: {scores.right[kind]} of {asked}")


def report_written(model: GPT2, count: int = 1000) -> None:
    """Print how many of the stories that it writes nobody would object to, and the first 20."""
    written = write_stories(model, count, torch.Generator().manual_seed(SEED))
    found = [objection_to(story) for story in written]
    print(f"{found.count('')} of {count} stories that it writes are without fault")
    for story, fault in zip(written[:20], found, strict=False):
        print(f"- {story}" + (f"   [{fault}]" if fault else ""))


def count_models(learn: Sequence[Story], held_out: Sequence[Story]) -> Iterator[float]:
    """Nats for a word of models that count words, pairs and triples; each adds 0.01 to a count."""
    for order in (1, 2, 3):
        counts, contexts = Counter(), Counter()
        for words in _runs(learn, order):
            counts[words] += 1
            contexts[words[:-1]] += 1
        runs = list(_runs(held_out, order))
        shares = (
            (counts[words] + 0.01) / (contexts[words[:-1]] + 0.01 * len(ALL_WORDS))
            for words in runs
        )
        yield -sum(math.log(share) for share in shares) / len(runs)


def _runs(some: Sequence[Story], order: int) -> Iterator[tuple[str, ...]]:
    for story in some:
        words = ("\n",) * (order - 1) + story.words
        yield from zip(*(words[start:] for start in range(order)), strict=False)


if __name__ == "__main__":
    main()
