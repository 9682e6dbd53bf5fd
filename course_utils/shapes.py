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

    >>> print(axis_table("TS"))
    | axis | meaning |
    | :---: | --- |
    | `T` | queries: positions that attend |
    | `S` | keys: positions attended to |
    """
    rows = ["| axis | meaning |", "| :---: | --- |"]
    rows += [f"| `{letter}` | {AXES[letter]} |" for letter in letters or AXES]
    return "\n".join(rows)
