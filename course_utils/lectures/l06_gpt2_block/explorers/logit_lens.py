"""Lecture 06: the logit lens, what each layer of a GPT-2 would say if it were the last."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import GraphicsContextBase, RendererBase
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle

from course_utils.explorers.draw import HeatMap, drawable, mute_axes
from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import FreeText, Slider, Steps
from course_utils.explorers.style import BLUE, GRID, INK, MUTED, ORANGE
from course_utils.lectures.l06_gpt2_block.explorers.reading import (
    in_figure,
    read_prompt,
    token_name,
)
from course_utils.models.gpt2 import GPT2
from course_utils.models.small_gpt import SMALL_GPT, load_small_gpt, small_gpt_tokenizer
from course_utils.threads import one_thread

MOST_TOKENS = 9  # as many as leave room for a word in each cell
WORD, WORD_SIZE = (0.9, 0.2), 9.5  # room for a word in inches, its letters in points
LONGEST_IN_A_CELL = 8
ABOVE = 0.3  # where the tokens stand above the map, in rows
NAMED = 5  # tokens that the caption names for one layer
EVERY, EMBEDDING = "all layers", "embedding"
LEAST = 1e-3  # where the scale of probabilities begins
TICKS = {1e-3: "≤ 0.001", 1e-2: "0.01", 1e-1: "0.1", 1.0: "1"}
PROMPT = "Each head has its own queries, keys and"
LAYERS = (EMBEDDING, *map(str, range(1, SMALL_GPT.num_layers + 1)))
AS_TAUGHT = {"prompt": PROMPT, "back": 0, "layer": EVERY}


class Lens(NamedTuple):
    """What the lens gives for one text, for each layer l (0: the embedding) and token t.

    `final`, `own` (T,): the token that the last layer puts first, and the token that is read.
    `probability`, `rank` (L + 1, T): of the final choice, 1 for the first. `best`, `best_share`
    (L + 1, T, NAMED): the most probable tokens of the layer.
    """

    final: np.ndarray
    own: np.ndarray
    probability: np.ndarray
    rank: np.ndarray
    best: np.ndarray
    best_share: np.ndarray
    note: str


@torch.no_grad()
def look_through(model: GPT2, ids: tuple[int, ...], note: str = "") -> Lens:
    """The logit lens: ``softmax(logits(h_l))`` for every hidden state of one text.

    Source: nostalgebraist, "Interpreting GPT: the logit lens", 2020.
    """
    with one_thread():
        states = model.trace(torch.tensor([ids])).hidden_states
        shares = model.logits(torch.cat(states)).double().softmax(dim=-1)  # (L + 1, T, V)
    final = shares[-1].argmax(dim=-1)  # (T,)
    of_final = shares.gather(-1, final.expand(len(shares), -1)[..., None])  # (L + 1, T, 1)
    best = shares.sort(dim=-1, descending=True, stable=True)
    return Lens(
        final=final.numpy(),
        own=np.array(ids),
        probability=of_final[..., 0].numpy(),
        rank=1 + (shares > of_final).sum(dim=-1).numpy(),
        best=best.indices[..., :NAMED].numpy(),
        best_share=best.values[..., :NAMED].numpy(),
        note=note,
    )


@dataclass(frozen=True)
class LensState:
    """The whole map, and the column of one token: see `Lens`."""

    tokens: tuple[str, ...]
    probability: np.ndarray
    says: tuple[tuple[str, ...], ...]
    column: np.ndarray
    ranks: np.ndarray
    best_share: np.ndarray
    final: str
    position: int
    layer: int | None
    best: tuple[str, ...]
    shares: np.ndarray
    repeats_itself: bool
    beyond: bool
    note: str


class CellWords(Artist):
    """A word in the middle of each cell of a heat map, and one above each column.

    A word takes matplotlib a millisecond, and there are some fifty. Here each is drawn once, and
    later its pixels are copied.
    """

    def __init__(self, axes: Axes) -> None:
        super().__init__()
        self._words: tuple[tuple[str, str, float, float], ...] = ()
        axes.add_artist(self)

    def set_words(self, words: Iterable[tuple[str, str, float, float]]) -> None:
        """Show these words, each with its colour and the place (x, y) of its middle."""
        self._words = tuple(words)
        self.stale = True

    def draw(self, renderer: RendererBase) -> None:
        """Paint each word around its place."""
        assert self.axes is not None
        places = self.axes.transData.transform([place for _, _, *place in self._words])
        dpi = self.axes.figure.dpi
        for (word, colour, *_), (x, y) in zip(self._words, places, strict=True):
            pixels = _drawn(word, colour, dpi)
            height, width = pixels.shape[:2]
            renderer.draw_image(
                renderer.new_gc(), round(x - width / 2), round(y - height / 2), pixels
            )


@lru_cache(maxsize=1000)
def _drawn(word: str, colour: str, dpi: float) -> np.ndarray:
    """The pixels of a word, the lowest row first, as Agg paints them."""
    width, height = (round(inches * dpi) for inches in WORD)
    paper, pen = RendererAgg(width, height, dpi), GraphicsContextBase()
    pen.set_foreground(colour)
    letters = FontProperties(family="DejaVu Sans", size=WORD_SIZE)
    taken, _, _ = paper.get_text_width_height_descent(word, letters, ismath=False)
    paper.draw_text(pen, (width - taken) / 2, 0.68 * height, word, letters, 0)
    return np.array(paper.buffer_rgba())[::-1]


class LogitLens(DrawnExplorer):
    """A prompt, a token and a layer → what the model would say next if it ended there."""

    title = "At which layer does the model know what it will say?"
    scenes = {
        "queries, keys and …": AS_TAUGHT,
        "after block 1": {**AS_TAUGHT, "layer": "1"},
        "the embedding alone": {**AS_TAUGHT, "layer": EMBEDDING},
        "the first token": {**AS_TAUGHT, "back": MOST_TOKENS - 1},
        "the softmax of the scores": {**AS_TAUGHT, "prompt": "The softmax of the scores"},
    }
    size = (8.0, 4.2)
    frames = ("back", "layer")

    inputs = {
        "prompt": FreeText(
            "the text",
            PROMPT,
            examples=("", "The softmax of the scores", "a $5 bill_x^2, naïve 茶 🙂", "w " * 60),
            placeholder="empty: the model reads a line break",
        ),
        "back": Slider("tokens before the last", 0, MOST_TOKENS - 1, 1, AS_TAUGHT["back"]),
        "layer": Steps("look after block", (EVERY, *LAYERS), AS_TAUGHT["layer"]),
    }

    def __init__(self, **values: Any) -> None:
        self._model, self._tokenizer = load_small_gpt(), small_gpt_tokenizer()
        self._lens = lru_cache(maxsize=16)(self._read_through)
        super().__init__(**values)

    def prepare(self) -> None:
        for scene in self.scenes.values():
            self._lens(scene["prompt"])

    def _read_through(self, text: str) -> Lens:
        prompt = read_prompt(text, self._tokenizer, MOST_TOKENS)
        return look_through(self._model, prompt.ids, prompt.note)

    def compute(self, prompt: str, back: int, layer: str) -> LensState:
        lens = self._lens(prompt)
        names = self._tokenizer.tokens
        at = max(len(lens.own) - 1 - back, 0)
        chosen = None if layer == EVERY else LAYERS.index(layer)
        row = -1 if chosen is None else chosen
        return LensState(
            tokens=tuple(token_name(names[token]) for token in lens.own),
            probability=lens.probability,
            says=tuple(tuple(token_name(names[t]) for t in row) for row in lens.best[..., 0]),
            column=lens.probability[:, at],
            ranks=lens.rank[:, at],
            best_share=lens.best_share[:, at, 0],
            final=token_name(names[lens.final[at]]),
            position=at,
            layer=chosen,
            best=tuple(token_name(names[token]) for token in lens.best[row, at]),
            shares=lens.best_share[row, at],
            repeats_itself=bool(lens.best[row, at, 0] == lens.own[at]),
            beyond=back >= len(lens.own),
            note=lens.note,
        )

    def draw(self, figure: Figure, state: LensState) -> None:
        left, width, bottom, height = 0.13, 0.635, 0.2, 0.68
        self._map = figure.add_axes((left, bottom, width, height))
        self._heat = HeatMap(self._map, low=np.log10(LEAST), high=0.0)
        self._map.spines[:].set_visible(False)
        self._map.tick_params(length=0)
        self._map.set_xticks([])
        self._words = CellWords(self._map)
        self._frame = Rectangle((0, 0), 1, 1, fill=False, edgecolor=ORANGE, linewidth=3)
        self._map.add_patch(self._frame)
        self._draw_scale(figure.add_axes((left, 0.12, width, 0.035)))
        self._draw_column(figure.add_axes((0.795, bottom, 0.18, height)), len(state.says))
        named = {"the final choice": self._final, "the layer's own": self._best}
        look = {"loc": (0.785, 0.885), "handletextpad": 0.2, "labelspacing": 0.1, "fontsize": 10}
        figure.legend(named.values(), named.keys(), **look)
        self.animate(self._frame)

    def _draw_scale(self, axes: Axes) -> None:
        ramp = HeatMap(axes)
        ramp.set_data(np.linspace(0, 1, 64)[None])
        mute_axes(axes)
        axes.set(xlim=(np.log10(LEAST), 0))
        axes.set_xticks([np.log10(tick) for tick in TICKS], list(TICKS.values()))
        axes.tick_params(length=0, pad=2)
        axes.set_xlabel("probability of the final choice", labelpad=1)

    def _draw_column(self, axes: Axes, rows: int) -> None:
        axes.set(xscale="log", xlim=(LEAST, 1), ylim=(-0.5, rows - 0.5), yticks=[])
        axes.set_xticks(list(TICKS), ["0.001", "", "0.1", "1"])  # no room for a fourth
        axes.minorticks_off()
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        axes.set_xlabel("probability", labelpad=1)
        self._band = Rectangle((0, 0), 1, 1, transform=axes.get_yaxis_transform(), color=GRID)
        axes.add_patch(self._band)
        look: dict[str, Any] = {"markeredgecolor": "white", "clip_on": False}
        (self._best,) = axes.plot([], [], "s", color=MUTED, markersize=9, **look)
        (self._final,) = axes.plot([], [], "-o", color=BLUE, markersize=10, **look)
        self.animate(self._band, self._best, self._final)

    def backdrop(self, state: LensState) -> Hashable:
        return state.tokens, state.says

    def draw_backdrop(self, state: LensState) -> None:
        count, rows = len(state.tokens), len(state.says)
        self._map.set(xlim=(-0.5, count - 0.5), ylim=(-0.5, rows - 0.5))
        self._map.set_yticks(range(rows), [EMBEDDING, *_blocks(rows)])
        self._heat.set_data(np.log10(state.probability.clip(LEAST))[::-1])
        above = [(token, INK, x, rows - 0.5 + ABOVE) for x, token in enumerate(state.tokens)]
        dark = state.probability < LEAST**0.5  # the lower half of the colours
        within = [
            (name, "white" if dark[y, x] else INK, x, y)
            for y, row in enumerate(state.says)
            for x, name in enumerate(row)
        ]
        self._words.set_words(
            (in_figure(word, LONGEST_IN_A_CELL), colour, x, y)
            for word, colour, x, y in above + within
        )

    def update(self, state: LensState) -> None:
        rows = np.arange(len(state.says))
        low, height = (0, len(rows)) if state.layer is None else (state.layer, 1)
        self._frame.set_bounds(state.position - 0.5, low - 0.5, 1, height)
        self._band.set_bounds(0, low - 0.5, 1, height)
        self._band.set_visible(state.layer is not None)
        self._best.set_data(state.best_share.clip(LEAST), rows)
        self._final.set_data(state.column.clip(LEAST), rows)

    def caption(self, state: LensState) -> str:
        token = f"“{state.tokens[state.position]}”"
        parts = [
            f"After token {state.position + 1} of {len(state.tokens)}, {token}, the last layer "
            f"puts “{state.final}” first, with {state.column[-1]:.2f}.",
            _by_layer(state) if state.layer is None else _of_layer(state, state.layer),
            state.note,
        ]
        if state.beyond:
            parts.append("There is no token before: the first one is shown.")
        if any(drawable(name) != name for name in chain(state.tokens, *state.says)):
            parts.append("□ stands for a character that the figure's font lacks.")
        return " ".join(part for part in parts if part)


def _of_layer(state: LensState, layer: int) -> str:
    named = ", ".join(
        f"“{name}” {share:.2f}" for name, share in zip(state.best, state.shares, strict=True)
    )
    where = f"After block {layer}" if layer else "At the embedding"
    place = state.ranks[layer]
    stands = "is first" if place == 1 else f"stands at place {place}"
    share = _share(state.column[layer])
    words = f"{where} it would be {named}; the final choice {stands}, with {share}."
    if layer == 0 and state.repeats_itself:
        words += " The first of these is the token that is read: the same vectors score."
    return words


def _by_layer(state: LensState) -> str:
    last = len(state.ranks) - 1
    others = state.ranks[:-1] > 1
    settled = int(np.flatnonzero(others).max(initial=-1)) + 1
    since = "from the embedding on" if settled == 0 else f"from block {settled} on"
    if settled < last:
        when = f"It is first {since}"
    elif (state.ranks[:-1] == 1).any():
        when = "An earlier layer puts it first, and a later one does not"
    else:
        when = "No earlier layer puts it first"
    places = ", ".join(str(rank) for rank in state.ranks)
    shares = ", ".join(_share(share) for share in state.column)
    return f"From the embedding up it stands at place {places}, with {shares}. {when}."


def _share(probability: float) -> str:
    return f"{probability:.3f}" if probability >= LEAST else "less than 0.001"


def _blocks(rows: int) -> list[str]:
    return [f"block {layer}" for layer in range(1, rows)]
