"""Lecture 05: a mask, the weights it leaves, and what reaches what through L layers."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from torch import Tensor

from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import Choice, Slider, Steps
from course_utils.explorers.style import GRID
from course_utils.lectures.l05_causal_mask.explorers.stack import (
    MOST_LAYERS,
    MOST_TOKENS,
    stack_reach,
)
from course_utils.lectures.l05_causal_mask.heatmap import MaskedHeatMap, draw_scale, grid_lines
from course_utils.masks import (
    causal_mask,
    padding_mask,
    prefix_mask,
    same_document_mask,
    sliding_window_mask,
)
from course_utils.measure.dependence import reach_through

CAUSAL, WINDOW, PREFIX = "causal", "sliding window", "prefix"
PADDING, PACKED = "padding", "packed documents"
TOP_LEFT, OFF_BY_ONE = "causal, aligned top left", "causal, off by one"
KINDS = (CAUSAL, WINDOW, PREFIX, PADDING, PACKED, TOP_LEFT, OFF_BY_ONE)
LENGTHS = (4, 8, 12, 16, MOST_TOKENS)
LARGEST_SIZE = 12
AS_SHOWN = {"kind": WINDOW, "size": 3, "tokens": 12, "queries": 12, "layers": 2}


@dataclass(frozen=True)
class MaskState:
    """Rows are the T newest of the S tokens, columns all S.

    `gradient` holds each row's shares of the gradient through the layers. `mask_leaks` says where a
    query attends to a key that it must not, `gradient_leaks` where a gradient must be zero and is
    not.
    """

    may_attend: np.ndarray
    weights: np.ndarray
    gradient: np.ndarray
    mask_leaks: np.ndarray
    gradient_leaks: np.ndarray
    kind: str
    size: int
    layers: int

    @property
    def keys(self) -> int:
        """S."""
        return self.may_attend.shape[1]

    @property
    def queries(self) -> int:
        """T."""
        return self.may_attend.shape[0]

    @property
    def cached(self) -> int:
        """How many tokens came before the queries."""
        return self.keys - self.queries


def mask_of(kind: str, size: int, tokens: int, queries: int) -> Tensor:
    """What each of the S tokens may attend to, (S, S), when the newest T come in one call."""
    if kind == WINDOW:
        return sliding_window_mask(tokens, size)
    if kind == PREFIX:
        return prefix_mask(tokens, min(size, tokens))
    if kind == PADDING:
        return padding_mask([min(size, tokens)], tokens)[0, 0].expand(tokens, tokens)
    causal = causal_mask(tokens)
    if kind == PACKED:
        return causal & same_document_mask(document_lengths(size, tokens))
    if kind == OFF_BY_ONE:
        return causal.new_ones(tokens, tokens).tril(1)
    if kind == TOP_LEFT:  # the earlier tokens came in a call of their own, where T was S
        newest = causal.new_ones(queries, tokens).tril()
        causal[tokens - queries :] = newest
    return causal


def document_lengths(size: int, tokens: int) -> list[int]:
    """Documents of one size, and a shorter one where it does not divide the tokens."""
    rest = tokens % size
    return [size] * (tokens // size) + ([rest] if rest else [])


class Masks(DrawnExplorer):
    """A mask and a number of layers → the mask, real weights, real gradients."""

    title = "What may a token attend to, and on what does it depend after L layers?"
    inputs = {
        "kind": Choice("mask", KINDS, WINDOW),
        "size": Slider("window, prefix, text", 1, LARGEST_SIZE, 1, 3),
        "tokens": Steps("tokens so far S", LENGTHS, 12),
        "queries": Slider("newest, asking T", 1, MOST_TOKENS, 1, 12),
        "layers": Slider("layers L", 1, MOST_LAYERS, 1, 2),
    }
    scenes = {
        "causal": {**AS_SHOWN, "kind": CAUSAL},
        "window 3, 1 layer": {**AS_SHOWN, "layers": 1},
        "window 3, 4 layers": {**AS_SHOWN, "layers": 4},
        "prefix": {**AS_SHOWN, "kind": PREFIX, "size": 5},
        "padding": {**AS_SHOWN, "kind": PADDING, "size": 8},
        "packed documents": {**AS_SHOWN, "kind": PACKED, "size": 5},
        "decoding step": {**AS_SHOWN, "kind": CAUSAL, "queries": 1},
        "top left: wrong step": {**AS_SHOWN, "kind": TOP_LEFT, "queries": 1},
        "leak: off by one": {**AS_SHOWN, "kind": OFF_BY_ONE, "layers": 1},
    }
    size = (8.0, 3.2)
    frames = ("kind", "layers")

    def compute(self, kind: str, size: int, tokens: int, queries: int, layers: int) -> MaskState:
        queries = min(queries, tokens)
        may_attend = mask_of(kind, size, tokens, queries)
        meant = causal_mask(tokens) if kind in (TOP_LEFT, OFF_BY_ONE) else may_attend
        newest = slice(tokens - queries, None)
        reach = stack_reach(may_attend.numpy(), layers, queries)
        may_depend = reach_through(meant, layers)[newest].numpy()
        return MaskState(
            may_attend=may_attend[newest].numpy(),
            weights=reach.weights[newest],
            gradient=reach.gradient / reach.gradient.sum(1, keepdims=True),
            mask_leaks=(may_attend & ~meant)[newest].numpy(),
            gradient_leaks=(reach.gradient != 0) & ~may_depend,
            kind=kind,
            size=size,
            layers=layers,
        )

    def draw(self, figure: Figure, state: MaskState) -> None:
        titles = ("mask: may attend", "weights, layer 1", "gradient, L layers")
        side, gap, left, bottom = 2.11, 0.15, 0.62, 0.62
        width, height = self.size
        self._panels = [
            figure.add_axes(
                ((left + i * (side + gap)) / width, bottom / height, side / width, side / height),
                title=title,
            )
            for i, title in enumerate(titles)
        ]
        maps = [MaskedHeatMap(axes) for axes in self._panels]
        self._mask, self._weights, self._gradient = maps
        look = {"color": "white", "markeredgewidth": 1.5}
        self._crosses = [axes.plot([], [], "x", **look)[0] for axes in self._panels]
        look = {"color": GRID, "antialiased": False, "snap": True, "clip_on": False}
        look["linewidth"] = 0.72  # points: one pixel of the page
        self._grids = [axes.plot([], [], **look)[0] for axes in self._panels]
        for axes in self._panels:
            axes.spines[:].set_visible(False)
            axes.tick_params(length=0, pad=3)
            axes.set_xlabel("key", labelpad=2)
        self._panels[0].set_ylabel("query", labelpad=2)
        self.animate(*maps, *self._crosses, *self._grids)
        draw_scale(figure, (left + 3 * (side + gap) - 0.05) / width, bottom / height, side / height)

    def backdrop(self, state: MaskState) -> Hashable:
        return state.keys

    def draw_backdrop(self, state: MaskState) -> None:
        size = state.keys
        step = 1 if size <= 8 else 2 if size <= 12 else 4
        ticks = range(0, size, step)
        for axes in self._panels:
            axes.set(xlim=(-0.5, size - 0.5), ylim=(size - 0.5, -0.5), xticks=ticks, yticks=[])
        self._panels[0].set_yticks(ticks)
        for grid in self._grids:  # drawn over what moves, but moved with the still part alone
            grid.set_data(*grid_lines(size))

    def update(self, state: MaskState) -> None:
        wrong = (state.mask_leaks, state.mask_leaks, state.gradient_leaks)
        self._mask.set_mask(state.may_attend, wrong[0], cached=state.cached)
        self._weights.set_shares(state.weights, wrong[1], cached=state.cached)
        self._gradient.set_shares(state.gradient, wrong[2], cached=state.cached)
        for crosses, places in zip(self._crosses, wrong, strict=True):
            query, key = np.nonzero(places)
            crosses.set_data(key, query + state.cached)
            crosses.set_markersize(90 / state.keys)
            crosses.set_visible(len(key) > 0)

    def caption(self, state: MaskState) -> str:
        return " ".join(
            part for part in (_asking(state), _rule(state), _newest(state), _proof(state)) if part
        )


def _tokens(count: int) -> str:
    return "1 token" if count == 1 else f"{count} tokens"


def _asking(state: MaskState) -> str:
    if not state.cached:
        return ""
    newest = "The newest token asks" if state.queries == 1 else f"The newest {state.queries} ask"
    if state.kind in (PREFIX, PADDING) and min(state.size, state.keys) > state.cached:
        grey = "not asked again, though newer tokens are among those that they attend to"
    else:
        grey = "done, kept in the cache"
    return f"{newest}; {_tokens(state.cached)} came before (grey rows: {grey})."


def _rule(state: MaskState) -> str:
    size, count = state.size, state.keys
    if state.kind == WINDOW:
        if size == 1:
            return "Window of 1: each token attends to itself alone."
        return f"Window of {size}: each token attends to itself and the {size - 1} before it."
    if state.kind == PREFIX:
        if size >= count:
            return f"The prefix is the whole text: each token attends to all {_tokens(count)}."
        first = "the first token" if size == 1 else f"the first {size}"
        return f"All attend to {first}; besides, each attends to itself and what is before it."
    if state.kind == PADDING:
        if size >= count:
            return "No token is padding: all attend to all."
        which = f"Token {size} is" if size == count - 1 else f"Tokens {size} to {count - 1} are"
        return f"{which} padding: no query attends to them, though they attend to others."
    if state.kind == PACKED:
        documents = len(document_lengths(size, count))
        what = "1 document" if documents == 1 else f"{documents} documents"
        return f"{what} in one row, {size} tokens each at most: no token attends outside its own."
    if state.kind == TOP_LEFT:
        if not state.cached:
            return "With T = S top left and bottom right are the same causal mask."
        return (
            "Aligned top left, as torch's is_causal, the first that asks is taken for token 0 and "
            "attends to that alone."
        )
    if state.kind == OFF_BY_ONE:
        return "tril(1) where tril(0) was meant: each token attends to the next one too."
    return "Each token attends to itself and what is before it."


def _newest(state: MaskState) -> str:
    attended, reached = int(state.may_attend[-1].sum()), int((state.gradient[-1] > 0).sum())
    through = "1 layer" if state.layers == 1 else f"{state.layers} layers"
    return (
        f"The newest token may attend to {attended} of {_tokens(state.keys)}, and after {through} "
        f"its output depends on {reached}."
    )


def _proof(state: MaskState) -> str:
    query, key = np.nonzero(state.gradient_leaks)
    if count := len(query):
        farthest = int((key - query).max()) - state.cached
        which = "1 gradient that must be 0 is not"
        which = which if count == 1 else f"{count} gradients that must be 0 are not"
        ahead = "the next token" if farthest == 1 else f"up to {farthest} tokens ahead"
        return f"A leak: {which} (orange, ×); outputs depend on {ahead}."
    if state.kind == OFF_BY_ONE:
        return "The leak cannot show here: the newest token has no next one. In training it has."
    zeros = int((state.gradient == 0).sum())
    if not zeros:
        return "No gradient is 0."
    return f"Of {state.gradient.size} gradients {zeros} are exactly 0 (white): no leak shows."
