"""The published GPT-2, where its files have been fetched: our model with the weights of 2019."""

from typing import NamedTuple

import torch
from tokenizers import Tokenizer

from course_utils.checks import check_seed, check_text
from course_utils.data.gpt2_files import find_gpt2
from course_utils.models.generation import generate
from course_utils.models.gpt2 import GPT2
from course_utils.models.gpt2_weights import load_gpt2

__all__ = ["PublishedGPT2", "load_published_gpt2"]


class PublishedGPT2(NamedTuple):
    """The model in evaluation mode, 124,439,808 parameters, and its own byte pairs.

    Attributes:
        model: scores the next token.
        tokenizer: cuts a text into tokens, of which there are 50,257.
    """

    model: GPT2
    tokenizer: Tokenizer

    def write(self, prompt: str, max_new_tokens: int, *, seed: int = 0) -> str:
        """Return the prompt and what the model writes behind it, drawn among the 40 likeliest.

        Raises:
            TypeError: if prompt is not a string, or a number not an integer.
            ValueError: if the prompt is empty, or there would be more than 1024 tokens.
        """
        ids = self.tokenizer.encode(check_text("prompt", prompt)).ids
        if not ids:
            raise ValueError(f"prompt must hold at least one token, got {prompt!r}")
        generator = torch.Generator().manual_seed(check_seed(seed))
        written = generate(
            self.model, torch.tensor([ids]), max_new_tokens, k=40, generator=generator
        )
        return self.tokenizer.decode(written[0].tolist())


def load_published_gpt2() -> PublishedGPT2 | None:
    """Load the published GPT-2; None where `make gpt2` has not fetched it.

    Raises:
        GPT2FileError: a RuntimeError, if a file is there and is another one.

    >>> published = load_published_gpt2()
    >>> published is None or published.model.config.parameters == 124_439_808
    True
    """
    folder = find_gpt2()
    if folder is None:
        return None
    return PublishedGPT2(
        load_gpt2(folder).eval(), Tokenizer.from_file(str(folder / "tokenizer.json"))
    )
