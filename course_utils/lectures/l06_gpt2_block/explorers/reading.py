"""Lecture 06: what its explorers share: a prompt cut to the context, names of tokens, fast steps.

A step of `GPT2` for one token takes 3 ms. The arithmetic is a small part of that, the rest is what
PyTorch and our checks ask of each operation. A slider that writes a text at every event cannot wait
so long. So the formulas of `models/gpt2.py` stand here once more in numpy, for one token at a
time, and take a tenth. The tests hold them to the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from torch import nn

from course_utils.explorers.draw import drawable
from course_utils.layers import FeedForward, LayerNorm, MultiHeadAttention
from course_utils.models.gpt2 import GPT2
from course_utils.models.small_gpt import load_small_gpt, small_gpt_tokenizer
from course_utils.tokens import BytePairs

NOTHING = "\n"  # what stands for an empty prompt: a model needs a token to read
NAMES = {"“": '"', "”": '"', "\n": "↵", "\r": "↵", "\t": "⇥"}
LONGEST = 11  # letters of a token's name in a figure
MOST_KEPT = 4000  # of 10 kB each for the small GPT
GELU_TANH = (2 / np.pi) ** 0.5

Layer = tuple[np.ndarray, np.ndarray]


class Prompt(NamedTuple):
    """The tokens of a prompt that are read, and how many there were."""

    ids: tuple[int, ...]
    count: int
    empty: bool

    @property
    def note(self) -> str:
        """What was done to the prompt, for the caption; "" if nothing was."""
        if self.empty:
            return "An empty prompt is read as a line break: there must be a token to read."
        if self.count > len(self.ids):
            return f"Of the prompt's {self.count} tokens the last {len(self.ids)} are read."
        return ""


def read_prompt(text: str, tokenizer: BytePairs, room: int) -> Prompt:
    """The last `room` tokens of a text, or a line break where it has none.

    Raises:
        ValueError: when the text holds half of a surrogate pair.
    """
    ids = tokenizer.encode(text)
    known = ids or tokenizer.encode(NOTHING)
    return Prompt(tuple(known[-room:]), len(known), not ids)


def readable(text: str) -> str:
    """A text on one line, to stand in quotes: ↵ for a line break, by its number what is no sign."""
    return "".join(
        NAMES.get(letter, letter if letter.isprintable() else f"\\x{ord(letter):02x}")
        for letter in text
    )


def token_name(token: bytes) -> str:
    """A token as it can be read, a blank as ␣; by its bytes where it is but a part of a letter."""
    try:
        return readable(token.decode("utf-8")).replace(" ", "␣")
    except UnicodeDecodeError:
        return "".join(f"\\x{byte:02x}" for byte in token)


def in_figure(name: str) -> str:
    """A token's name as a label: in letters that the font has, no longer than there is room for."""
    return drawable(name if len(name) <= LONGEST else name[: LONGEST - 1] + "…")


def model_and_tokenizer(model: GPT2 | None, tokenizer: BytePairs | None) -> tuple[GPT2, BytePairs]:
    """The two that are given, checked against each other, or the course's small GPT.

    Raises:
        TypeError: when one is given without the other, or is of another kind.
        ValueError: when the tokenizer has other ids than the model.
    """
    if (model is None) != (tokenizer is None):
        raise TypeError("model and tokenizer must be given together; got one of them")
    if model is None or tokenizer is None:
        return load_small_gpt(), small_gpt_tokenizer()
    if not isinstance(model, GPT2):
        raise TypeError(f"model must be a GPT2; got {type(model).__name__}")
    if not isinstance(tokenizer, BytePairs):
        raise TypeError(f"tokenizer must be a BytePairs; got {type(tokenizer).__name__}")
    if tokenizer.vocab_size != model.config.vocab_size:
        raise ValueError(
            f"tokenizer must have as many tokens as the model ({model.config.vocab_size}); "
            f"got {tokenizer.vocab_size}"
        )
    return model, tokenizer


class Block(NamedTuple):
    """The weights of one block: of each layer a matrix (or a norm's scale) and a bias."""

    attention_norm: Layer
    query_key_value: Layer
    output: Layer
    feedforward_norm: Layer
    expand: Layer
    contract: Layer


class Scored(NamedTuple):
    """What a model makes of the next token: all ids, the best first, and their scores (V,)."""

    order: np.ndarray
    scores: np.ndarray


class State(NamedTuple):
    """What is known after T tokens: the tokens, their keys and values (L, H, T, D), the scores."""

    path: tuple[int, ...]
    keys: np.ndarray
    values: np.ndarray
    scored: Scored


class StepByStep:
    """A GPT2 that reads one token at a time, with the same results up to rounding.

    What it has computed for a text it keeps by the text, so that a text which differs from an
    earlier one in its last word costs its last word.

    Raises:
        TypeError: when the model is no GPT2, or one of its layers is of another kind.
    """

    def __init__(self, model: GPT2) -> None:
        if not isinstance(model, GPT2):
            raise TypeError(f"model must be a GPT2; got {type(model).__name__}")
        self._config = model.config
        self._tokens = _array(model.tokens.weight)
        self._positions = _array(model.positions.weight)
        self._blocks = [_block(block) for block in model.blocks]
        self._norm = _layer(model.norm, LayerNorm)
        self._kept: dict[tuple[int, ...], tuple[np.ndarray, ...]] = {}

    def read(self, ids: Sequence[int]) -> State:
        """The state after these tokens, one at least."""
        shape = (len(self._blocks), self._config.num_heads, len(ids), -1)
        keys, values = np.zeros((2, len(self._blocks), len(ids), self._config.width), np.float32)
        keys, values = keys.reshape(shape), values.reshape(shape)
        logits = [self._step(token, place, keys, values) for place, token in enumerate(ids)]
        return State(tuple(ids), keys, values, _scored(logits[-1]))

    def write(
        self, state: State, count: int, choose: Callable[[int, Scored], int]
    ) -> tuple[int, ...]:
        """`count` tokens more; `choose` is given the step and the scores, and returns the token."""
        path, scored, start = state.path, state.scored, len(state.path)
        room = ((0, 0), (0, 0), (0, count), (0, 0))
        keys, values = np.pad(state.keys, room), np.pad(state.values, room)
        for step in range(count):
            path = (*path, choose(step, scored))
            if step < count - 1:  # nothing comes behind the last one
                scored = self._next(path, keys, values)
        return path[start:]

    def _next(self, path: tuple[int, ...], keys: np.ndarray, values: np.ndarray) -> Scored:
        """Put the keys and values of the path's last token in their place; score the next one."""
        place = len(path) - 1
        if path not in self._kept:
            scored = _scored(self._step(path[-1], place, keys, values))
            if len(self._kept) == MOST_KEPT:
                self._kept.clear()
            self._kept[path] = (keys[:, :, place].copy(), values[:, :, place].copy(), *scored)
        keys[:, :, place], values[:, :, place], *scored = self._kept[path]
        return Scored(*scored)

    def _step(self, token: int, place: int, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Read one token, fill in its keys and values, and score the next one."""
        heads, eps = self._config.num_heads, self._config.eps
        h = self._tokens[token] + self._positions[place]  # (C,)
        for block, k, v in zip(self._blocks, keys, values, strict=True):
            projected = _affine(block.query_key_value, _norm(block.attention_norm, h, eps))
            q, k[:, place], v[:, place] = projected.reshape(3, heads, -1)  # (H, D) each
            scores = k[:, : place + 1] @ q[:, :, None] / q.shape[1] ** 0.5  # (H, T, 1)
            weights = np.exp(scores - scores.max(1, keepdims=True))
            weights /= weights.sum(1, keepdims=True)
            mixed = weights.transpose(0, 2, 1) @ v[:, : place + 1]  # (H, 1, D)
            h = h + _affine(block.output, mixed.reshape(-1))
            x = _affine(block.expand, _norm(block.feedforward_norm, h, eps))  # (F,)
            x *= 0.5 * (1 + np.tanh(GELU_TANH * (x + 0.044715 * (x * x * x))))
            h = h + _affine(block.contract, x)
        return self._tokens @ _norm(self._norm, h, eps)


def _scored(logits: np.ndarray) -> Scored:
    order = (-logits).argsort(kind="stable")
    return Scored(order, logits[order])


def _norm(layer: Layer, h: np.ndarray, eps: float) -> np.ndarray:
    scale, shift = layer
    centred = h - h.sum() / len(h)
    return centred * (scale / np.sqrt(centred @ centred / len(h) + eps)) + shift


def _affine(layer: Layer, x: np.ndarray) -> np.ndarray:
    matrix, bias = layer
    return matrix @ x + bias


def _block(block: Any) -> Block:
    attention, feedforward = block.attention, block.feedforward
    for part, kind in ((attention, MultiHeadAttention), (feedforward, FeedForward)):
        if not isinstance(part, kind):
            raise TypeError(f"model must have blocks of {kind.__name__}; got {type(part).__name__}")
    projections = [_layer(each) for each in (attention.query, attention.key, attention.value)]
    matrices, biases = zip(*projections, strict=True)
    return Block(
        attention_norm=_layer(block.attention_norm, LayerNorm),
        query_key_value=(np.concatenate(matrices), np.concatenate(biases)),
        output=_layer(attention.output),
        feedforward_norm=_layer(block.feedforward_norm, LayerNorm),
        expand=_layer(feedforward.expand),
        contract=_layer(feedforward.contract),
    )


def _layer(layer: Any, kind: type[nn.Module] = nn.Linear) -> Layer:
    if not isinstance(layer, kind):
        raise TypeError(f"model must have a {kind.__name__} here; got {type(layer).__name__}")
    return _array(layer.weight), _array(layer.bias)


def _array(weights: Any) -> np.ndarray:
    """A copy: a model that is trained on must not change what is drawn from it."""
    return weights.detach().float().cpu().numpy().copy()
