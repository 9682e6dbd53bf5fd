"""What the explorers of lecture 06 share: a text cut to a number of tokens, and tokens' names."""

from __future__ import annotations

from typing import NamedTuple

from course_utils.tokens import BytePairs

LINE_BREAK = "\n"  # stands for an empty text: a model needs a token to read
NAMES = {"“": '"', "”": '"', "\n": "↵", "\r": "↵", "\t": "⇥"}


class Prompt(NamedTuple):
    """The tokens of a text that are read, and whether the text was too long."""

    ids: tuple[int, ...]
    cut: bool


def read_prompt(text: str, tokenizer: BytePairs, longest: int) -> Prompt:
    """The last `longest` tokens of a text, or a line break where it has none."""
    ids = tokenizer.encode(text) or tokenizer.encode(LINE_BREAK)
    return Prompt(tuple(ids[-longest:]), len(ids) > longest)


def token_name(token: bytes) -> str:
    """A token as it can be read, a space as ␣; by its bytes where it is only part of a letter."""
    try:
        letters = token.decode("utf-8")
    except UnicodeDecodeError:
        return "".join(f"\\x{byte:02x}" for byte in token)
    return "".join(
        NAMES.get(letter, letter if letter.isprintable() else f"\\x{ord(letter):02x}")
        for letter in letters
    ).replace(" ", "␣")
