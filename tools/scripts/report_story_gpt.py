"""Say what a GPT of the stories can do: loss, answers, what it writes, what it says of nothing.

    python -m tools.scripts.report_story_gpt               the packaged model
    python -m tools.scripts.report_story_gpt FOLDER ...    the models in these folders

The stories are drawn with seeds that no training draws with. docs/stories.md has what it prints.
"""

import argparse
import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import torch

from course_utils.data.package_files import DATA
from course_utils.models import GPT2, load_gpt2
from course_utils.models.story_gpt import FOLDER, STORY_GPT, write_stories
from course_utils.stories import ALL_WORDS, Limits, Story, entropy, tell
from course_utils.stories.words import FILLERS
from course_utils.teaching.claims import wilson_interval
from tools.scripts.story_measures import score_stories
from tools.scripts.story_reading import objection_to

HELD_OUT_SEED = 10**6
LONGER = Limits(people=4, things=3, places=3, containers=3, longest=14)
IDS = {word: number for number, word in enumerate(ALL_WORDS)}


def main() -> None:
    """Report on each model, and on what a model can know."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folders", type=Path, nargs="*", default=[DATA / FOLDER])
    torch.set_num_threads(1)
    for folder in parser.parse_args().folders:
        print(f"\n{folder}")
        report_all(load_gpt2(folder).eval())
    learn, held_out = stories(0, 50_000), stories(HELD_OUT_SEED, 500)
    for order, nats in enumerate(count_models(learn, held_out), 1):
        print(f"{order}-gram model: {nats:.3f} nats for a word")
    nats, words = entropy()
    print(f"exact entropy: {nats:.3f} nats for a story, {nats / words:.4f} for a word")


def report_all(model: GPT2) -> None:
    """Print what a model can do."""
    some = stories(HELD_OUT_SEED + 1, 5000)
    report(model, some, "as in training")
    for things in (1, 2):
        few = [story for story in some if things_in(story) == things]
        report(model, few, f"of these, with {things} to find")
    longer = stories(HELD_OUT_SEED + 2, 3000, LONGER)
    fitting = [story for story in longer if len(story.words) < STORY_GPT.max_positions]
    report(model, fitting, "longer, with more people and things")
    report_absent(model, stories(HELD_OUT_SEED + 3, 400))
    report_written(model)


def stories(seed: int, count: int, limits: Limits = Limits()) -> list[Story]:  # noqa: B008
    """Return so many stories."""
    rng = random.Random(seed)
    return [tell(rng, limits) for _ in range(count)]


def things_in(story: Story) -> int:
    """How many things are found in a story."""
    return sum(pair in {("found", "a"), ("found", "an")} for pair in pairwise(story.words))


def report(model: GPT2, some: Sequence[Story], name: str) -> None:
    """Print the loss and the share of right answers by kind of question."""
    scores = score_stories(model, some)
    print(f"{name}: {len(some)} stories, {scores.nats:.4f} nats for a word")
    for kind, asked in scores.asked.items():
        print(f"  {kind}: {of(scores.right[kind], asked)}")


def report_absent(model: GPT2, some: Sequence[Story]) -> None:
    """Print how often it names somebody, or a colour, asked about a thing that no story has."""
    rng, named, surely = random.Random(0), Counter(), Counter()
    for story in some:
        told = story.words[: first_question(story.words)]
        noun = rng.choice([noun for noun in FILLERS["noun"] if noun not in told])
        for asked in ("Who has the {} ?", "What colour is the {} ? It is"):
            text = ("\n", *told, *asked.format(noun).split())
            with torch.no_grad():
                scores = model(torch.tensor([[IDS[word] for word in text]]))[0, -1]
            chance, word = scores.softmax(-1).max(-1)
            answers = told if ALL_WORDS[word] != "It" else ()
            named[asked] += ALL_WORDS[word] in answers
            surely[asked] += ALL_WORDS[word] in answers and chance.item() > 0.9
    for asked in named:
        print(
            f"{asked.format('…')} of a thing that is not there: a word of the story"
            f" {of(named[asked], len(some))}, with more than 0.9 {of(surely[asked], len(some))}"
        )


def first_question(words: Sequence[str]) -> int:
    """Where the questions of a story begin."""
    return next(at for at, word in enumerate(words) if word in {"Who", "What", "Where"})


def report_written(model: GPT2, count: int = 1000) -> None:
    """Print how many of the stories that it writes nobody would object to, and the first 20."""
    written = write_stories(model, count, torch.Generator().manual_seed(0))
    found = [objection_to(story) for story in written]
    print(f"stories that it writes, without fault: {of(found.count(''), count)}")
    for story, fault in zip(written[:20], found, strict=False):
        print(f"- {story}" + (f"   [{fault}]" if fault else ""))


def of(right: int, asked: int) -> str:
    """A count, and its share with the 95 % interval."""
    low, high = wilson_interval(right, max(1, asked))
    return f"{right} of {asked}, {right / max(1, asked):.1%} ({low:.1%} to {high:.1%})"


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
