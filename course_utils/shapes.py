"""Axis letters and shape annotations.

Annotations such as ``Float[Tensor, "B H T D"]`` come from jaxtyping. They are enforced in the
tests only, so the course runs without that package.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int
else:
    try:
        from jaxtyping import Bool, Float, Int
    except ImportError:

        class _PlainAnnotation:
            """Stands in for a jaxtyping annotation: ``Float[Tensor, "T D"]`` is ``Tensor``."""

            def __class_getitem__(cls, item):
                return item[0]

        Bool = Float = Int = _PlainAnnotation

__all__ = [
    "AXES",
    "Bool",
    "Float",
    "Int",
    "axis_table",
]

AXES: dict[str, str] = {
    "B": "batch: independent sequences",
    "H": "query heads",
    "G": "key/value heads",
    "T": "queries: positions that attend",
    "S": "keys: positions attended to",
    "D": "head width of queries and keys, d_k",
    "E": "value width of a head",
    "C": "model width, d_model",
    "V": "vocabulary",
}


def axis_table(letters: Iterable[str] | None = None) -> str:
    """Return the axis letters and their meanings as a Markdown table.

    Args:
        letters: the letters to list, in this order, for example ``"TSD"``. All of them if None.

    Raises:
        TypeError: if ``letters`` cannot be read one by one.
        ValueError: if a letter is not in ``AXES``.

    >>> print(axis_table("TS"))
    | axis | meaning |
    | :---: | --- |
    | `T` | queries: positions that attend |
    | `S` | keys: positions attended to |
    """
    if letters is not None and not isinstance(letters, Iterable):
        raise TypeError(f"letters must be taken from {''.join(AXES)}, got {letters!r}")
    rows = ["| axis | meaning |", "| :---: | --- |"]
    for letter in AXES if letters is None else letters:
        if letter not in tuple(AXES):
            raise ValueError(f"letters must be taken from {''.join(AXES)}, got {letter!r}")
        rows.append(f"| `{letter}` | {AXES[letter]} |")
    return "\n".join(rows)
