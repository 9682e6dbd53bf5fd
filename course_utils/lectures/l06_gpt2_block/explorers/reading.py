"""What the explorers of lecture 06 share: a prompt cut to the context, and names of tokens."""

from __future__ import annotations

from typing import NamedTuple

from course_utils.explorers.draw import drawable
from course_utils.tokens import BytePairs

LINE_BREAK = "\n"  # stands for an empty prompt: a model needs a token to read
NAMES = {"“": '"', "”": '"', "\n": "↵", "\r": "↵", "\t": "⇥"}
LONGEST = 11  # letters of a token's name in a figure


class Prompt(NamedTuple):
    """The tokens of a prompt that are read, and how many there were."""

    ids: tuple[int, ...]
    count: int
    empty: bool

    @property
    def note(self) -> str:
        """What was done to the prompt, for the caption; "" if nothing was."""
        if self.empty:
            return "An empty prompt is read as a line break: there must be a token to read."
        if self.count > len(self.ids):
            return f"Of the prompt's {self.count} tokens the last {len(self.ids)} are read."
        return ""


def read_prompt(text: str, tokenizer: BytePairs, room: int) -> Prompt:
    """The last `room` tokens of a text, or a line break where it has none."""
    ids = tokenizer.encode(text)
    known = ids or tokenizer.encode(LINE_BREAK)
    return Prompt(tuple(known[-room:]), len(known), not ids)


def readable(text: str) -> str:
    """A text on one line, to stand in quotes: ↵ for a line break, by its number what is no sign."""
    return "".join(
        NAMES.get(letter, letter if letter.isprintable() else f"\\x{ord(letter):02x}")
        for letter in text
    )


def token_name(token: bytes) -> str:
    """A token as it can be read, a blank as ␣; by its bytes where it is but a part of a letter."""
    try:
        return readable(token.decode("utf-8")).replace(" ", "␣")
    except UnicodeDecodeError:
        return "".join(f"\\x{byte:02x}" for byte in token)


def in_figure(name: str, longest: int = LONGEST) -> str:
    """A token's name as a label: in letters that the font has, no longer than there is room for."""
    return drawable(name if len(name) <= longest else name[: longest - 1] + "…")
