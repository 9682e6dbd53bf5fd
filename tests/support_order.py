"""Which files the tests begin with, so that no worker is left with a long one at the end."""

from typing import Protocol, TypeVar

# Files, or the start of their names, that take longest: half a minute and more of computing each.
SLOWEST_FIRST = (
    "notebooks/06",
    "notebooks/07",
    "notebooks/04",
    "tests/tools/test_claims.py",
    "tests/lectures/test_without_parts.py",
    "tests/kernels/",
    "notebooks/",
)


class Named(Protocol):
    """What pytest collects, as far as it matters here."""

    nodeid: str


AnyNamed = TypeVar("AnyNamed", bound=Named)


def turn(nodeid: str) -> int:
    """Return the place of a test's file in SLOWEST_FIRST, or the number behind the last."""
    starts = (i for i, start in enumerate(SLOWEST_FIRST) if nodeid.startswith(start))
    return next(starts, len(SLOWEST_FIRST))


def slowest_first(items: list[AnyNamed]) -> list[AnyNamed]:
    """Return tests by their file's turn; those of one file, and all others, stay in order."""
    return sorted(items, key=lambda item: turn(item.nodeid))
