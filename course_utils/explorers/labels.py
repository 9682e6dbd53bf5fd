"""Where to write the names of curves that end close together."""

from __future__ import annotations

import numpy as np


def spread_out(places: np.ndarray, gap: float) -> np.ndarray:
    """Places moved as little as it takes to stand `gap` apart, in the same order, within 0 to 1.

    Places that are too close form a group that spreads evenly about its mean.

    Args:
        places: (N,) numbers; N - 1 gaps fit into 0 to 1.
        gap: the smallest distance, above 0.

    >>> spread_out(np.array([0.5, 0.52, 0.9]), 0.1).round(2).tolist()
    [0.46, 0.56, 0.9]
    """
    order = np.argsort(places, kind="stable")
    groups = [[float(places[index])] for index in order]
    centres = [_centre(group, gap) for group in groups]
    at = 0
    while at + 1 < len(groups):
        room = (len(groups[at]) + len(groups[at + 1])) / 2 * gap
        if centres[at + 1] - centres[at] >= room - 1e-12:
            at += 1
            continue
        groups[at] += groups.pop(at + 1)
        centres.pop(at + 1)
        centres[at] = _centre(groups[at], gap)
        at = max(at - 1, 0)
    spread = [
        centre + gap * (index - (len(group) - 1) / 2)
        for group, centre in zip(groups, centres, strict=True)
        for index in range(len(group))
    ]
    result = np.empty(len(places))
    result[order] = spread
    return result


def _centre(group: list[float], gap: float) -> float:
    half = gap * (len(group) - 1) / 2
    return min(max(sum(group) / len(group), half), 1 - half)
