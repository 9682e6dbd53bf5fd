"""Lecture 07: who takes which point of the plane, while a router learns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from typing import Any

import contourpy
import numpy as np
import torch

from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.inputs import Choice, Steps, Toggle
from lectures.l07_dynamic_pruning.experiments.expert_runs import (
    EXPERTS,
    POINTS,
    SHARED,
    STEPS,
    expert_run,
    unseen_points,
)
from lectures.l07_dynamic_pruning.experiments.experts import COMMON

EXTENT, SIDE = 1.7, 1000  # the plane is [-1.7, 1.7] in both directions, and a picture of 1000
GRID = 41  # points along each side of the plane, where boundaries are curved
CAPACITY = POINTS // EXPERTS
BALANCED = {"nothing": "none", "a loss": "loss", "a bias": "bias"}
COLLAPSE = {"shared": "5", "balance": "nothing", "limited": False}
CURED = {"shared": "5", "balance": "a loss", "limited": False}


@dataclass(frozen=True)
class ExpertsState:
    """After a training step: how many points chose each expert, and what it does to the error.

    `frame` is the place of this step and training in what `given` lists. `lost` are points whose
    expert is full, 0 without a limit.
    """

    frame: int
    step: int
    assigned: np.ndarray
    lost: int
    error: float
    limited: bool


class Experts(Explorer):
    """A step of the training → who takes which point, and who finds no room."""

    title = "Who takes which point, while the router learns?"
    inputs = {
        "step": Steps("training step", STEPS, 0, in_picture=True),
        "shared": Choice("shared coordinate", tuple(SHARED), "nothing", in_picture=True),
        "balance": Choice("balanced by", tuple(BALANCED), "nothing", in_picture=True),
        "limited": Toggle(f"room for {CAPACITY} each", in_picture=True),
    }
    presets = {
        "nothing shared": {"step": 0, **COLLAPSE, "shared": "nothing"},
        "collapse": {"step": 0, **COLLAPSE},
        "collapse, too little room": {"step": 500, **COLLAPSE, "limited": True},
        "cured by the loss": {"step": 500, **CURED},
        "cured, the same room": {"step": 500, **CURED, "limited": True},
        "training makes a favourite": {"step": 200, **COLLAPSE, "shared": "5, weights from 0"},
    }
    view = "experts.js"
    reading = (
        "Left, each point of the plane has the colour of the expert that takes it, and so has "
        "the ground, where any other point would go; choose a bar to see its expert alone. "
        "Right, how the points are split, from the first step on: drag across it, or press "
        "Play. All points share one more coordinate, here of the chosen size; a router's bias "
        "would be a 1. Each training is one run from the same start; other starts end "
        "otherwise, and the lecture says how often. With little room, an expert takes the "
        "first points only: a cross is one that finds its expert full."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        x, y = unseen_points()[0].numpy().T
        return {
            "steps": list(STEPS),
            "points": np.rint(np.stack([_across(x), _across(-y)], axis=1)).astype(int),
            "chosen": ["".join(map(str, frame)) for run in _runs() for frame in _chosen(*run)],
            "ground": [_ground(*run, at) for run in _runs() for at in range(len(STEPS))],
            "room": CAPACITY,
        }

    def compute(self, step: int, shared: str, balance: str, limited: bool) -> ExpertsState:
        run, at = (shared, BALANCED[balance]), STEPS.index(step)
        assigned = np.bincount(_chosen(*run)[at], minlength=EXPERTS).astype(np.uint16)
        return ExpertsState(
            frame=_runs().index(run) * len(STEPS) + at,
            step=step,
            assigned=assigned,
            lost=int((assigned.clip(min=CAPACITY) - CAPACITY).sum()) if limited else 0,
            error=float(expert_run(*run).errors[at, int(limited)]),
            limited=limited,
        )

    def caption(self, state: ExpertsState) -> str:
        most = number(100 * state.assigned.max() / POINTS)
        end = f"Error [b:{number(state.error, 2)}] (predicting zero: 1)."
        if state.limited:
            return (
                f"Step {number(state.step)}: [b:{most}%] of the points choose one expert, and "
                f"[b:{state.lost}] of {POINTS} find their expert full. {end}"
            )
        idle = int((state.assigned == 0).sum())
        rest = f"[b:{idle}] of the four {_get(idle)} nothing" if idle else "every expert has some"
        return (
            f"Step {number(state.step)}: the busiest expert takes [b:{most}%] of the points, "
            f"{rest}. {end}"
        )


def _get(count: int) -> str:
    return "gets" if count == 1 else "get"


@cache
def _runs() -> list[tuple[str, str]]:
    return list(product(SHARED, BALANCED.values()))


@cache
def _chosen(shared: str, balance: str) -> np.ndarray:
    """The expert of each point after each step, (steps, points)."""
    points = unseen_points()[0].numpy()
    return _scores(shared, balance, points).argmax(axis=-1)


def _scores(shared: str, balance: str, places: np.ndarray) -> np.ndarray:
    """What each expert's choice goes by, (steps, places, experts)."""
    run = expert_run(shared, balance)
    common = SHARED[shared].get("common", COMMON)
    tokens = torch.tensor(np.pad(places, ((0, 0), (0, 1)), constant_values=common)).float()
    shares = torch.einsum("nc,sec->sne", tokens, run.routers).softmax(dim=-1)
    return (shares + run.biases[:, None]).numpy()


def _across(x: Any) -> Any:
    """A coordinate of the plane as one of the picture."""
    return SIDE * (x / EXTENT + 1) / 2


@cache
def _ground(shared: str, balance: str, at: int) -> list[str]:
    """The part of the plane that each expert takes, as paths of the picture.

    A bias that is added to probabilities makes curved boundaries; without one they are straight.
    """
    if balance == "bias":
        return _curved(_margins(shared, balance)[at])
    rows = expert_run(shared, balance).routers[at].double().numpy().copy()
    rows[:, 2] *= SHARED[shared].get("common", COMMON)
    return [_straight(rows, expert) for expert in range(EXPERTS)]


def _straight(rows: np.ndarray, expert: int) -> str:
    """Where one of several linear functions of the plane is the largest: a convex polygon."""
    corners = EXTENT * np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]])
    for other in range(len(rows)):
        if other != expert and len(corners):
            corners = _cut(corners, rows[expert] - rows[other])
    return _path(corners)


def _cut(corners: np.ndarray, line: np.ndarray) -> np.ndarray:
    """The part of a convex polygon where a linear function is not negative."""
    heights = corners @ line[:2] + line[2]
    kept = []
    for here, there, low, high in zip(
        corners, np.roll(corners, -1, axis=0), heights, np.roll(heights, -1), strict=True
    ):
        if low >= 0:
            kept.append(here)
        if low * high < 0:
            kept.append(here + (there - here) * low / (low - high))
    return np.array(kept).reshape(-1, 2)


@cache
def _margins(shared: str, balance: str) -> np.ndarray:
    """By how much each expert is ahead of the best other, (steps, experts, rows, columns)."""
    side = np.linspace(-EXTENT, EXTENT, GRID)
    places = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    scores = np.moveaxis(_scores(shared, balance, places), -1, 1)
    others = [np.delete(scores, expert, axis=1).max(axis=1) for expert in range(EXPERTS)]
    return (scores - np.stack(others, axis=1)).reshape(len(STEPS), EXPERTS, GRID, GRID)


def _curved(margins: np.ndarray) -> list[str]:
    side = np.linspace(-EXTENT, EXTENT, GRID)
    return [
        "".join(
            _path(part[start:end])
            for part, starts in zip(
                *contourpy.contour_generator(side, side, margin).filled(0, np.inf), strict=True
            )
            for start, end in pairwise(starts)
        )
        for margin in margins
    ]


def _path(corners: np.ndarray) -> str:
    """A closed path of the picture, without the corners that lie on a straight line."""
    places = np.rint(np.stack([_across(corners[:, 0]), _across(-corners[:, 1])], axis=1))
    places = places[(places != np.roll(places, 1, axis=0)).any(axis=1)]  # its end
    before, after = places - np.roll(places, 1, axis=0), np.roll(places, -1, axis=0) - places
    bends = np.abs(before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0])
    kept = places[bends > 2].astype(int)  # a step is shorter to write than a place
    if not len(kept):
        return ""
    (x, y), steps = kept[0], np.diff(kept, axis=0)
    return f"M{x} {y}l" + " ".join(f"{x} {y}" for x, y in steps).replace(" -", "-") + "Z"
