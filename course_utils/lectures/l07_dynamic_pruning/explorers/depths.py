"""Lecture 07: which tokens pass which block of a small GPT, and what that saves and costs."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_utils.explorers.draw import label_tokens
from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import Choice, Steps
from course_utils.explorers.style import BLUE, GRID, INK, ORANGE, PURPLE
from course_utils.lectures.l07_dynamic_pruning.experiments.depth_runs import (
    CAPACITIES,
    DepthRuns,
    depth_runs,
)
from course_utils.measure.costs import attention_mixing_flops, attention_projection_flops
from course_utils.models.small_gpt import SMALL_GPT

TEXTS = ("first", "second", "third", "fourth", "fifth")
ROUTER, PREDICTOR = "router, which sees the whole text", "predictor, which sees the token alone"
PARTS = ("projections", "scores, mixing", "feed-forward")
BLOCKS = SMALL_GPT.num_layers


@dataclass(frozen=True)
class DepthsState:
    """The way of a text's tokens through the blocks, its cost, and the losses of all capacities.

    `passes` is (blocks, T), the first block first. `spent` and `dense` are FLOPs of the parts, with
    these tokens and with all; `deciding` are those of the routers and the predictors.
    """

    tokens: tuple[str, ...]
    passes: np.ndarray
    spent: np.ndarray
    dense: np.ndarray
    deciding: int
    routed: np.ndarray
    random: np.ndarray
    predicted: np.ndarray
    predicted_share: np.ndarray
    capacity: float
    chooser: str
    text: str


class Depths(DrawnExplorer):
    """Capacity → which tokens pass which block, the FLOPs, and the loss."""

    title = "Which tokens does a block need, and what do the others save?"
    inputs = {
        "capacity": Steps("capacity", CAPACITIES, 0.25),
        "text": Choice("text", TEXTS, TEXTS[0]),
        "chooser": Choice("chosen by the", (ROUTER, PREDICTOR), ROUTER, wide=True),
    }
    scenes = {
        "every token": {"capacity": 1.0, "chooser": ROUTER},
        "half of them": {"capacity": 0.5, "chooser": ROUTER},
        "an eighth": {"capacity": 0.125, "chooser": ROUTER},
        "half, foretold": {"capacity": 0.5, "chooser": PREDICTOR},
        "a quarter, foretold": {"capacity": 0.25, "chooser": PREDICTOR},
    }
    size = (8.0, 5.0)
    frames = ("capacity", "chooser")

    def compute(self, capacity: float, chooser: str, text: str) -> DepthsState:
        found = depth_runs()
        shown = found.texts[TEXTS.index(text)]
        passes = (shown.routed if chooser == ROUTER else shown.predicted)[capacity].numpy()
        T = passes.shape[1]
        return DepthsState(
            tokens=shown.tokens,
            passes=passes,
            spent=sum((_flops(int(count)) for count in passes.sum(axis=1)), np.zeros(3)),
            dense=BLOCKS * _flops(T),
            deciding=BLOCKS * _deciding_flops(T),
            capacity=capacity,
            chooser=chooser,
            text=text,
            **_losses(found),
        )

    def draw(self, figure: Figure, state: DepthsState) -> None:
        self._draw_ways(figure.add_axes((0.085, 0.575, 0.905, 0.405)))
        self._draw_flops(figure.add_axes((0.185, 0.115, 0.275, 0.265)))
        self._draw_losses(figure.add_axes((0.57, 0.115, 0.265, 0.265)))

    def _draw_ways(self, axes: Axes) -> None:
        axes.set_ylim(-0.6, BLOCKS - 0.4)
        axes.set_yticks(range(BLOCKS), [f"block {block}" for block in range(BLOCKS)])
        axes.spines[:].set_visible(False)
        (self._residuals,) = axes.plot([], [], color=GRID, linewidth=2)
        (self._passed,) = axes.plot([], [], "s", color=BLUE, markersize=11)
        (self._idle,) = axes.plot([], [], "_", color=ORANGE, markersize=12, markeredgewidth=4)
        self._ways = axes
        self.animate(self._residuals, self._passed, self._idle)

    def _draw_flops(self, axes: Axes) -> None:
        axes.set(ylim=(2.6, -0.6), xlabel="million FLOPs for this text")
        axes.set_yticks(range(3), PARTS)
        axes.tick_params(axis="y", length=0)
        axes.set_xlim(0, 1.03e-6 * BLOCKS * _flops(40).max())
        bar: dict[str, Any] = {"solid_capstyle": "butt"}
        (self._dense,) = axes.plot([], [], color=GRID, linewidth=19, **bar)
        (self._spent,) = axes.plot([], [], color=BLUE, linewidth=19, **bar)
        self.animate(self._dense, self._spent)

    def _draw_losses(self, axes: Axes) -> None:
        axes.set(xlim=(-0.04, 1.06), xlabel="share of tokens let through")
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "¼", "½", "¾", "1"])
        axes.set_ylabel("loss (nats)")
        axes.grid(axis="y")
        axes.set_axisbelow(True)
        found = _losses(depth_runs())
        styles = (
            ("random", ORANGE, "v--", np.array(CAPACITIES[:-1])),
            ("predicted", PURPLE, "s:", np.median(found["predicted_share"], axis=1)),
            ("routed", BLUE, "o-", np.array(CAPACITIES)),
        )
        names = {"random": "chance", "predicted": "predictor", "routed": "router"}
        for name, colour, style, shares in styles:
            middle = np.median(found[name], axis=1)
            axes.plot(shares, middle, style, color=colour, markersize=5, label=names[name])
        axes.legend(
            loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.6, borderaxespad=0.2
        )
        ring = {"markersize": 12, "markerfacecolor": "none", "markeredgewidth": 2}
        (self._chosen,) = axes.plot([], [], "o", color=INK, **ring)
        self.animate(self._chosen)

    def backdrop(self, state: DepthsState) -> Hashable:
        return state.text

    def draw_backdrop(self, state: DepthsState) -> None:
        self._ways.set_xlim(-0.6, len(state.tokens) - 0.4)
        label_tokens(self._ways, [_name(token) for token in state.tokens], rows=False)
        self._ways.xaxis.tick_bottom()

    def update(self, state: DepthsState) -> None:
        T = len(state.tokens)
        ends = np.array([-0.6, BLOCKS - 0.4, np.nan])
        self._residuals.set_data(np.arange(T).repeat(3), np.tile(ends, T))
        block, token = np.nonzero(state.passes)
        self._passed.set_data(token, block)
        idle = np.flatnonzero(~state.passes.any(axis=0))
        self._idle.set_data(idle, np.full(len(idle), -0.6))
        for line, flops in ((self._dense, state.dense), (self._spent, state.spent)):
            bars = np.stack([np.zeros(3), 1e-6 * flops, np.full(3, np.nan)], axis=1)
            line.set_data(bars.ravel(), np.arange(3).repeat(3))
        share, losses = _chosen(state)
        self._chosen.set_data([share], [np.median(losses)])

    def caption(self, state: DepthsState) -> str:
        _, losses = _chosen(state)
        products, mixing = _saved(state)
        choice = (
            f"; with tokens chosen by chance {np.median(state.random[at]):.2f}"
            if (at := CAPACITIES.index(state.capacity)) < len(state.random)
            else ""
        )
        return (
            f"Capacity {state.capacity:g}: {_taken(state)}. Scores and mixing cost {mixing:.0%} of "
            f"what they cost for every token, projections and feed-forward {products:.0%}; routers "
            f"and predictors add {state.deciding / state.dense.sum():.1%} of the whole. Loss on "
            f"unseen prose {np.median(losses):.2f} ({losses.min():.2f} to {losses.max():.2f} in "
            f"{len(losses)} runs), with every token {np.median(state.routed[-1]):.2f}{choice}."
        )


def _saved(state: DepthsState) -> tuple[float, float]:
    """The share that is spent on products that grow with the tokens, and with their square."""
    projections, mixing, feedforward = state.spent
    dense = state.dense[0] + state.dense[2]
    return (projections + feedforward) / dense, mixing / state.dense[1]


def _taken(state: DepthsState) -> str:
    counts, T = state.passes.sum(axis=1), len(state.tokens)
    idle, every = int((~state.passes.any(axis=0)).sum()), int(state.passes.all(axis=0).sum())
    if len(set(counts)) == 1:
        taken = f"each block takes {counts[0]} of {T} tokens"
    else:
        *others, last = (str(count) for count in counts)
        taken = f"the blocks take {', '.join(others)} and {last} of {T} tokens"
    return (
        f"{taken}; {every} {'passes' if every == 1 else 'pass'} every block, "
        f"{idle} {'passes' if idle == 1 else 'pass'} no block (orange)"
    )


def _chosen(state: DepthsState) -> tuple[float, np.ndarray]:
    """The share of tokens that is let through on average, and the losses of the runs."""
    at = CAPACITIES.index(state.capacity)
    if state.chooser == ROUTER:
        return state.capacity, state.routed[at]
    return float(np.median(state.predicted_share[at])), state.predicted[at]


def _flops(count: int) -> np.ndarray:
    """What a block costs with so many tokens: projections, scores and mixing, feed-forward."""
    if not count:
        return np.zeros(3)
    C = SMALL_GPT.width
    attention = attention_projection_flops(count, C), attention_mixing_flops(count, C)
    return np.array([*attention, 4 * count * C * SMALL_GPT.hidden], float)


def _deciding_flops(count: int) -> int:
    """What a router and a predictor cost for so many tokens, each a product or two."""
    C, hidden = SMALL_GPT.width, -(-SMALL_GPT.width // 4)
    return 2 * count * (C + C * hidden + hidden)


def _losses(found: DepthRuns) -> dict[str, np.ndarray]:
    names = ("routed", "random", "predicted", "predicted_share")
    return {
        name: np.array([runs.numpy() for runs in getattr(found, name).values()]) for name in names
    }


def _name(token: str) -> str:
    return token.replace(" ", "·").replace("\n", "↵")
