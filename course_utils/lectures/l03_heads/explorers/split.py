"""The split into heads step by step, and the wrong order beside it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import Choice, Slider, Steps
from course_utils.explorers.style import MUTED
from course_utils.lectures.l03_heads.explorers.cells import Blocks, TextLine

MAP = (
    "Small map, if each token may attend to itself and earlier ones only (a causal mask): a "
    "row's token depends on the blue ones; orange is the future."
)
STEPS = ("x", "view", "transpose", "attention", "transpose back", "join")
ATTENTION = STEPS.index("attention")
TOKEN, HEAD, CHANNEL = "token", "head", "channel"
TURNED, STRAIGHT = "transpose, then reshape", "view alone"
READ, FUTURE, UNREAD = 0, 4, 5  # which colours say so in the small map
TOKENS, HEADS, WIDTHS = (2, 6), (1, 2, 3, 4), (2, 3, 4)
FIVE_TOKENS = {"tokens": 5, "heads": 2, "width": 3, "colour_by": TOKEN}


@dataclass(frozen=True)
class Layout:
    """How one tensor lies after a step; every element is its number in x.

    Attributes:
        elements: in the order of the tensor's axes, (blocks, rows, columns).
        memory: the elements in the order in which they lie there.
        shape, strides: what torch says of the tensor.
        blocks: what the code takes the first axis for; "" for the plain (T, C).
        call: the call that was made last.
        moved: whether that call wrote a new memory.
    """

    elements: np.ndarray
    memory: np.ndarray
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    blocks: str
    call: str
    moved: bool


@dataclass(frozen=True)
class SplitState:
    """The right tensor and the wrong one.

    Attributes:
        right, wrong: the two after this step.
        rows: the token of each row of each head (H, T) in the wrong view.
        in_place: how many numbers of the wrong tensor are where the right one has them.
        reach: for each of the two, which tokens (T, T) a token has read in the end, with a mask
            that lets row i of a head read its rows up to i.
    """

    right: Layout
    wrong: Layout
    step: int
    sizes: tuple[int, int, int]
    colour_by: str
    back: str
    rows: np.ndarray
    in_place: int
    reach: np.ndarray


def trace(T: int, H: int, D: int, *, wrong: bool, back: str = TURNED) -> tuple[Layout, ...]:
    """Do the split and the way back on numbered elements, and note each step.

    The attention is one whose weights are the identity: every row keeps the numbers of its query,
    and the product is written to a memory of its own, as any ``weights @ v`` is.
    """
    x = torch.arange(T * H * D, dtype=torch.float64).view(T, H * D)
    heads_first, tokens_first = (H, T, D), (T, H, D)
    split = x.view(heads_first if wrong else tokens_first)
    heads = split if wrong else split.transpose(0, 1)
    out = torch.eye(T, dtype=x.dtype).expand(H, T, T) @ heads
    straight = wrong and back == STRAIGHT
    turned = out if straight else out.transpose(0, 1)
    joined = turned.view(T, H * D) if straight else turned.reshape(T, H * D)
    swap = "transpose(0, 1)"
    return (
        _layout(x, "", "x"),
        _layout(split, HEAD if wrong else TOKEN, f"view{tuple(split.shape)}", x),
        _layout(heads, HEAD, "no transpose" if wrong else swap, split),
        _layout(out, HEAD, "weights @ v", heads),
        _layout(turned, HEAD if straight else TOKEN, "no transpose" if straight else swap, out),
        _layout(joined, "", f"{'view' if straight else 'reshape'}{tuple(joined.shape)}", turned),
    )


def _layout(tensor: Tensor, blocks: str, call: str, before: Tensor | None = None) -> Layout:
    numbers = tensor if tensor.ndim == 3 else tensor[None]
    return Layout(
        elements=numbers.numpy().astype(int),
        memory=tensor.as_strided((tensor.numel(),), (1,)).numpy().astype(int),
        shape=tuple(tensor.shape),
        strides=tensor.stride(),
        blocks=blocks,
        call=call,
        moved=before is not None and tensor.data_ptr() != before.data_ptr(),
    )


def part_of(elements: np.ndarray, part: str, H: int, D: int) -> np.ndarray:
    """The token, head or channel to which the numbered elements of x belong."""
    if part == TOKEN:
        return elements // (H * D)
    return elements // D % H if part == HEAD else elements % D


def causal_reach(steps: tuple[Layout, ...], H: int, D: int) -> np.ndarray:
    """Which tokens (T, T) each token of the last step depends on, through queries, keys, values."""
    rows = part_of(steps[ATTENTION].elements[..., 0], TOKEN, H, D)  # the token of (head, row)
    T = rows.shape[1]
    read = np.zeros((H, T, T), bool)
    for head, row in np.ndindex(H, T):
        read[head, row, rows[head, : row + 1]] = True
    # The place of each number of the result among those that attention wrote.
    places = np.argsort(steps[ATTENTION].elements.ravel())[steps[-1].elements[0]]  # (T, C)
    return np.asarray(read.reshape(H * T, T)[places // D].any(axis=1))


@cache  # all that the sliders reach: 120
def _both(T: int, H: int, D: int, back: str) -> tuple[tuple[Layout, ...], tuple[Layout, ...]]:
    return trace(T, H, D, wrong=False), trace(T, H, D, wrong=True, back=back)


class SplitSteps(DrawnExplorer):
    """A step of the split → where every number of every token is, in the tensor and in memory."""

    title = "Which numbers does a head get? The split, step by step"
    inputs = {
        "step": Slider("step of the way", 0, len(STEPS) - 1, 1, 2),
        "tokens": Slider("number of tokens", *TOKENS, 1, 5),
        "heads": Steps("number of heads", HEADS, 2),
        "width": Steps("numbers in a head", WIDTHS, 3),
        "colour_by": Choice("colour and digit", (TOKEN, HEAD, CHANNEL), TOKEN),
        "back": Choice("wrong order: way back", (TURNED, STRAIGHT), TURNED),
    }
    scenes = {
        "x in memory": {"step": 0, **FIVE_TOKENS},
        "the right split | the wrong view": {"step": 2, **FIVE_TOKENS},
        "the same by head": {"step": 2, **FIVE_TOKENS, "colour_by": HEAD},
        "back together: mixed tokens": {"step": 5, **FIVE_TOKENS, "back": TURNED},
        "back by view: closed blocks": {
            "step": 5,
            **FIVE_TOKENS,
            "tokens": 6,
            "heads": 3,
            "back": STRAIGHT,
        },
    }
    size = (8.0, 4.7)
    frames = ("step", "colour_by")

    def prepare(self) -> None:
        tokens = range(TOKENS[0], TOKENS[1] + 1)
        for values in itertools.product(tokens, HEADS, WIDTHS, (TURNED, STRAIGHT)):
            _both(*values)

    def compute(
        self, step: int, tokens: int, heads: int, width: int, colour_by: str, back: str
    ) -> SplitState:
        right, wrong = _both(tokens, heads, width, back)
        same_shape = right[step].shape == wrong[step].shape
        return SplitState(
            right=right[step],
            wrong=wrong[step],
            step=step,
            sizes=(tokens, heads, width),
            colour_by=colour_by,
            back=back,
            rows=part_of(wrong[2].elements[..., 0], TOKEN, heads, width),
            in_place=int((wrong[step].elements == right[step].elements).sum()) if same_shape else 0,
            reach=np.stack([causal_reach(each, heads, width) for each in (right, wrong)]),
        )

    def draw(self, figure: Figure, state: SplitState) -> None:
        self._lines, self._blocks, self._reach, self._memory = [], [], [], []
        for left, name, bottom in ((0.02, "Right", 0.115), (0.52, "Wrong", 0.03)):
            look = {"fontsize": 11, "va": "center"}
            figure.text(left, 0.955, name, weight="bold", **look)
            for at, base in ((left + 0.085, 0.925), (left, 0.87)):
                line = figure.add_axes((at, base, left + 0.475 - at, 0.05))
                self._lines.append(TextLine(line, 11))
            self._blocks.append(Blocks(figure.add_axes((left, 0.24, 0.345, 0.615))))
            reach = figure.add_axes((left + 0.355, 0.24, 0.115, 0.615))
            self._reach.append(Blocks(reach, largest=15, digits=False))
            figure.text(0.02, bottom + 0.025, f"memory, {name.lower()}", color=MUTED, **look)
            strip = figure.add_axes((0.185, bottom, 0.795, 0.05))
            self._memory.append(Blocks(strip, height=23))
        self.animate(*self._lines, *self._blocks, *self._reach, *self._memory)

    def update(self, state: SplitState) -> None:
        back = "transpose" if state.back == TURNED else "view"
        words = []
        for name, side in (
            ("tokens, then heads", state.right),
            (f"heads at once; back by {back}", state.wrong),
        ):
            words += [name, f"{side.call} → {side.shape}, strides {side.strides}"]
        for line, text in zip(self._lines, words, strict=True):
            line.set_text(text)
        for blocks, memory, side in (
            (self._blocks[0], self._memory[0], state.right),
            (self._blocks[1], self._memory[1], state.wrong),
        ):
            count = len(side.elements) if side.blocks else 0
            titles = [f"{side.blocks} {i}" for i in range(count)]
            blocks.set_data(*_digits_and_shades(side.elements, state), titles)
            memory.set_data(*_digits_and_shades(side.memory, state), [])
        for artist, reach in zip(self._reach, state.reach, strict=True):
            artist.set_visible(state.step >= ATTENTION)
            later = np.triu(np.ones_like(reach), 1)
            colours = np.where(reach, np.where(later, FUTURE, READ), UNREAD)[None]
            artist.set_data(colours, (colours == UNREAD).astype(int), 2, ["causal reach"])

    def caption(self, state: SplitState) -> str:
        T, H, D = state.sizes
        return (
            f"{T} tokens, {_count(H, 'head')} of {D} numbers. "
            f"Step {state.step}, {STEPS[state.step]}: {_right_words(state)} {_wrong_words(state)} "
            f"Digit: {state.colour_by}. Wrong order's way back: {state.back}."
        )


def _shaded(state: SplitState) -> str:
    return HEAD if state.colour_by == TOKEN else TOKEN


def _digits_and_shades(
    elements: np.ndarray, state: SplitState
) -> tuple[np.ndarray, np.ndarray, int]:
    """The digit and the shade of each element, and how many shades there are."""
    T, H, D = state.sizes
    digits = part_of(elements, state.colour_by, H, D)
    shades = part_of(elements, _shaded(state), H, D)
    return digits, shades, H if _shaded(state) == HEAD else T


def _right_words(state: SplitState) -> str:
    T, H, D = state.sizes
    memory = "writes a new memory" if state.right.moved else "moves nothing in memory"
    return (
        f"{T} tokens of {H * D} numbers lie in memory one after the other.",
        f"the right view cuts each token into {_count(H, 'piece')} of {D} and {memory}.",
        f"the transpose swaps two strides and {memory}; each head has a piece of every token.",
        f"each head mixes its own rows, and {memory}, head after head.",
        f"the transpose puts each token's pieces together again and {memory}.",
        f"the right order has every number in its place; the reshape {memory}.",
    )[state.step]


def _wrong_words(state: SplitState) -> str:
    T, H, _ = state.sizes
    after = f" {MAP}" if state.step >= ATTENTION else ""
    if H == 1:
        return f"With one head the wrong order is right.{after}"
    if state.step < ATTENTION:
        held = ", ".join(map(str, state.rows[0].tolist()))
        return (
            f"In the wrong view head 0's rows hold tokens {held}, so it never sees "
            f"{_tokens(range(int(state.rows[0].max()) + 1, T))}.{_in_place(state)}"
        )
    if state.back == STRAIGHT:
        return (
            "In the wrong order each number comes back to its place, but head 0 has mixed "
            f"{_tokens(state.rows[0].tolist())} and no other.{after}"
        )
    return (
        f"In the wrong order token 0 gets what {_tokens(state.rows[:, 0].tolist())} asked for: "
        f"it sees the future, mask or not.{after}"
    )


def _in_place(state: SplitState) -> str:
    if state.right.shape != state.wrong.shape or not state.step:
        return ""
    return f" {state.in_place} of {state.right.elements.size} numbers are in their place."


def _count(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


def _tokens(tokens: Iterable[int]) -> str:
    *first, last = map(str, sorted(set(tokens)))
    return f"tokens {', '.join(first)} and {last}" if first else f"token {last}"
