"""Lecture 06: the next token's probabilities under temperature, top-k and top-p, and a text."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_utils.explorers.draw import drawable
from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import FreeText, Slider, Steps
from course_utils.explorers.style import BLUE, INK, ORANGE, TEAL
from course_utils.layers import KVCache
from course_utils.lectures.l06_gpt2_block.explorers.reading import (
    Prompt,
    in_figure,
    read_prompt,
    readable,
    token_name,
)
from course_utils.models.gpt2 import GPT2
from course_utils.models.small_gpt import SMALL_GPT, load_small_gpt, small_gpt_tokenizer
from course_utils.sampling import ROUNDING
from course_utils.threads import one_thread

SHOWN = 10  # bars
NEAR = 0.4  # where the axis of short bars ends
WRITTEN = 16  # tokens
DRAWS = 20
MOST_KEPT = 4000  # texts whose next token is scored, of 12 kB each
EVERY = "all"
KEPT = (1, 2, 5, 10, 20, 50, 100, EVERY)
AS_TAUGHT = {"prompt": "The softmax of", "temperature": 1.0, "k": EVERY, "p": 1.0, "draw": 1}


@dataclass(frozen=True)
class NextTokenState:
    """Probabilities, the largest first: the model's own, at the temperature, and what is kept.

    `prompt` are the ids that are read. `names`, `before` and `after` are those of the first few,
    which have bars. `own_sums` and `warm_sums` are what the first so many (`ranks`) hold together.
    """

    prompt: tuple[int, ...]
    names: tuple[str, ...]
    before: np.ndarray
    after: np.ndarray
    ranks: np.ndarray
    own_sums: np.ndarray
    warm_sums: np.ndarray
    count: int
    kept: int
    own_share: float
    warm_share: float
    p_limit: float
    temperature: float
    k: int | None
    p: float
    text: str
    drawn: int
    reached: float
    draw: int
    note: str


def cut(scores: np.ndarray, temperature: float, k: int, p: float) -> tuple[np.ndarray, int]:
    """Probabilities at a temperature, and how many of them top-k and then top-p keep.

    The scores come the largest first. It is `sampling.next_token_probabilities` for one sorted
    row, without its checks: a text of sixteen tokens asks for it sixteen times.
    """
    if temperature == 0:
        return (np.arange(len(scores)) == 0).astype(float), 1
    powers = np.exp((scores.astype(float) - scores[0]) / temperature)
    warm = powers / powers.sum()
    kept = min(k, len(warm))
    if p < 1:
        reached = warm[:kept].cumsum()
        # As many as have a sum before them that has not reached the share of what k leaves.
        kept = 1 + int((reached[:-1] < p * (1 - ROUNDING) * reached[-1]).sum())
    return warm, kept


# All ids, the most probable first, and their scores (V,).
Scores = tuple[np.ndarray, np.ndarray]


class Writer:
    """A GPT2 that writes; what follows a text is computed once and kept by the text.

    A step of the model takes most of a millisecond, a new text fifteen of them: too long for an
    event that only brings back a text written before.
    """

    def __init__(self, model: GPT2) -> None:
        self._model = model
        self._kept: dict[tuple[int, ...], Scores] = {}

    def score(self, text: tuple[int, ...], caches: list[KVCache] | None = None) -> Scores:
        """Score what follows these tokens; the caches hold the first of them, or none."""
        if text not in self._kept:
            caches = caches or self._model.new_caches()
            new = torch.tensor([text[caches[0].length :]])
            with torch.inference_mode(), one_thread():
                scores = self._model(new, caches=caches, last_only=True)[0, -1].numpy()
            order = (-scores).argsort(kind="stable")
            if len(self._kept) == MOST_KEPT:
                self._kept.clear()
            self._kept[text] = order, scores[order]
        return self._kept[text]

    def write(
        self,
        text: tuple[int, ...],
        count: int,
        choose: Callable[[int, np.ndarray, np.ndarray], int],
    ) -> tuple[int, ...]:
        """Write `count` tokens more; `choose` is given the step, the ids and their scores."""
        start, caches = len(text), self._model.new_caches()
        for step in range(count):
            text = (*text, choose(step, *self.score(text, caches)))
        return text[start:]


class NextToken(DrawnExplorer):
    """A prompt, temperature, top-k and top-p → the next token's probabilities, and a text."""

    title = "Which token comes next, and what do temperature, top-k and top-p leave of the choice?"
    inputs = {
        "prompt": FreeText(
            "the text so far",
            AS_TAUGHT["prompt"],
            examples=("", "Each query reads ", "a $5 bill_x^2, naïve 茶 🙂", "w " * 200),
            placeholder="empty: the model begins by itself",
        ),
        "temperature": Slider("temperature", 0.0, 2.0, 0.1, AS_TAUGHT["temperature"]),
        "k": Steps("top-k: keep so many", KEPT, AS_TAUGHT["k"]),
        "p": Slider("top-p: keep this share", 0.05, 1.0, 0.05, AS_TAUGHT["p"]),
        "draw": Slider("number of the draw", 1, DRAWS, 1, AS_TAUGHT["draw"]),
    }
    scenes = {
        "as the model says": AS_TAUGHT,
        "greedy": {**AS_TAUGHT, "temperature": 0.0},
        "hot": {**AS_TAUGHT, "temperature": 2.0},
        "hot, top-k 5": {**AS_TAUGHT, "temperature": 2.0, "k": 5},
        "top-p 0.9": {**AS_TAUGHT, "p": 0.9},
    }
    size = (8.0, 4.2)
    frames = ("temperature", "k")

    def __init__(self, **values: Any) -> None:
        self._tokenizer = small_gpt_tokenizer()
        self._writer = Writer(load_small_gpt())
        self._read = lru_cache(maxsize=16)(self._read_prompt)
        super().__init__(**values)

    def prepare(self) -> None:
        for scene in self.scenes.values():
            self._writer.score(self._read(scene["prompt"]).ids)

    def _read_prompt(self, text: str) -> Prompt:
        return read_prompt(text, self._tokenizer, SMALL_GPT.max_positions - WRITTEN)

    def compute(
        self, prompt: str, temperature: float, k: int | str, p: float, draw: int
    ) -> NextTokenState:
        read = self._read(prompt)
        order, scores = self._writer.score(read.ids)
        limit = len(order) if isinstance(k, str) else k
        own, _ = cut(scores, 1.0, limit, p)
        warm, kept = cut(scores, temperature, limit, p)
        sums, ranks, chances = warm.cumsum(), _ranks(len(warm)), _draws(draw)

        def choose(step: int, order: np.ndarray, scores: np.ndarray) -> int:
            shares, count = cut(scores[:limit], temperature, limit, p)
            return int(order[_place(shares[:count].cumsum(), chances[step])])

        written = self._writer.write(read.ids, WRITTEN, choose)
        names = [token_name(self._tokenizer.tokens[token]) for token in order[:SHOWN]]
        return NextTokenState(
            prompt=read.ids,
            names=tuple(names),
            before=own[:SHOWN],
            after=np.where(np.arange(SHOWN) < kept, warm[:SHOWN], 0) / sums[kept - 1],
            ranks=ranks,
            own_sums=own.cumsum()[ranks - 1],
            warm_sums=sums[ranks - 1],
            count=len(warm),
            kept=kept,
            own_share=float(own[:kept].sum()),
            warm_share=float(sums[kept - 1]),
            p_limit=p * float(sums[min(limit, len(warm)) - 1]),
            temperature=temperature,
            k=None if isinstance(k, str) else k,
            p=p,
            text=readable(self._tokenizer.decode(written)),
            drawn=1 + _place(sums[:kept], chances[0]),
            reached=float(chances[0] * sums[kept - 1]),
            draw=draw,
            note=read.note,
        )

    def draw(self, figure: Figure, state: NextTokenState) -> None:
        self._draw_bars(figure.add_axes((0.135, 0.135, 0.415, 0.755)))
        self._draw_sums(figure.add_axes((0.655, 0.135, 0.305, 0.755)), state.count)
        named = {
            "the model's own": self._before,
            "as set": self._after,
            "cut": self._cut,
            "where top-k, top-p cut": self._limits,
            "drawn": self._drawn,
        }
        look: dict[str, Any] = {"loc": "upper center", "ncols": len(named), "borderaxespad": 0.15}
        figure.legend(named.values(), named.keys(), handlelength=1.5, columnspacing=1.6, **look)

    def _draw_bars(self, axes: Axes) -> None:
        axes.set(ylim=(SHOWN - 0.5, -0.5), xlabel="probability of the next token")
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        (self._before,) = axes.plot([], [], color=TEAL, linewidth=6, solid_capstyle="butt")
        (self._after,) = axes.plot([], [], color=BLUE, linewidth=8, solid_capstyle="butt")
        look: dict[str, Any] = {
            "markersize": 9,
            "markeredgewidth": 2.4,
            "linestyle": "none",
            "zorder": 4,
        }
        (self._cut,) = axes.plot([], [], marker="x", color=ORANGE, **look)
        self._bars = axes
        self.animate(self._after, self._cut)

    def _draw_sums(self, axes: Axes, count: int) -> None:
        # Logarithms on a plain axis: a logarithmic one takes them anew for each line and event.
        self._sides = (-0.05, np.log10(count) + 0.05)
        axes.set(xlim=self._sides, ylim=(0, 1.03))
        axes.set(xlabel="tokens, most probable first", ylabel="their sum")
        powers = range(len(str(count)))
        axes.set_xticks(powers, [f"{10**power:,}" for power in powers])
        axes.grid()
        axes.set_axisbelow(True)
        (self._limits,) = axes.plot([], [], color=ORANGE, linewidth=1.8, linestyle="--")
        (self._own,) = axes.plot([], [], color=TEAL, linewidth=5)
        (self._rest,) = axes.plot([], [], color=BLUE, linestyle=":")
        (self._warm,) = axes.plot([], [], "-o", color=BLUE, markersize=10, markeredgecolor="white")
        (self._drawn,) = axes.plot([], [], "D", color=INK, markersize=8, zorder=4)
        self.animate(self._limits, self._rest, self._warm, self._drawn)

    def backdrop(self, state: NextTokenState) -> Hashable:
        return state.prompt, _view(state)

    def draw_backdrop(self, state: NextTokenState) -> None:
        self._bars.set_xlim(0, _view(state))
        self._bars.set_yticks(range(len(state.names)), [in_figure(name) for name in state.names])
        for label in self._bars.get_yticklabels():
            label.set_parse_math(False)
        # What the model says by itself depends on the prompt alone, so it stands still.
        self._before.set_data(*_bars(state.before, np.arange(len(state.names)) + 0.27))
        self._own.set_data(np.log10(state.ranks), state.own_sums)

    def update(self, state: NextTokenState) -> None:
        rows = np.arange(len(state.names))
        self._after.set_data(*_bars(state.after, rows - 0.1))
        off = rows[rows >= state.kept]
        self._cut.set_visible(len(off) > 0)
        self._cut.set_data(np.full(len(off), 0.025 * _view(state)), off - 0.1)
        self._rest.set_visible(state.kept < state.count)
        places = np.log10(state.ranks)
        self._rest.set_data(places, state.warm_sums)
        within = state.ranks < state.kept
        self._warm.set_data(
            np.append(places[within], np.log10(state.kept)),
            np.append(state.warm_sums[within], state.warm_share),
        )
        self._warm.set_markevery([int(within.sum())])
        self._drawn.set_data([np.log10(state.drawn)], [state.reached])
        # Across at the share of top-p, down at the number of top-k; each only where it is set.
        across = state.p_limit if state.p < 1 else np.nan
        down = np.nan if state.k is None else np.log10(state.k)
        x = [*self._sides, np.nan, down, down]
        self._limits.set_visible(state.p < 1 or state.k is not None)
        self._limits.set_data(x, [across, across, np.nan, 0, 1.03])

    def caption(self, state: NextTokenState) -> str:
        k = EVERY if state.k is None else state.k
        first = f"“{state.names[0]}” {state.before[0]:.2f}"
        parts = [
            f"Temperature {state.temperature:.1f}, top-k {k}, top-p {state.p:.2f}: {_kept(state)}. "
            f"The most probable, {first}, has {state.after[0]:.2f} now.",
            f"{_writes(state)} “{state.text}”.",
            state.note,
        ]
        if any(drawable(name) != name for name in state.names):
            parts.append("□ stands for a character that the figure's font lacks.")
        return " ".join(part for part in parts if part)


def _bars(lengths: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bars from 0 as one line, broken between them."""
    x = np.stack([np.zeros(len(rows)), lengths, np.full(len(rows), np.nan)], axis=1)
    return x.ravel(), rows.repeat(3)


@lru_cache(maxsize=4)
def _ranks(count: int) -> np.ndarray:
    """Up to sixty ranks from 1 to `count`, as dense on a logarithmic axis at both ends."""
    return np.unique(np.geomspace(1, count, 60).round().astype(int))


def _place(sums: np.ndarray, chance: float) -> int:
    """Place of the first token, in order of probability, whose sum passes a share of the last."""
    return min(int(np.searchsorted(sums, chance * sums[-1], side="right")), len(sums) - 1)


@lru_cache(maxsize=DRAWS)
def _draws(number: int) -> np.ndarray:
    """What chance gives each step of a draw, whatever the other controls say."""
    return np.random.default_rng(number).random(WRITTEN)


def _view(state: NextTokenState) -> float:
    """The end of the bars' axis: nearer where all are short."""
    return 1.0 if max(state.before[0], state.after[0]) > NEAR else NEAR


def _kept(state: NextTokenState) -> str:
    if state.kept == state.count:
        return f"all {state.count} tokens are kept"
    were = "is kept; the model gave it" if state.kept == 1 else "are kept; the model gave them"
    return f"{state.kept} of {state.count} tokens {were} {state.own_share:.2f}"


def _writes(state: NextTokenState) -> str:
    if state.kept == 1 and (state.temperature == 0 or state.k == 1):
        return "No chance is left: each draw writes"
    first = f"{_ordinal(state.drawn)} most probable (black)"
    return f"Draw {state.draw} begins with the {first} and writes"


def _ordinal(place: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}{'th' if place % 100 in (11, 12, 13) else ending}"
