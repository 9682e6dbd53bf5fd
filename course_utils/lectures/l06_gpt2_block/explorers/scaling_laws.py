"""Lecture 06: what two scaling laws make of a budget, beside models that were trained."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import Slider, Steps
from course_utils.explorers.style import BLUE, INK, MUTED, ORANGE, PURPLE
from course_utils.lectures.l06_gpt2_block.experiments.scaling_law import (
    LAWS,
    Optimum,
    chinchilla_loss,
    compute_optimal,
)

POWERS = (18.0, 26.0)  # of ten, of the floating-point operations of a training
RATIOS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
SIZES, TOKENS = (3e6, 3e13), (2e8, 1e15)
ROOM, STEP = 0.5, 0.25  # nats that the loss's axis shows, and by which it moves
UNDER = {"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8}
KAPLAN, CHINCHILLA, AGAIN = LAWS
LOOKS = {
    KAPLAN: ("Kaplan 2020", ORANGE, "-.", "^"),
    CHINCHILLA: ("Chinchilla 2022", BLUE, "-", "o"),
    AGAIN: ("… fitted again 2024", PURPLE, "--", "s"),
}


class Trained(NamedTuple):
    """A published model: its parameters, the tokens it read, where its name stands."""

    parameters: float
    tokens: float
    beside: tuple[float, float]
    align: str

    @property
    def at(self) -> dict[str, float]:
        """The values of the controls that are nearest to the model."""
        compute, ratio = 6 * self.parameters * self.tokens, self.tokens / self.parameters
        nearest = min(RATIOS, key=lambda each: abs(np.log(each / ratio)))
        return {"compute": round(float(np.log10(compute)), 1), "ratio": nearest}


# Brown et al., "Language models are few-shot learners", 2020, table 2.1; Hoffmann et al.,
# "Training compute-optimal large language models", 2022, table 1; Touvron et al., "Llama 2",
# 2023, table 1; Llama team, "The Llama 3 herd of models", 2024, section 3.1 (15.6 trillion tokens
# for 405B; the 8B model's card: more than 15 trillion).
MODELS = {
    "GPT-3": Trained(175e9, 300e9, (6, -4), "left"),
    "Chinchilla": Trained(70e9, 1.4e12, (7, -5), "left"),
    "Llama 2 7B": Trained(6.7e9, 2e12, (-7, -3), "right"),
    "Llama 3 8B": Trained(8e9, 15e12, (-7, -2), "right"),
    "Llama 3.1 405B": Trained(405e9, 15.6e12, (8, 9), "center"),
}


@dataclass(frozen=True)
class ScalingState:
    """One way to spend a budget, the ways of the laws, and the loss of every way."""

    sizes: np.ndarray
    losses: np.ndarray
    losses_again: np.ndarray
    best_sizes: np.ndarray
    best_tokens: np.ndarray
    best_losses: np.ndarray
    power: float
    compute: float
    ratio: float
    parameters: float
    tokens: float
    loss: float
    loss_again: float
    loss_kaplan: float


@lru_cache(maxsize=100)
def _curves(compute: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sizes, and the loss at each by Chinchilla's law and by the later fit, at this compute."""
    sizes = np.geomspace(*SIZES, 141)
    first, again = (
        np.array([chinchilla_loss(size, compute / 6 / size, law) for size in sizes])
        for law in (CHINCHILLA, AGAIN)
    )
    return sizes, first, again


@lru_cache(maxsize=100)
def _optima(compute: float) -> tuple[Optimum, ...]:
    return tuple(compute_optimal(compute, law) for law in LAWS)


class ScalingLaws(DrawnExplorer):
    """Compute and tokens per parameter → parameters, tokens, loss, and what the laws advise."""

    title = "A larger model, or more text: how would you spend the compute?"
    inputs = {
        "compute": Slider("log10 of compute", *POWERS, 0.1, 23.5),
        "ratio": Steps("tokens a parameter", RATIOS, 2),
    }
    scenes = {
        **{name: MODELS[name].at for name in ("GPT-3", "Chinchilla", "Llama 3 8B")},
        "GPT-3's compute, 20 tokens": {"compute": 23.5, "ratio": 20},
        "a small budget": {"compute": 18.0, "ratio": 20},
    }
    size = (8.0, 4.4)
    frames = ("compute", "ratio")

    def compute(self, compute: float, ratio: float) -> ScalingState:
        budget = 10.0**compute
        parameters = (budget / 6 / ratio) ** 0.5
        tokens = ratio * parameters
        sizes, losses, losses_again = _curves(budget)
        best = _optima(budget)
        return ScalingState(
            sizes=sizes,
            losses=losses,
            losses_again=losses_again,
            best_sizes=np.array([each.parameters for each in best]),
            best_tokens=np.array([each.tokens for each in best]),
            best_losses=np.array([each.loss for each in best]),
            power=compute,
            compute=budget,
            ratio=ratio,
            parameters=parameters,
            tokens=tokens,
            loss=chinchilla_loss(parameters, tokens),
            loss_again=chinchilla_loss(parameters, tokens, AGAIN),
            loss_kaplan=chinchilla_loss(best[0].parameters, best[0].tokens),
        )

    def draw(self, figure: Figure, state: ScalingState) -> None:
        self._draw_losses(figure.add_axes((0.085, 0.135, 0.385, 0.75)))
        self._draw_plane(figure.add_axes((0.575, 0.135, 0.41, 0.75)))
        handles = [self._paths[law] for law in LAWS]
        figure.legend(
            handles, [LOOKS[law][0] for law in LAWS], loc="upper center", ncols=3,
            borderaxespad=0.15, handlelength=2.4,
        )  # fmt: skip

    def _draw_losses(self, axes: Axes) -> None:
        axes.set(xscale="log", xlim=SIZES, xlabel="parameters N", ylabel="loss (nats per token)")
        axes.set_xticks([1e7, 1e9, 1e11, 1e13], ["10 M", "1 B", "100 B", "10 T"])
        axes.minorticks_off()
        axes.grid()
        axes.set_axisbelow(True)
        self._losses = axes
        self._curves = {}
        for law in (CHINCHILLA, AGAIN):
            _, colour, dash, _ = LOOKS[law]
            (self._curves[law],) = axes.plot([], [], dash, color=colour)
        self._valleys = self._draw_dots(axes)
        (self._own_loss,) = axes.plot([], [], "D", color=INK, markersize=9, zorder=5)
        self.animate(*self._curves.values(), *self._valleys.values(), self._own_loss)

    def _draw_dots(self, axes: Axes) -> dict:
        dots = {}
        for law, (_, colour, _, marker) in LOOKS.items():
            look = {"color": colour, "markersize": 11, "markeredgecolor": "white"}
            (dots[law],) = axes.plot([], [], marker, zorder=4, **look)
        return dots

    def _draw_plane(self, axes: Axes) -> None:
        axes.set(xscale="log", yscale="log", xlim=SIZES, ylim=TOKENS)
        axes.set(xlabel="parameters N", ylabel="tokens D")
        axes.set_xticks([1e7, 1e9, 1e11, 1e13], ["10 M", "1 B", "100 B", "10 T"])
        axes.set_yticks([1e9, 1e11, 1e13], ["1 B", "100 B", "10 T"])
        axes.minorticks_off()
        axes.grid()
        axes.set_axisbelow(True)
        self._paths = {}
        budgets = [10.0**power for power in POWERS]
        for law, (_, colour, dash, _) in LOOKS.items():
            ends = [compute_optimal(budget, law) for budget in budgets]
            x, y = [end.parameters for end in ends], [end.tokens for end in ends]
            (self._paths[law],) = axes.plot(x, y, dash, color=colour)
        for name, model in MODELS.items():
            axes.plot(model.parameters, model.tokens, "D", color=MUTED, markersize=6)
            axes.annotate(
                name, (model.parameters, model.tokens), model.beside, fontsize=10, ha=model.align,
                textcoords="offset points", bbox=UNDER, zorder=3,
            )  # fmt: skip
        (self._budget,) = axes.plot([], [], ":", color=INK, linewidth=1.8)
        self._choices = self._draw_dots(axes)
        (self._own,) = axes.plot([], [], "D", color=INK, markersize=9, zorder=5)
        self.animate(self._budget, *self._choices.values(), self._own)

    def backdrop(self, state: ScalingState) -> Hashable:
        return _lowest(state)

    def draw_backdrop(self, state: ScalingState) -> None:
        self._losses.set_ylim(_lowest(state), _lowest(state) + ROOM)

    def update(self, state: ScalingState) -> None:
        self._curves[CHINCHILLA].set_data(state.sizes, state.losses)
        self._curves[AGAIN].set_data(state.sizes, state.losses_again)
        heights = (state.loss_kaplan, *state.best_losses[1:])
        for at, law in enumerate(LAWS):
            self._valleys[law].set_data([state.best_sizes[at]], [heights[at]])
            self._choices[law].set_data([state.best_sizes[at]], [state.best_tokens[at]])
        self._own_loss.set_data([state.parameters], [state.loss])
        self._own.set_data([state.parameters], [state.tokens])
        self._budget.set_data(state.sizes[[0, -1]], state.compute / 6 / state.sizes[[0, -1]])

    def caption(self, state: ScalingState) -> str:
        kaplan, best, again = (
            f"{describe_number(N)} parameters and {describe_number(D)} tokens"
            for N, D in zip(state.best_sizes, state.best_tokens, strict=True)
        )
        ratios = state.best_tokens / state.best_sizes
        beyond = " (above the picture)" if state.loss > _lowest(state) + ROOM else ""
        return (
            f"10^{state.power:.1f} FLOP and {state.ratio:g} tokens for each parameter are "
            f"{describe_number(state.parameters)} parameters and "
            f"{describe_number(state.tokens)} tokens (black): "
            f"Chinchilla's law says a loss of {state.loss:.3f}{beyond}, and "
            f"{state.best_losses[1]:.3f} with {best}, {ratios[1]:.3g} for each. Fitted again it "
            f"advises {again}, {ratios[2]:.3g} for each. Kaplan would take {kaplan}, "
            f"{ratios[0]:.3g} for each, and by Chinchilla's law reach {state.loss_kaplan:.3f}."
        )


def _lowest(state: ScalingState) -> float:
    """Where the axis of losses begins: it follows the best loss in steps."""
    return STEP * float(np.floor(state.best_losses[1:].min() / STEP))


def describe_number(number: float) -> str:
    """A number of three digits in words of size.

    >>> describe_number(175e9), describe_number(1.4e12)
    ('175 billion', '1.4 trillion')
    """
    for unit, words in ((1e12, " trillion"), (1e9, " billion"), (1e6, " million")):
        if number >= unit * 0.9995:
            return f"{float(f'{number / unit:.3g}'):,g}{words}"
    return f"{number:,.0f}"
