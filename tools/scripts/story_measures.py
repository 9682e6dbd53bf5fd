"""What a model knows of stories: nats for a word, right answers, sentences, pronouns."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from course_utils.shapes import Int
from course_utils.stories import ALL_WORDS, Story
from tools.scripts.story_reading import is_sentence

# The first two words of a question, and what it asks for.
QUESTIONS = {
    "Who has": "holder",
    "Where is": "place",
    "What colour": "colour",
    "Who found": "finder",
    "Who gave": "giver",
}
BATCH = 50


@dataclass(frozen=True)
class StoryScores:
    """How a model does on some stories.

    Attributes:
        nats: mean loss for each word, in nats.
        words: the number of words.
        right: the number of right answers, by kind of question.
        asked: the number of questions, by kind.
    """

    nats: float
    words: int
    right: dict[str, int]
    asked: dict[str, int]

    @property
    def accuracy(self) -> float:
        """The share of right answers, of all kinds together."""
        return sum(self.right.values()) / sum(self.asked.values())


@torch.no_grad()
def score_stories(
    model: Callable[[Tensor], Tensor], stories: Sequence[Story], *, before: str = "\n"
) -> StoryScores:
    """Return a model's loss on stories, and how many of their questions it answers.

    An answer is right when each of its words is the most probable one after those before it: then
    a model that always takes the most probable word gives it, word for word.

    Args:
        model: gives scores (B, T, V) for token ids (B, T) of ``ALL_WORDS``.
        stories: what to score; each is read alone.
        before: the token before each story.
    """
    nats, words = 0.0, 0
    right, asked = dict.fromkeys(QUESTIONS.values(), 0), dict.fromkeys(QUESTIONS.values(), 0)
    for some, padded in _rows(stories, before):
        longest = padded.shape[1] - 1
        counts = torch.arange(longest) < torch.tensor([[len(story)] for story in some])
        scores = model(padded[:, :-1])
        losses = cross_entropy(scores.transpose(1, 2), padded[:, 1:], reduction="none")
        nats += losses[counts].cpu().sum(dtype=torch.float64).item()
        words += int(counts.sum())
        hit = (scores.argmax(-1) == padded[:, 1:]).tolist()
        for story, hits in zip(some, hit, strict=True):
            for kind, start, stop in _answers(story):
                asked[kind] += 1
                right[kind] += all(hits[start:stop])
    return StoryScores(nats / words, words, right, asked)


@torch.no_grad()
def pronoun_share(model: Callable[[Tensor], Tensor], stories: Sequence[Story]) -> float:
    """Return how often a model expects *He* rather than *She* where it comes, and the reverse.

    Who knows only how frequent words are is right half of the time.

    Args:
        model: gives scores (B, T, V) for token ids (B, T) of ``ALL_WORDS``.
        stories: some of them begin a sentence with He or She; each is read alone.
    """
    he, she = ALL_WORDS.index("He"), ALL_WORDS.index("She")
    right = asked = 0
    for _, padded in _rows(stories, "\n"):
        scores, following = model(padded[:, :-1]), padded[:, 1:]
        expects_he = scores[..., he] > scores[..., she]
        right += int((expects_he & (following == he) | ~expects_he & (following == she)).sum())
        asked += int(((following == he) | (following == she)).sum())
    return right / asked


def sentence_share(written: Iterable[str]) -> float:
    """Return how many of the sentences before the first question are sentences of the stories.

    Args:
        written: stories as ``write_stories`` returns them.

    >>> sentence_share(["Ann sang . He gave . Who has the hat ? Ann has it .", "Ann slept . Ann"])
    0.5
    """
    told = [
        sentence
        for story in written
        for sentence in takewhile(lambda words: "?" not in words, story.split(" . "))
    ]
    return sum(map(is_sentence, told)) / max(1, len(told))


def _rows(
    stories: Sequence[Story], before: str
) -> Iterator[tuple[list[tuple[str, ...]], Int[Tensor, "B T"]]]:
    """Some stories at a time: their words, and their ids after that of `before`, filled with 0."""
    ids = {word: number for number, word in enumerate(ALL_WORDS)}
    for first in range(0, len(stories), BATCH):
        some = [story.words for story in stories[first : first + BATCH]]
        longest = max(len(story) for story in some)
        rows = [[ids[word] for word in (before, *story)] for story in some]
        yield some, torch.tensor([row + [0] * (longest + 1 - len(row)) for row in rows])


def _answers(story: Sequence[str]) -> list[tuple[str, int, int]]:
    """The kind of each question, and where its answer begins and ends."""
    found, start = [], 0
    for place, word in enumerate(story):
        if word == "?":
            stop = story.index(".", place) + 1
            found.append((QUESTIONS[" ".join(story[start : start + 2])], place + 1, stop))
        if word == ".":
            start = place + 1
    return found
