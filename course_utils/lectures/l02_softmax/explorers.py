"""Lecture 02: the weights of one query, their Jacobian, and how much gradient it lets through."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_utils.attention import effective_tokens, softmax_jacobian
from course_utils.explorers.draw import HeatMap, mute_axes
from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import Choice, Slider, Steps
from course_utils.explorers.style import BLUE, MUTED, ORANGE, SIGNED_MAP

KEYS = 16
DRAWS = 20
# The draw whose norms at d_k = 16, 64 and 512 lie nearest to the medians of 10,000 rows or more.
TYPICAL = 6
WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
TEMPERATURES = (0.125, 0.25, 0.5, 1, 2, 4, 8, 16)
DIVIDED, PLAIN = "divided by √d_k", "not divided"
# No entry of a Jacobian lies beyond it: p (1 - p) and p_i p_j are at most 1/4.
STEEPEST = 0.25
LARGEST_NORM = 0.5
SHARPNESS = np.geomspace(1e-3, 1e3, 121)


@dataclass(frozen=True)
class SoftmaxState:
    """One query's weights (S,), their Jacobian (S, S), and its norm beside the largest weight.

    `path` holds largest weight and norm, (2, N), as the same scores are multiplied by anything
    from 0.001 to 1000.
    """

    weights: np.ndarray
    jacobian: np.ndarray
    path: np.ndarray
    largest: float
    others: float
    norm: float
    effective: float
    spread: float
    width: int
    divided: bool
    temperature: float
    mean_largest: float


@lru_cache(maxsize=1)
def running_scores() -> torch.Tensor:
    """q·k over the first 1, 2, ... 512 coordinates, (draws, keys, widths): always the same."""
    random = torch.Generator().manual_seed(2)
    size = (DRAWS, 1, WIDTHS[-1])
    q = torch.randn(size, generator=random, dtype=torch.float64)
    k = torch.randn((DRAWS, KEYS, WIDTHS[-1]), generator=random, dtype=torch.float64)
    return (q * k).cumsum(dim=-1)


def jacobian_norm(weights: np.ndarray) -> np.ndarray:
    """Frobenius norm of diag(p) - p p^T for each row of weights, without forming the matrix.

    Each p_i meets what the others sum up to: (1 - p_i)² on the diagonal, their squares beside it.
    Written so, nothing is subtracted, and the norm of a row next to a vertex is not lost.
    """
    off = 1 - np.eye(weights.shape[-1])
    squares = weights**2
    return np.asarray(np.sqrt((squares * ((weights @ off) ** 2 + squares @ off)).sum(-1)))


def _path(scores: torch.Tensor) -> np.ndarray:
    """Largest weight and norm, as the scores grow from almost nothing to almost a vertex."""
    rows = (torch.from_numpy(SHARPNESS)[:, None] * scores).softmax(dim=-1).numpy()
    return np.stack([rows.max(-1), jacobian_norm(rows)])


def _scene(width: int, division: str, temperature: float = 1) -> dict[str, object]:
    typical = {"temperature": temperature, "draw_number": TYPICAL}
    return {"width": width, "division": division, **typical}


class SoftmaxSaturation(DrawnExplorer):
    """Head width, division, temperature → weights, Jacobian, and what is left of a gradient."""

    title = "How much gradient gets through a softmax?"
    inputs = {
        "width": Steps("head width d_k", WIDTHS, 64),
        "division": Choice("scores are", (DIVIDED, PLAIN), PLAIN),
        "temperature": Steps("temperature", TEMPERATURES, 1),
        "draw_number": Slider("random draw", 1, DRAWS, 1, TYPICAL),
    }
    scenes = {
        "not divided, d_k = 16": _scene(16, PLAIN),
        "not divided, d_k = 64": _scene(64, PLAIN),
        "not divided, d_k = 512": _scene(512, PLAIN),
        "divided, d_k = 512": _scene(512, DIVIDED),
        "temperature 8 = √64": _scene(64, PLAIN, temperature=8),
    }
    size = (8.0, 3.9)
    frames = ("width", "division")

    def prepare(self) -> None:
        running_scores()

    def compute(
        self, width: int, division: str, temperature: float, draw_number: int
    ) -> SoftmaxState:
        divided = division == DIVIDED
        of_draws = running_scores()[:, :, width - 1]
        of_draws = of_draws / (temperature * (math.sqrt(width) if divided else 1))
        scores = of_draws[draw_number - 1]
        weights = scores.softmax(dim=-1)
        in_order = weights.sort().values
        return SoftmaxState(
            weights=weights.numpy(),
            jacobian=softmax_jacobian(weights).numpy(),
            path=_path(scores),
            largest=in_order[-1].item(),
            others=in_order[:-1].sum().item(),
            norm=float(jacobian_norm(weights.numpy())),
            effective=effective_tokens(weights).item(),
            spread=scores.std(correction=0).item(),
            width=width,
            divided=divided,
            temperature=temperature,
            mean_largest=of_draws.softmax(dim=-1).amax(dim=-1).mean().item(),
        )

    def draw(self, figure: Figure, state: SoftmaxState) -> None:
        bottom, height = 0.155, 0.735
        self._draw_weights(figure.add_axes((0.07, bottom, 0.235, height)))
        square = height * self.size[1] / self.size[0]
        self._draw_jacobian(figure.add_axes((0.345, bottom, square, height)))
        self._draw_scale(figure.add_axes((0.355 + square, bottom, 0.012, height)))
        self._draw_norm(figure.add_axes((0.823, bottom, 0.16, height)))

    def _draw_weights(self, axes: Axes) -> None:
        axes.set(title="weights of a query", xlabel="key", ylim=(0, 1), xlim=(-0.6, KEYS - 0.4))
        axes.set_xticks([0, 5, 10, 15])
        axes.set_yticks([0, 0.5, 1], ["0", "½", "1"])
        axes.axhline(1 / KEYS, color=MUTED, linewidth=1, linestyle="--")
        # One thick line with gaps: sixteen bars would be sixteen artists.
        (self._bars,) = axes.plot([], [], color=BLUE, linewidth=8, solid_capstyle="butt")
        self.animate(self._bars)

    def _draw_jacobian(self, axes: Axes) -> None:
        axes.set(title="Jacobian", xlabel="score of key", xlim=(-0.5, KEYS - 0.5))
        axes.set(ylim=(KEYS - 0.5, -0.5), xticks=[0, 5, 10, 15], yticks=[])
        axes.set_ylabel("weight of key", labelpad=2)
        axes.spines[["top", "right"]].set_visible(True)
        root = math.sqrt(STEEPEST)
        self._heat = HeatMap(axes, low=-root, high=root, colormap=SIGNED_MAP)
        self.animate(self._heat)

    def _draw_scale(self, axes: Axes) -> None:
        root = math.sqrt(STEEPEST)
        ramp = HeatMap(axes, low=-root, high=root, colormap=SIGNED_MAP)
        ramp.set_data(np.linspace(root, -root, 128)[:, None])
        mute_axes(axes)
        axes.set_ylim(-root, root)
        axes.yaxis.tick_right()
        ticks = (STEEPEST, 0.05, 0.0, -0.05, -STEEPEST)
        axes.set_yticks([_root(tick) for tick in ticks], ["¼", "0.05", "0", "−0.05", "−¼"])
        axes.tick_params(length=0)

    def _draw_norm(self, axes: Axes) -> None:
        axes.set(title="its norm", xlabel="largest weight", xlim=(0, 1.03), ylim=(0, 0.55))
        axes.set_xticks([0, 0.5, 1], ["0", "½", "1"])
        axes.set_yticks([0, 0.25, 0.5], ["0", "¼", "½"])
        (self._line,) = axes.plot([], [], color=MUTED, linewidth=1.6)
        (self._dot,) = axes.plot([], [], "o", color=ORANGE, markersize=11, clip_on=False)
        self.animate(self._line, self._dot)

    def update(self, state: SoftmaxState) -> None:
        self._bars.set_data(*_upright(state.weights))
        self._heat.set_data(_root(state.jacobian))
        self._line.set_data(*state.path)
        self._dot.set_data([state.largest], [state.norm])

    def caption(self, state: SoftmaxState) -> str:
        how = "divided by √d_k" if state.divided else "not divided"
        return (
            f"d_k = {state.width}, {how}, temperature {state.temperature:g}: these scores have "
            f"standard deviation {_short(state.spread)}. The largest weight is "
            f"{_largest(state)} ({state.mean_largest:.2f} on average over {DRAWS} draws), and the "
            f"query effectively attends to {state.effective:.1f} of {KEYS} keys. The norm of the "
            f"Jacobian is {_short(state.norm)}, {_percent(state.norm / LARGEST_NORM)} of the most "
            f"there can be, ½. Dashed: all weights equal. Grey: these scores at every temperature."
        )


def _root(values):
    """The root that keeps the sign: small entries stay in sight beside large ones."""
    return np.sign(values) * np.sqrt(np.abs(values))


def _upright(heights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bars as one line with gaps, each from 0 to its height."""
    nothing = np.full(len(heights), np.nan)
    x = np.repeat(np.arange(float(KEYS)), 3)
    return x, np.stack([np.zeros(len(heights)), heights, nothing], axis=1).ravel()


def _short(value: float) -> str:
    return f"{value:.2f}" if value >= 0.005 else f"{value:.1g}"


def _largest(state: SoftmaxState) -> str:
    """A weight that would round to 1 is still below it: then what the others leave."""
    return f"{state.largest:.2f}" if state.largest < 0.995 else f"1 − {state.others:.1g}"


def _percent(share: float) -> str:
    if share < 1e-4:
        return "less than 0.01%"
    return f"{share:.0%}" if share >= 0.01 else f"{100 * share:.1g}%"


explore_softmax = SoftmaxSaturation
