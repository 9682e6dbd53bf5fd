"""Lecture 07: trained experts of the plane: who takes which point, and who finds no room."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from torch import Tensor

from course_utils.explorers.draw import HeatMap, mute_axes
from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import Steps
from course_utils.explorers.style import BLUE, INK, MAGENTA, ORANGE, PURPLE, TEAL
from course_utils.layers.moe import expert_capacity
from course_utils.lectures.l07_dynamic_pruning.experiments.experts import plane_batch
from course_utils.lectures.l07_dynamic_pruning.experiments.toy_experts import (
    TOY_BALANCES,
    TOY_EXPERTS,
    TOY_KS,
    load_toy_experts,
)
from course_utils.training import TEST_SEED

POINTS = 512
EXTENT, CELLS = 1.7, 191  # the plane: [-1.7, 1.7] in both directions; a cell is two pixels
UNLIMITED = "no limit"
CAPACITIES = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, UNLIMITED)
# Okabe and Ito's but for the orange, which says what is dropped; each expert has its number, too.
COLOURS = (BLUE, TEAL, PURPLE, MAGENTA, "#009E73", "#CC79A7", "#5a5a5a", "#CFC000")
TINT = 0.36  # share of an expert's colour in its part of the plane
BARS = 190  # points of height that all bars together take
COLLAPSE = {"experts": 4, "k": 1, "capacity": UNLIMITED, "balance": 0.0}
CURED = {**COLLAPSE, "balance": 0.1}


@dataclass(frozen=True)
class ExpertsState:
    """Where the points of the plane went, and what it did to the predictions.

    `plane` is the first choice at each place, from the top down; `labels` are the places, (experts,
    2), in the middle of each expert's part, for those in `labelled`. `lost` says how many of its
    choices each point lost.
    """

    plane: np.ndarray
    labelled: np.ndarray
    labels: np.ndarray
    points: np.ndarray
    lost: np.ndarray
    asked: np.ndarray
    load: np.ndarray
    error: float
    experts: int
    k: int
    balance: float
    capacity_factor: float | None
    expert_capacity: int | None


@lru_cache(maxsize=len(TOY_EXPERTS) * len(TOY_KS) * len(TOY_BALANCES) * len(CAPACITIES))
@torch.no_grad()
def _routed(experts: int, k: int, capacity: float | None, balance: float) -> ExpertsState:
    model = load_toy_experts(experts, k, balance, capacity=capacity)
    points, targets = _points()
    predicted, routing = model(points)
    labelled, labels = _labels(experts, k, balance)
    room = None if capacity is None else expert_capacity(POINTS, experts, k, capacity)
    return ExpertsState(
        plane=_plane(experts, k, balance)[::-1].copy(),
        labelled=labelled,
        labels=labels,
        points=points.numpy(),
        lost=(~routing.kept).sum(dim=1).numpy(),
        asked=routing.asked.numpy(),
        load=routing.load.numpy(),
        error=(predicted - targets).square().mean().item(),
        experts=experts,
        k=k,
        balance=balance,
        capacity_factor=capacity,
        expert_capacity=room,
    )


@lru_cache
def _points() -> tuple[Tensor, Tensor]:
    return plane_batch(torch.Generator().manual_seed(TEST_SEED), batch=POINTS)


@lru_cache(maxsize=len(TOY_EXPERTS) * len(TOY_KS) * len(TOY_BALANCES))
@torch.no_grad()
def _plane(experts: int, k: int, balance: float) -> np.ndarray:
    """The first choice in the middle of each cell; rows from the bottom up."""
    middles = _middles(torch.arange(CELLS))
    y, x = torch.meshgrid(middles, middles, indexing="ij")
    model = load_toy_experts(experts, k, balance)
    tokens = torch.stack([x, y, torch.full_like(x, model.common)], dim=-1)  # (rows, columns, 3)
    return model.layer.route(tokens).chosen[:, 0].view(CELLS, CELLS).numpy()


@lru_cache(maxsize=len(TOY_EXPERTS) * len(TOY_KS) * len(TOY_BALANCES))
def _labels(experts: int, k: int, balance: float) -> tuple[np.ndarray, np.ndarray]:
    """Which experts have a part of the plane, and in each part a place far from its edge."""
    plane = _plane(experts, k, balance)
    here = np.unique(plane)
    cells = np.array([_deepest(plane == expert) for expert in here])  # row, column
    labels = np.zeros((experts, 2))
    labels[here] = _middles(cells[:, ::-1])
    return np.isin(np.arange(experts), here), labels


def _middles(cells: Any) -> Any:
    """The coordinates of cells' middles."""
    return EXTENT * (2 * cells + 1 - CELLS) / CELLS


def _deepest(part: np.ndarray) -> np.ndarray:
    """The cell that survives longest while the part is peeled, a layer of cells at a time."""
    while part.any():
        last, wide = part, np.pad(part, 1)
        part = part & wide[:-2, 1:-1] & wide[2:, 1:-1] & wide[1:-1, :-2] & wide[1:-1, 2:]
    cells = np.argwhere(last)
    return cells[((cells - cells.mean(axis=0)) ** 2).sum(axis=1).argmin()]


class _Parts(HeatMap):
    """A plane of experts' numbers, each in the tint of its expert."""

    def __init__(self, axes: Axes) -> None:
        super().__init__(axes, low=0, high=255)
        tints = [[1 - TINT * (1 - part) for part in to_rgb(colour)] + [1] for colour in COLOURS]
        colours = np.round(255 * np.array(tints)).astype(np.uint8)
        self._table = colours.view(np.uint32)[:, 0]


class Experts(DrawnExplorer):
    """Experts, k, capacity and the weight of the balance loss → who takes which point."""

    title = "Which expert takes which point, and who finds no room?"
    inputs = {
        "experts": Steps("number of experts", TOY_EXPERTS, 4),
        "k": Steps("experts a point k", TOY_KS, 1),
        "balance": Steps("weight of the balance", TOY_BALANCES, 0.0),
        "capacity": Steps("capacity factor", CAPACITIES, UNLIMITED),
    }
    scenes = {
        "collapse": COLLAPSE,
        "collapse, too little room": {**COLLAPSE, "capacity": 1.0},
        "cured by the loss": CURED,
        "cured, the same room": {**CURED, "capacity": 1.0},
        "two for each point": {**CURED, "k": 2},
        "eight experts, two each": {**CURED, "experts": 8, "k": 2, "capacity": 1.25},
    }
    size = (8.0, 4.4)
    frames = ("balance", "capacity")

    def prepare(self) -> None:
        for experts, k, capacity, balance in product(TOY_EXPERTS, TOY_KS, CAPACITIES, TOY_BALANCES):
            self.compute(experts, k, balance, capacity)

    def compute(self, experts: int, k: int, balance: float, capacity: float | str) -> ExpertsState:
        return _routed(experts, k, None if isinstance(capacity, str) else capacity, balance)

    def draw(self, figure: Figure, state: ExpertsState) -> None:
        self._draw_plane(figure.add_axes((0.015, 0.03, 0.475, 0.475 * 8 / 4.4)))
        self._draw_bars(figure.add_axes((0.605, 0.13, 0.375, 0.76)))
        named = {
            "computed": self._bars[0],
            "dropped": self._dropped,
            "room": self._capacity,
            "equal share": self._equal,
        }
        figure.legend(
            named.values(), named.keys(), loc="upper right", ncols=4, borderaxespad=0.15,
            handlelength=1.3, columnspacing=1.2,
        )  # fmt: skip

    def _draw_plane(self, axes: Axes) -> None:
        axes.set(xlim=(-EXTENT, EXTENT), ylim=(-EXTENT, EXTENT))
        mute_axes(axes)
        self._parts = _Parts(axes)
        dots = {"linestyle": "none", "zorder": 3}
        styles = ((".", 4, 1.0, INK), ("+", 7, 1.4, ORANGE), ("x", 6, 1.8, ORANGE))
        self._points = [
            axes.plot([], [], mark, markersize=size, markeredgewidth=edge, color=colour, **dots)[0]
            for mark, size, edge, colour in styles
        ]
        (self._plates,) = axes.plot(
            [], [], "o", color="white", markersize=19, linestyle="none", alpha=0.85, zorder=4
        )
        # A text that moves is slow to draw; a marker in the shape of a number is not.
        self._numbers = [
            axes.plot([], [], marker=f"${expert}$", color=INK, markersize=10, zorder=5)[0]
            for expert in range(len(COLOURS))
        ]
        self.animate(self._parts, *self._points, self._plates, *self._numbers)

    def _draw_bars(self, axes: Axes) -> None:
        axes.set(xlim=(0, 525), xlabel="points that chose the expert")
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        style: dict[str, Any] = {"solid_capstyle": "butt"}
        (self._dropped,) = axes.plot([], [], color=ORANGE, linewidth=6, **style)
        self._bars = [
            axes.plot([], [], color=colour, linewidth=6, **style)[0] for colour in COLOURS
        ]
        (self._equal,) = axes.plot([], [], ":", color=INK, linewidth=2)
        (self._capacity,) = axes.plot([], [], "--", color=INK, linewidth=2)
        self._loads = axes
        self.animate(self._dropped, *self._bars, self._equal, self._capacity)

    def backdrop(self, state: ExpertsState) -> Hashable:
        return state.experts

    def draw_backdrop(self, state: ExpertsState) -> None:
        names = [f"expert {each}" for each in range(state.experts)]
        self._loads.set_yticks(range(state.experts), names)
        self._loads.set_ylim(state.experts - 0.5, -0.5)

    def update(self, state: ExpertsState) -> None:
        self._parts.set_data(state.plane)
        for dots, which in zip(self._points, _by_loss(state), strict=True):
            dots.set_data(*state.points[which].T)
            dots.set_visible(bool(which.any()))
        self._plates.set_data(*state.labels[state.labelled].T)
        for expert, number in enumerate(self._numbers):
            shown = expert < state.experts and bool(state.labelled[expert])
            number.set_visible(shown)
            if shown:
                number.set_data(*state.labels[[expert]].T)
        self._update_bars(state)

    def _update_bars(self, state: ExpertsState) -> None:
        thick = BARS / (1.5 * max(state.experts, 4))
        for expert, bar in enumerate(self._bars):
            bar.set_visible(expert < state.experts)
            if expert < state.experts:
                bar.set_data([0, state.load[expert]], [expert, expert])
                bar.set_linewidth(thick)
        rows = np.arange(state.experts)
        gap = np.full(state.experts, np.nan)
        self._dropped.set_data(
            np.stack([state.load, state.asked, gap], axis=1).ravel(), rows.repeat(3)
        )
        self._dropped.set_linewidth(0.6 * thick)
        ends = (-0.5, state.experts - 0.5)
        equal = len(state.points) * state.k / state.experts
        self._equal.set_data((equal, equal), ends)
        room = state.expert_capacity
        self._capacity.set_data(([], []) if room is None else ((room, room), ends))

    def caption(self, state: ExpertsState) -> str:
        points = len(state.points)
        choices, most = points * state.k, int(state.asked.max())
        return (
            f"{state.experts} experts, {state.k} for each of {points} points, trained with a "
            f"balance loss of weight {state.balance:g}: one expert gets {most} of {choices:,} "
            f"choices ({most / choices:.0%}; an equal share is {choices / state.experts:g}), "
            f"{_least(state)}. {_dropped(state)} Squared error {state.error:.2f}; predicting zero "
            "costs 1."
        )


def _by_loss(state: ExpertsState) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which points lost no choice, which some of them, which all."""
    none, every = state.lost == 0, state.lost == state.k
    return none, ~none & ~every, every


def _least(state: ExpertsState) -> str:
    idle = int((state.asked == 0).sum())
    if idle:
        return f"and {idle} {'gets' if idle == 1 else 'get'} nothing"
    return f"and the least busy one {state.asked.min()}"


def _dropped(state: ExpertsState) -> str:
    if state.expert_capacity is None:
        return "There is no limit, and no choice is dropped."
    room = (
        f"Each has room for {state.expert_capacity} (capacity factor {state.capacity_factor:g}): "
    )
    lost = int(state.lost.sum())
    if not lost:
        return f"{room}no choice is dropped."
    _, some, every = (int(which.sum()) for which in _by_loss(state))
    ends = [f"{_counted(every, 'meets', 'meet')} no expert and stay as they came (×)"]
    if state.k > 1:
        ends.insert(0, f"{_counted(some, 'loses', 'lose')} one of two (+)")
    return f"{room}{lost} {'choice is' if lost == 1 else 'choices are'} dropped; {', '.join(ends)}."


def _counted(count: int, one: str, more: str) -> str:
    return f"{count or 'no'} {f'points {more}' if count > 1 else f'point {one}'}"
