"""Lecture 00: one bandwidth for all inputs, beside a bandwidth that the query chooses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from course_utils.attention import effective_tokens
from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import Slider, Steps
from course_utils.explorers.style import BLUE, INK, MUTED, ORANGE
from course_utils.lectures.l00_start_here.experiments.kernel_regression import (
    BANDWIDTHS,
    kernel_estimate,
    learned_precision,
    regression_data,
    static_precision,
)

SEED = 1
TEMPERATURES = (0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.5, 2.0, 4.0, 8.0, 16.0)
BARS_FROM = -1.95


@dataclass(frozen=True)
class Fit:
    """One estimator: its curve on the grid, its weights at the marked point, its error."""

    curve: np.ndarray
    weights: np.ndarray
    error: float
    effective: float


@dataclass(frozen=True)
class RegressionState:
    """Both fits, and the point at which the weights are shown."""

    static: Fit
    attention: Fit
    at: float


def _fit(precision_of: Callable[[Tensor], Tensor], at: Tensor) -> Fit:
    data = regression_data(SEED)
    curve, _ = kernel_estimate(data.grid, precision_of(data.grid), data.x, data.y)
    _, weights = kernel_estimate(at, precision_of(at), data.x, data.y)
    return Fit(
        curve=curve.numpy(),
        weights=weights[0].numpy(),
        error=float((curve - data.truth).square().mean()),
        effective=float(effective_tokens(weights)[0]),
    )


def _points() -> tuple[np.ndarray, np.ndarray]:
    """The x of the data and of the grid, as arrays: matplotlib iterates over a tensor slowly."""
    data = regression_data(SEED)
    return data.x.numpy(), data.grid.numpy()


def _bars(x: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Upright strokes as one line broken by NaN: far quicker to draw than many."""
    top = BARS_FROM + 0.9 * weights / max(weights.max(), 1e-12)
    gap = np.full_like(x, np.nan)
    foot = np.full_like(x, BARS_FROM)
    return np.column_stack([x, x, gap]).ravel(), np.column_stack([foot, top, gap]).ravel()


class KernelRegression(DrawnExplorer):
    """Bandwidth, temperature and a point → two estimates of one curve."""

    title = "One bandwidth for all, or one that each query chooses?"
    inputs = {
        "bandwidth": Steps("bandwidth h (static)", BANDWIDTHS, 0.016),
        "temperature": Steps("temperature (attention)", TEMPERATURES, 1.0),
        "at": Slider("look at x", 0.0, 1.0, 0.01, 0.3),
    }
    scenes = {
        "flat part": {"bandwidth": 0.016, "temperature": 1.0, "at": 0.3},
        "waves": {"bandwidth": 0.016, "temperature": 1.0, "at": 0.82},
        "static, wide": {"bandwidth": 0.08, "temperature": 1.0, "at": 0.82},
        "static, narrow": {"bandwidth": 0.004, "temperature": 1.0, "at": 0.3},
        "attention, cold": {"bandwidth": 0.016, "temperature": 0.1, "at": 0.3},
    }
    size = (8.0, 3.7)
    frames = ("bandwidth", "at")

    def compute(self, bandwidth: float, temperature: float, at: float) -> RegressionState:
        point = torch.tensor([at])
        return RegressionState(
            static=_fit(lambda x: static_precision(x, bandwidth), point),
            attention=_fit(lambda x: learned_precision(x, SEED, temperature), point),
            at=at,
        )

    def draw(self, figure: Figure, state: RegressionState) -> None:
        left, right = figure.subplots(1, 2, sharey=True)
        figure.subplots_adjust(left=0.09, right=0.98, bottom=0.15, top=0.9, wspace=0.1)
        self._panels = [
            self._draw_panel(left, "static kernel: h fixed", ORANGE),
            self._draw_panel(right, "attention: the query sets h", BLUE),
        ]
        left.set_ylabel("y")

    def _draw_panel(self, axes: Axes, title: str, colour: str):
        data = regression_data(SEED)
        axes.set(title=title, xlabel="x", ylim=(-2.05, 1.75), xlim=(0, 1))
        axes.plot(data.x, data.y, ".", color=MUTED, markersize=5, alpha=0.6)
        axes.plot(data.grid, data.truth, color=INK, linewidth=1.4, linestyle="--")
        (curve,) = axes.plot([], [], color=colour)
        mark = axes.axvline(0.5, color=colour, linewidth=1.2, linestyle=":")
        (bars,) = axes.plot([], [], color=colour, linewidth=2, solid_capstyle="butt")
        self.animate(curve, mark, bars)
        return curve, mark, bars

    def update(self, state: RegressionState) -> None:
        x, grid = _points()
        for (curve, mark, bars), fit in zip(
            self._panels, (state.static, state.attention), strict=True
        ):
            curve.set_data(grid, fit.curve)
            mark.set_xdata([state.at, state.at])
            bars.set_data(*_bars(x, fit.weights))

    def caption(self, state: RegressionState) -> str:
        static, attention = state.static, state.attention
        return (
            f"Mean squared error against the dashed true curve: static {static.error:.3f}, "
            f"attention {attention.error:.3f}. At x = {state.at:.2f} the static kernel averages "
            f"{static.effective:.0f} effective points of {len(static.weights)}, attention "
            f"{attention.effective:.0f}. Bars show the weights at the dotted line, scaled to the "
            "tallest."
        )
