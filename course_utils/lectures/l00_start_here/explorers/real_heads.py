"""Lecture 00: real heads of a real model, as a heat map and as arcs between words."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_utils.attention import effective_tokens
from course_utils.explorers.draw import Arcs, HeatMap, drawable, label_tokens, mute_axes
from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import Choice, FreeText, Slider
from course_utils.explorers.style import ORANGE
from course_utils.models.minilm import Reading
from course_utils.models.minilm_or_random import SENTENCES, TIRED, WIDE, minilm_is_here, read_text

MAX_TOKENS = 64
ARC_THRESHOLD = 0.05
WORDS_WIDTH = 76  # points between the words' left edge and the heat map


@dataclass(frozen=True)
class HeadState:
    """One head's weights (T, T) over the tokens of one text."""

    tokens: tuple[str, ...]
    weights: np.ndarray
    layer: int
    head: int
    row: int | None
    word: str
    effective: float
    truncated: bool
    real: bool


@lru_cache(maxsize=16)  # a reading of 64 tokens holds 3 MB, and typing asks for many
def _reading(text: str) -> Reading:
    return read_text(text, max_tokens=MAX_TOKENS)


class RealHeads(DrawnExplorer):
    """A sentence, a layer and a head → which token attends to which."""

    title = "Who attends to whom? 6 layers of 12 heads, on a sentence of your own"
    inputs = {
        "sentence": Choice("sentence", SENTENCES, TIRED, wide=True),
        "own_text": FreeText(
            "or your own text",
            "",
            examples=("", "Cats chase mice.", "a $5 bill_x^2 \\alpha", "naïve 茶 🙂", "w " * 90),
            placeholder="type here; it replaces the sentence above",
        ),
        "layer": Slider("layer", 0, 5, 1, 3),
        "head": Slider("head", 0, 11, 1, 1),
        "word": FreeText(
            "show one word", "it", examples=("", "street", "zebra"), placeholder="empty: all words"
        ),
    }
    scenes = {
        "it → animal (tired)": {
            "sentence": TIRED,
            "own_text": "",
            "layer": 3,
            "head": 1,
            "word": "it",
        },
        "it → street? (wide)": {
            "sentence": WIDE,
            "own_text": "",
            "layer": 3,
            "head": 1,
            "word": "it",
        },
        "previous token": {"sentence": TIRED, "own_text": "", "layer": 0, "head": 2, "word": ""},
        "next token": {"sentence": TIRED, "own_text": "", "layer": 1, "head": 8, "word": ""},
        "almost everything": {"sentence": TIRED, "own_text": "", "layer": 0, "head": 3, "word": ""},
    }
    size = (8.0, 4.7)
    frames = ("layer", "head")

    def prepare(self) -> None:
        for sentence in SENTENCES:
            _reading(sentence)

    def compute(self, sentence: str, own_text: str, layer: int, head: int, word: str) -> HeadState:
        reading = _reading(own_text.strip() or sentence)
        weights = reading.attentions[layer][head]
        wanted = word.strip().lower()
        return HeadState(
            tokens=reading.tokens,
            weights=weights.numpy(),
            layer=layer,
            head=head,
            row=reading.tokens.index(wanted) if wanted in reading.tokens else None,
            word=wanted,
            effective=float(effective_tokens(weights).mean()),
            truncated=reading.truncated,
            real=minilm_is_here(),
        )

    def draw(self, figure: Figure, state: HeadState) -> None:
        arcs = figure.add_axes((0.0, 0.02, 0.28, 0.78))
        self._words = figure.add_axes((0.415, 0.02, 0.52, 0.78))
        self._words.tick_params(axis="y", pad=WORDS_WIDTH)
        mute_axes(arcs)
        self._words.spines[:].set_visible(False)
        self._arc_axes = arcs
        self._heat = HeatMap(self._words)
        self._arcs = Arcs(arcs, threshold=ARC_THRESHOLD)
        self._frame = Rectangle((0, 0), 1, 1, fill=False, edgecolor=ORANGE, linewidth=2)
        self._words.add_patch(self._frame)
        self._draw_scale(figure)
        self.animate(self._heat, self._arcs.artist, self._frame)

    def _draw_scale(self, figure: Figure) -> None:
        scale = figure.add_axes((0.955, 0.02, 0.014, 0.78))
        ramp = HeatMap(scale)
        ramp.set_data(np.linspace(1, 0, 64)[:, None])
        mute_axes(scale)
        scale.set_ylim(63.5, -0.5)
        scale.yaxis.tick_right()
        scale.set_yticks([-0.5, 31.5, 63.5], ["1", "½", "0"])
        scale.tick_params(length=0)

    def backdrop(self, state: HeadState) -> Hashable:
        return state.tokens

    def draw_backdrop(self, state: HeadState) -> None:
        count = len(state.tokens)
        label_tokens(self._words, state.tokens)
        for label in self._words.get_yticklabels():
            label.set_horizontalalignment("left")  # the words begin where the arcs end
        self._words.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5))
        self._arc_axes.set(xlim=(-1.0, 0.0), ylim=(count - 0.5, -0.5))

    def update(self, state: HeadState) -> None:
        self._heat.set_data(state.weights)
        self._arcs.set_data(state.weights, state.row)
        count = len(state.tokens)
        self._frame.set_visible(state.row is not None)
        self._frame.set_bounds(-0.5, (state.row or 0) - 0.5, count, 1)

    def caption(self, state: HeadState) -> str:
        where = f"Layer {state.layer}, head {state.head}."
        parts = [where, _strongest(state), _spread(state)]
        if state.word and state.row is None:
            word = state.word if len(state.word) <= 40 else state.word[:40] + "…"
            parts.append(f"“{word}” is not one of these tokens, so every word is shown.")
        if state.truncated:
            parts.append(f"The text is cut at {MAX_TOKENS} tokens.")
        if any(drawable(token) != token for token in state.tokens):
            parts.append("□ stands for a character that the figure's font lacks.")
        if not state.real:
            parts.append("MiniLM's files are missing: these are random weights. Run: make setup")
        return " ".join(parts)


def _strongest(state: HeadState) -> str:
    tokens, weights = state.tokens, state.weights
    if state.row is None:
        query, key = np.unravel_index(int(weights.argmax()), weights.shape)
        arc = f"“{tokens[query]}” attends to “{tokens[key]}”"
        return f"The strongest arc: {arc} ({weights.max():.2f})."
    most = np.argsort(-weights[state.row], kind="stable")[:3]
    named = ", ".join(f"“{tokens[i]}” {weights[state.row, i]:.2f}" for i in most)
    return f"“{tokens[state.row]}” attends to {named}."


def _spread(state: HeadState) -> str:
    return (
        f"On average a word attends to {state.effective:.1f} of {len(state.tokens)} tokens "
        "(effective tokens). "
        f"Blue arcs reach back, orange ones ahead; weights below {ARC_THRESHOLD:.2f} have no arc."
    )
