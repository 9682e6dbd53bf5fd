"""Exercise 2: which of five layers splits its heads wrongly?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from course_utils.attention import attend
from course_utils.teaching.exercise import Exercise
from course_utils.teaching.rows import wave

T, C = 12, 24
SHUFFLED = [7, 2, 10, 0, 5, 11, 3, 8, 1, 9, 4, 6]
Layer = Callable[[torch.Tensor], torch.Tensor]


def _split(y: torch.Tensor, heads: int) -> torch.Tensor:
    return y.view(len(y), heads, -1).transpose(0, 1)


def _merge(heads: torch.Tensor) -> torch.Tensor:
    return heads.transpose(0, 1).flatten(1)


def _view(y: torch.Tensor, heads: int) -> torch.Tensor:
    return y.reshape(heads, len(y), -1)


def _view_back(heads: torch.Tensor) -> torch.Tensor:
    return heads.reshape(heads.shape[1], -1)


def _layer(
    heads: int,
    seed: int,
    split: Callable[[torch.Tensor, int], torch.Tensor] = _split,
    merge: Callable[[torch.Tensor], torch.Tensor] = _merge,
    size: float = 1.0,
    sharpness: float = 2.0,
) -> Layer:
    """A layer of heads without a mask and without positions, (T, C) → (T, C).

    It adds the keys up in a mixed order, so that no swap of neighbours is free of rounding.
    """
    random = torch.Generator().manual_seed(seed)
    matrices = torch.randn(4, C, C, generator=random) / C**0.5

    def layer(x: torch.Tensor) -> torch.Tensor:
        q, k, v = (split(x @ matrix, heads) for matrix in matrices[:3])
        mixed, _ = attend(sharpness * q, k[:, SHUFFLED], v[:, SHUFFLED])
        return size * merge(mixed) @ matrices[3]

    return layer


WRONG: dict[str, dict[str, Any]] = {
    "split": {"split": _view},
    "merge": {"merge": _view_back},
    "split and merge": {"split": _view, "merge": _view_back},
}


def split_suspects(kind: str = "split", names: str = "ABCDE") -> dict[str, Layer]:
    """Five layers by name, of which the third one named splits or merges wrongly.

    Of the honest ones, the first has the largest outputs, the same for every token; the second has
    those that differ most from token to token. So they show what a wrong comparison compares.
    """
    layers = (
        _layer(1, 1, size=1000, sharpness=0),
        _layer(3, 2, size=10),
        _layer(4, 3, size=0.3, **WRONG[kind]),
        _layer(6, 4),
        _layer(2, 5),
    )
    return dict(sorted(zip(names, layers, strict=True)))


def some_tokens() -> torch.Tensor:
    """Twelve tokens (T, C) for the suspects."""
    return wave(T, C, phase=0.6)


def _largest(layers: Mapping[str, Layer], change: Callable[[Layer], torch.Tensor]) -> str:
    """Name the layer with the largest change."""
    return max(layers, key=lambda name: change(layers[name]).abs().max().item())


def _most_changed(layers: Mapping[str, Layer], x: torch.Tensor, shuffle: list[int]) -> str:
    """Name the layer whose outputs differ most after a shuffle of the tokens."""
    return _largest(layers, lambda layer: layer(x[shuffle]) - layer(x)[shuffle])


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    layers, x = inputs["layers"], inputs["x"]
    facts: dict[str, Any] = {"named": str(got)}
    if layer := layers.get(got) if isinstance(got, str) else None:
        facts["change"] = float((layer(x[SHUFFLED]) - layer(x)[SHUFFLED]).abs().max())
        facts["size"] = float(layer(x).abs().max())
    return facts


WRONG_SPLIT = Exercise(
    title="Which layer splits wrongly?",
    function="find_wrong_split",
    difficulty=2,
    minutes=8,
    reference=lambda layers, x: _most_changed(layers, x, SHUFFLED),
    probes=tuple(
        {"layers": split_suspects(kind, names), "x": some_tokens()}
        for kind, names in (
            ("split", "BDCAE"),
            ("split and merge", "BDEAC"),
            ("merge", "CEBAD"),
        )
    ),
    parts=("name",),
    facts=_facts,
    praise="Shuffle the tokens, and an honest layer shuffles its outputs. That test needs no "
    "second implementation.",
)


@WRONG_SPLIT.mistake()
def different_tokens_compared(layers, x):
    """You named {named}, which is honest: `layer(x[order])` and `layer(x)[order]` differ by
    {change} there, which is rounding. You compare outputs of different tokens. Draw one order for
    both sides; whoever wants to undo the shuffle instead needs `order.argsort()`.
    """
    return _largest(layers, lambda layer: layer(x[SHUFFLED]) - layer(x))


@WRONG_SPLIT.mistake()
def no_shuffled_tokens(layers, x):
    """You named {named}, which is honest and has the largest outputs, up to {size}. Shuffle the
    tokens, which are the rows of x, and nothing else: `x[order]`. (`x[:, order]` shuffles the
    numbers inside each token; `random.shuffle` copies rows of a tensor over others.)
    """
    return _largest(layers, lambda layer: layer(x) - x)


@WRONG_SPLIT.mistake()
def the_first_that_is_not_exactly_equal(layers, x):
    """You named {named}, which is honest: it changes by {change}, which is rounding. Sums in
    another order seldom agree to the last digit, and `torch.equal` and `torch.allclose` are too
    strict here. Take the layer with the largest change.
    """
    order = SHUFFLED
    return next(n for n in layers if not torch.equal(layers[n](x[order]), layers[n](x)[order]))


@WRONG_SPLIT.mistake()
def the_first_above_a_small_limit(layers, x):
    """In one list you named {named}, which is honest: it changes by {change}, which is rounding.
    Its outputs are large, up to {size}, so they are rounded more coarsely than others. Take the
    layer with the largest change, and not the first above a limit.
    """
    change = {
        n: (layer(x[SHUFFLED]) - layer(x)[SHUFFLED]).abs().max() for n, layer in layers.items()
    }
    return next(name for name in layers if change[name] > 2e-5)


@WRONG_SPLIT.mistake()
def a_shuffle_that_moves_whole_stretches(layers, x):
    """In one list you named {named}, which is honest: it changes by {change}, which is rounding.
    Your shuffle keeps neighbours together, as a reversal or a swap of two neighbours does. A layer
    that splits *and* merges wrongly attends within stretches of the text, and moving tokens within
    a stretch, or whole stretches, does not show it. Shuffle thoroughly:
    `torch.randperm(len(x))`."""
    return _most_changed(layers, x, list(range(T - 1, -1, -1)))
