"""A GPT that tells stories of the small world, and answers questions about them."""

import random
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from course_utils.data.package_files import DATA, read_packaged
from course_utils.language_modeling import next_token_loss
from course_utils.models.generation import generate
from course_utils.models.gpt2 import GPT2, GPT2Config
from course_utils.models.gpt2_weights import load_gpt2
from course_utils.stories import ALL_WORDS, LIMITS, Limits, tell
from course_utils.tokens import WordTokens
from course_utils.training import Training, train

__all__ = [
    "SHORT_STORIES",
    "STORY_GPT",
    "load_story_gpt",
    "story_batch",
    "story_tokens",
    "train_on_short_stories",
    "write_stories",
]

STORY_GPT = GPT2Config(
    vocab_size=len(ALL_WORDS), max_positions=192, width=96, num_layers=4, num_heads=4
)
FOLDER = "story_gpt"
# Two people and one thing. No such story has more than 64 words.
SHORT_STORIES = Limits(people=2, things=1, places=2, containers=1, longest=4)
LONGEST_SHORT = 64


def story_tokens() -> WordTokens:
    r"""Return the tokens of the stories: their words, and the end of a line before each story.

    >>> story_tokens().encode("\nAnn was in the park.")[0]
    0
    """
    return WordTokens(ALL_WORDS)


def story_batch(
    length: int, batch_size: int, limits: Limits = LIMITS
) -> Callable[[torch.Generator], tuple[Tensor, Tensor]]:
    """Return a function that draws rows of new stories, as ``training.train`` wants it.

    It takes a generator, and returns the inputs (B, T) and the targets (B, T), one token later. A
    row begins with a story, and goes on with others until it is full.

    Args:
        length: of a row, T.
        batch_size: number of rows, B.
        limits: how large the stories are.

    >>> inputs, targets = story_batch(61, 3)(torch.Generator().manual_seed(0))
    >>> tuple(inputs.shape), bool((targets[:, :-1] == inputs[:, 1:]).all())
    ((3, 61), True)
    """
    ids = {word: number for number, word in enumerate(ALL_WORDS)}

    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        rng = random.Random(int(torch.randint(2**62, (), generator=generator)))
        rows: list[list[int]] = [[] for _ in range(batch_size)]
        for row in rows:
            while len(row) <= length:
                row += (ids[word] for word in ("\n", *tell(rng, limits).words))
        both = torch.tensor([row[: length + 1] for row in rows])
        return both[:, :-1], both[:, 1:]

    return draw


def write_stories(model: GPT2, count: int, generator: torch.Generator) -> list[str]:
    """Let a model write stories; return the words of each, with spaces between them.

    One that does not end within the model's positions is cut there.
    """
    written = generate(
        model, torch.zeros(count, 1, dtype=torch.long), model.config.max_positions - 1,
        generator=generator,
    )  # fmt: skip
    stories = []
    for row in written[:, 1:].tolist():
        words = [ALL_WORDS[number] for number in row]
        stories.append(" ".join(words[: words.index("\n")] if "\n" in words else words))
    return stories


def train_on_short_stories(
    *,
    seeds: Iterable[int] = (0,),
    steps: int = 1000,
    width: int = 64,
    evaluate: Callable[[nn.Module], Tensor | float] | None = None,
    every: int = 100,
) -> Training:
    """Train a GPT of two layers from nothing on short stories: on one thread within a minute.

    Args:
        seeds: one model for each.
        steps: number of updates; each reads 16 rows of 64 words.
        width: of the model, a multiple of 4, C.
        evaluate: what to measure along the way, as in ``training.train``.
        every: number of steps between two measurements.

    >>> done = train_on_short_stories(steps=2, width=8)
    >>> len(done.models), done.losses.shape
    (1, torch.Size([1, 2]))
    """
    config = GPT2Config(len(ALL_WORDS), LONGEST_SHORT, width, num_layers=2, num_heads=4)
    return train(
        lambda: GPT2(config), story_batch(LONGEST_SHORT, 16, SHORT_STORIES), next_token_loss,
        seeds=seeds, steps=steps, learning_rate=5e-3, warmup=50, evaluate=evaluate, every=every,
    )  # fmt: skip


def load_story_gpt() -> GPT2:
    """Return the trained model, in evaluation mode; a new one at each call.

    tools/scripts/train_story_gpt.py trains it. Its loss is 0.692 nats a word on held-out stories,
    whose entropy is 0.683. The file has 16 bits per number, the model 32.

    Raises:
        PackagedFileError: a RuntimeError, if a file is missing or damaged.

    >>> load_story_gpt().config == STORY_GPT
    True
    """
    for name in ("config.json", "model.safetensors"):
        read_packaged(f"{FOLDER}/{name}")
    return load_gpt2(DATA / FOLDER).eval()
