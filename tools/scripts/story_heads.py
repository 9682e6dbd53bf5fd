"""Which heads of a story model find whom a pronoun means, and who has the thing.

    python -m tools.scripts.story_heads                     the packaged model
    python -m tools.scripts.story_heads FOLDER ...          the models in these folders
    python -m tools.scripts.story_heads FOLDER ... --short  those of story_order: on short stories
    python -m tools.scripts.story_heads --stories 20        to see that it runs

Three measurements. By weight: how often a head's largest weight is on a word that names what is
meant, at *it*, at *He*, *She*, *him* and *her*, and at the question mark of "Who has the hat?";
there also, how often it is in the sentence in which they got it. The head is chosen on one half of
the stories and counted on the other. By ablation: how many answers are right when a head's output
is replaced by its mean, one head at a time (half of the stories), and how many go on as if *Where*
were asked. By exchange: how often two questions get each other's answers.
"""

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from course_utils.data.package_files import DATA
from course_utils.explorers.gpt.weights import mean_outputs
from course_utils.models import GPT2, load_gpt2
from course_utils.models.story_gpt import FOLDER, SHORT_STORIES
from course_utils.stories import ALL_WORDS, LIMITS, Story, tell
from course_utils.stories.words import FILLERS
from course_utils.teaching.claims import wilson_interval
from tools.scripts.story_measures import score_stories
from tools.scripts.story_reading import Reading

SEED = 2 * 10**6  # no training draws its stories with it
IDS = {word: number for number, word in enumerate(ALL_WORDS)}
NAMES = {*FILLERS["he"], *FILLERS["she"]}
OBJECTS = {*FILLERS["noun"], *FILLERS["container"]}
LIKE_WHERE = {"What colour": (2, "in"), "Who has": (0, "It"), "Who found": (0, "It")}
QUESTION_WORDS = {"Who", "What", "Where"}
MEANS_PERSON = {"He": 0, "She": 0, "him": 1, "her": 1}  # the first person of a sentence, the second


class Place(NamedTuple):
    """A word from which a head should look back: its position, and the positions that are right."""

    kind: str
    query: int
    right: list[int]
    candidates: list[int]  # all names, or all things, before it


def main() -> None:
    """Measure each model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folders", type=Path, nargs="*", default=[DATA / FOLDER])
    parser.add_argument("--short", action="store_true", help="on short stories")
    parser.add_argument("--stories", type=int, default=500)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    rng, limits = random.Random(SEED), SHORT_STORIES if chosen.short else LIMITS
    stories = [tell(rng, limits) for _ in range(chosen.stories)]
    for folder in chosen.folders:
        print(f"\n{folder}", flush=True)
        model = load_gpt2(folder).eval()
        report_weights(model, stories)
        report_exchanges(model, stories[: chosen.stories // 2])
        report_ablations(model, stories[: chosen.stories // 2])


# ------------------------------------------------------------------------------- by weight


def report_weights(model: GPT2, stories: Sequence[Story]) -> None:
    """Print for each kind of place the head that finds most, beside chance and a rival."""
    half = len(stories) // 2
    choosing, asked, _ = head_hits(model, stories[:half])
    counting, counted, rivals = head_hits(model, stories[half:])
    for kind in (kind for kind in counted if kind in choosing):
        order = (choosing[kind] / asked[kind]).flatten().argsort(descending=True)[:2]
        hits, asked_of = counting[kind].flatten(), counted[kind]
        best = (f"head {name(model, int(n))} {rate(int(hits[n]), asked_of)}" for n in order)
        others = (f"{who} {right / asked_of:.0%}" for who, right in rivals[kind].items())
        print(f"  {kind}:", "; ".join((*best, *others, f"{asked_of} places")), flush=True)


@torch.no_grad()
def head_hits(model: GPT2, stories: Sequence[Story]) -> tuple[dict, dict, dict]:
    """By kind: how often each head's largest weight is right (L, H), of how many; the rivals."""
    hits, asked, rivals = {}, {}, {}
    for story in stories:
        words = ["\n", *story.words]
        heads = model.trace(torch.tensor([[IDS[word] for word in words]])).heads
        largest = torch.stack([each.weights[0].argmax(-1) for each in heads])  # (L, H, T)
        for kind, query, right, candidates in places(words):
            hit = torch.isin(largest[..., query], torch.tensor(right))
            hits[kind] = hits.get(kind, 0) + hit.int()
            asked[kind] = asked.get(kind, 0) + 1
            guess = rivals.setdefault(kind, {"a random candidate": 0.0, "the nearest": 0.0})
            guess["a random candidate"] += len(right) / len(candidates)
            guess["the nearest"] += candidates[-1] in right
    return hits, asked, rivals


def places(words: Sequence[str]) -> Iterator[Place]:
    """The places of a story before which there are at least two people, or two things."""
    where, got = {}, {}
    for start, stop, reading in sentences(words):
        for noun, now in reading.where.items():
            if where.get(noun) != now:
                got[noun] = range(start, stop + 1)
        where = dict(reading.where)
        for query in range(start, stop):
            word, meant, among = words[query], "", NAMES
            if word == "?" and words[start : start + 2] == ["Who", "has"]:
                kind, meant = "holder", words[query + 1]
                if meant in NAMES:
                    yield Place("how they got it", query, [*got[words[query - 1]]], [*range(start)])
            elif word in MEANS_PERSON and "?" not in words[start:stop]:
                kind, meant = "he or she", reading.people[MEANS_PERSON[word]]
            elif word == "it" and not {"?", "kept"} & {*words[start:stop]}:
                kind, meant, among = "it", reading.mentioned[0], OBJECTS
            candidates = [at for at in range(query) if words[at] in among]
            right = [at for at in candidates if words[at] == meant]
            if right and len({words[at] for at in candidates}) > 1:
                yield Place(kind, query, right, candidates)
                if candidates[-1] not in right:
                    yield Place(f"{kind}, not the nearest", query, right, candidates)


def sentences(words: Sequence[str]) -> Iterator[tuple[int, int, Reading]]:
    """Where each sentence begins and ends, and what a reader knows after it."""
    reading, start = Reading(), 1
    for stop, word in enumerate(words):
        if word == ".":
            if "?" not in words[start:stop]:
                reading.hear(" ".join(words[start:stop]))
            yield start, stop, reading
            start = stop + 1


# ------------------------------------------------------------------------------- by exchange


@torch.no_grad()
def report_exchanges(model: GPT2, stories: Sequence[Story]) -> None:
    """Print how often two questions after a story get each other's answers.

    They are *What colour is it?* and *Where is it?*, up to *It is*, and exchange at this last word
    what one head gives.
    """
    rng, exchanged = random.Random(0), Counter()
    for story in stories:
        words = ["\n", *story.words]
        told = words[: next(at for at, word in enumerate(words) if word in QUESTION_WORDS)]
        noun = rng.choice([word for word in told if word in FILLERS["noun"]])
        asked = (f"What colour is the {noun} ? It is", f"Where is the {noun} ? It is")
        texts = [torch.tensor([[IDS[word] for word in (*told, *each.split())]]) for each in asked]
        given = [last_outputs(model, text) for text in texts]
        own = [model(text)[0, -1].argmax().item() for text in texts]
        for head in range(len(given[0])):
            found = []
            for text, brought in zip(texts, reversed(given), strict=True):
                with giving(model, head, brought[head], at=-1):
                    found.append(model(text)[0, -1].argmax().item())
            exchanged[head] += found == own[::-1] != own
    shares = (f"{name(model, head)} {count}" for head, count in sorted(exchanged.items()))
    print(f"  exchanged, of {len(stories)}: " + ", ".join(shares), flush=True)


def last_outputs(model: GPT2, text: Tensor) -> list[Tensor]:
    """What each head gives at the last word of a text."""
    found: list[Tensor] = []

    def keep(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        found.extend(inputs[0][0, -1].split(model.config.head_width))

    blocks = range(0, model.config.num_layers * model.config.num_heads, model.config.num_heads)
    hooks = [output_of(model, head).register_forward_pre_hook(keep) for head in blocks]
    model(text)
    for hook in hooks:
        hook.remove()
    return found


# ------------------------------------------------------------------------------- by ablation


def report_ablations(model: GPT2, stories: Sequence[Story]) -> None:
    """Print how many answers are right, whole and without each head."""
    sets = holder_questions(stories)
    before = answers(model, stories, sets)
    print("  whole: " + ", ".join(f"{kind} {rate(*of)}" for kind, of in before.items()), flush=True)
    print("  taken for where: " + taken_for_where(model, stories), flush=True)
    texts = [[0, *(IDS[word] for word in story.words[:-1])] for story in stories[:100]]
    means = mean_outputs(model, [torch.tensor([text]) for text in texts])
    for head, mean in enumerate(means.flatten(0, 1)):
        with giving(model, head, mean):
            after, taken = answers(model, stories, sets), taken_for_where(model, stories)
        rates = (f"{kind} {rate(*of)}" for kind, of in after.items())
        print(f"  without {name(model, head)}: " + ", ".join(rates), flush=True)
        print(f"    taken for where: {taken}", flush=True)


def answers(model: GPT2, stories: Sequence[Story], sets: dict) -> dict[str, tuple[int, int]]:
    """How many answers are right, of how many: who has it by set, and the other questions."""
    found = {}
    for kind, some in sets.items():
        scores = score_stories(model, some)
        found[f"who has, {kind}"] = scores.right["holder"], scores.asked["holder"]
    scores = score_stories(model, stories)
    for kind in ("place", "colour", "finder"):
        found[kind] = scores.right[kind], scores.asked[kind]
    return found


@torch.no_grad()
def taken_for_where(model: GPT2, stories: Sequence[Story]) -> str:
    """How often an answer goes on as if *Where* were asked: *It* for a name, *in* for a colour."""
    taken, asked = Counter(), Counter()
    for story in stories:
        words, start = ["\n", *story.words], 1
        likeliest = model(torch.tensor([[IDS[word] for word in words]]))[0].argmax(-1).tolist()
        for at, word in enumerate(words):
            kind = " ".join(words[start : start + 2])
            if word == "?" and kind in LIKE_WHERE:
                later, sign = LIKE_WHERE[kind]  # a colour's answer begins with *It is*
                asked[kind] += 1
                taken[kind] += ALL_WORDS[likeliest[at + later]] == sign
            if word == ".":
                start = at + 1
    return ", ".join(f"{kind} {taken[kind]} of {count}" for kind, count in asked.items())


def holder_questions(stories: Sequence[Story]) -> dict[str, list[Story]]:
    """Stories that ask who has a thing that somebody has, by how the sentence says so that gave it.

    The sentence names both by their nouns, or the person by a pronoun, or the thing by *it*.
    """
    sets: dict[str, list[Story]] = {"by nouns": [], "by he or she": [], "by it": []}
    for story in stories:
        words = ["\n", *story.words]
        end, where, said = 1, {}, {}
        for start, stop, reading in sentences(words):
            if "?" in words[start:stop]:
                break
            end = stop + 1
            for noun, now in reading.where.items():
                if where.get(noun) != now:
                    said[noun] = words[start:stop]
            where = dict(reading.where)
        for noun, person in where.items():
            if person in NAMES and len(reading.place.keys() & NAMES) > 1:
                question = f"Who has the {noun} ? {person} has it .".split()
                asked = Story((*words[1:end], *question), 0.0)
                if person in said[noun] and noun in said[noun]:
                    sets["by nouns"].append(asked)
                if person not in said[noun]:
                    sets["by he or she"].append(asked)
                if noun not in said[noun]:
                    sets["by it"].append(asked)
    return sets


@contextmanager
def giving(
    model: GPT2, head: int, numbers: Tensor, at: slice | int = slice(None)
) -> Iterator[None]:
    """Let one head give these numbers, at all words or at some."""
    part = columns(model, head)

    def replace(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor]:
        mixed = inputs[0].clone()
        mixed[:, at, part] = numbers
        return (mixed,)

    hook = output_of(model, head).register_forward_pre_hook(replace)
    try:
        yield
    finally:
        hook.remove()


def columns(model: GPT2, head: int) -> slice:
    """Where a head's numbers stand among those of its block's heads."""
    number, size = head % model.config.num_heads, model.config.head_width
    return slice(number * size, (number + 1) * size)


def output_of(model: GPT2, head: int) -> nn.Module:
    """The layer that mixes a head's output with those of its block's others."""
    block = head // model.config.num_heads
    return model.get_submodule(f"blocks.{block}.attention.output")


def name(model: GPT2, head: int) -> str:
    """The block and the number of a head, both counted from 0."""
    return "{}.{}".format(*divmod(head, model.config.num_heads))


def rate(right: int, asked: int) -> str:
    """A share with its 95 % interval."""
    low, high = wilson_interval(right, max(1, asked))
    return f"{right / max(1, asked):.0%} ({low:.0%} to {high:.0%})"


if __name__ == "__main__":
    main()
