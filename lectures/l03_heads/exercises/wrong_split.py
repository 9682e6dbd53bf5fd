"""Exercise 2: which of five layers splits its heads wrongly?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from course_utils.attention import attend
from course_utils.teaching.exercise import Exercise
from course_utils.teaching.rows import wave

T, C = 12, 24
LOUD = 50.0  # the outputs of one honest layer are so many times larger, and so is their rounding
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
) -> Layer:
    """A layer of heads without a mask and without positions, (T, C) → (T, C)."""
    random = torch.Generator().manual_seed(seed)
    matrices = torch.randn(4, C, C, generator=random) / C**0.5

    def layer(x: torch.Tensor) -> torch.Tensor:
        q, k, v = (split(x @ matrix, heads) for matrix in matrices[:3])
        return size * merge(attend(2 * q, k, v)[0]) @ matrices[3]

    return layer


WRONG: dict[str, dict[str, Any]] = {
    "split": {"split": _view},
    "merge": {"merge": _view_back},
    "split and merge": {"split": _view, "merge": _view_back},
}


def split_suspects(kind: str = "split", names: str = "ABCDE") -> dict[str, Layer]:
    """Five layers by name, of which the third one named splits or merges wrongly."""
    layers = (
        _layer(1, 1),
        _layer(3, 2, size=LOUD),
        _layer(4, 3, **WRONG[kind]),
        _layer(6, 4),
        _layer(2, 5),
    )
    return dict(sorted(zip(names, layers, strict=True)))


def some_tokens() -> torch.Tensor:
    """Twelve tokens (T, C) for the suspects."""
    return wave(T, C, phase=0.6)


def _most_changed(
    layers: Mapping[str, Layer], x: torch.Tensor, shuffle: list[int], *, shuffled_back: bool = True
) -> str:
    """Name the layer whose outputs differ most after a shuffle of the tokens."""
    order = torch.tensor(shuffle)
    change = {}
    for name, layer in layers.items():
        before = layer(x)[order] if shuffled_back else layer(x)
        change[name] = (layer(x[order]) - before).abs().max().item()
    return max(change, key=lambda name: change[name])


SHUFFLED = [7, 2, 10, 0, 5, 11, 3, 8, 1, 9, 4, 6]


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    layers, x = inputs["layers"], inputs["x"]
    order = torch.tensor(SHUFFLED)
    facts: dict[str, Any] = {"named": str(got)}
    if layer := layers.get(got) if isinstance(got, str) else None:
        facts["change"] = float((layer(x[order]) - layer(x)[order]).abs().max())
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
            ("split", "DBAEC"),
            ("split and merge", "CEBAD"),
            ("merge", "BADCE"),
        )
    ),
    parts=("name",),
    facts=_facts,
    praise="Shuffle the tokens, and an honest layer shuffles its outputs. That test needs no "
    "second implementation.",
)


@WRONG_SPLIT.mistake()
def outputs_not_shuffled(layers, x):
    """You named {named}, which is honest. After a shuffle its outputs come in the new order too, so
    compare `layer(x[order])` with `layer(x)[order]`, not with `layer(x)`: the difference is then
    {change}, which is rounding."""
    return _most_changed(layers, x, SHUFFLED, shuffled_back=False)


@WRONG_SPLIT.mistake()
def a_shuffle_that_moves_whole_stretches(layers, x):
    """In one list you named {named}, which is honest: it changes by {change}, which is rounding.
    Your shuffle keeps neighbours together, as a reversal or a swap of two neighbours does. A layer
    that splits *and* merges wrongly attends within stretches of the text, and moving tokens within
    a stretch, or whole stretches, does not show it. Shuffle thoroughly:
    `torch.randperm(len(x))`."""
    return _most_changed(layers, x, list(range(T - 1, -1, -1)))
