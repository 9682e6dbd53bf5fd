"""What can be seen of a small GPT from outside: one sheet of measurements, the same for each."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.layers.cache import KVCache
from course_utils.models.story_gpt import SHORT_STORIES, story_batch
from course_utils.training import TEST_SEED
from lectures.l09_since_gpt2.experiments.broken_gpts import EXPERTS, LENGTH, SmallGPT, shifted

SIDE = 24  # words in each direction of a map
LONG, BIN = 2 * LENGTH, 8  # words of the new stories, and how many share a point of a curve
SHIFTS = (1, 2, 4, 8, 16, 32, 64)
DECADES = 4  # of the map of gradients
READERS = ("attention 1", "network", "attention 2", "experts", "output")

Sheet = dict[str, np.ndarray]


def measure_start(model: SmallGPT) -> Sheet:
    """What the untrained model shows."""
    return {
        "reach": _reach(model),
        "entropy_start": _entropy(model),
        "norms_start": _norms(model),
    }


def measure_end(model: SmallGPT) -> Sheet:
    """What the trained model shows."""
    return {
        "one_pass": _one_pass(model),
        "word_by_word": _word_by_word(model),
        "entropy": _entropy(model),
        "norms": _norms(model),
        "load": _load(model),
        "shift": _shift(model),
        "cosines": _cosines(model),
    }


def _new_stories() -> tuple[Tensor, Tensor]:
    """Rows that no training has seen, twice as long as those of training."""
    return story_batch(LONG, 16, SHORT_STORIES)(torch.Generator().manual_seed(TEST_SEED))


def _by_position(model: SmallGPT, scores: Tensor) -> np.ndarray:
    inputs, targets = _new_stories()
    targets = shifted(model, inputs, targets)
    losses = F.cross_entropy(scores.flatten(0, 1), targets.flatten(), reduction="none")
    return losses.view_as(targets).mean(0).view(-1, BIN).mean(1).numpy()


@torch.no_grad()
def _one_pass(model: SmallGPT) -> np.ndarray:
    return _by_position(model, model(_new_stories()[0]))


@torch.no_grad()
def _word_by_word(model: SmallGPT) -> np.ndarray:
    caches = [KVCache() for _ in model.blocks]
    words = _new_stories()[0].split(1, dim=1)
    return _by_position(model, torch.cat([model(word, caches=caches) for word in words], dim=1))


def _reach(model: SmallGPT) -> np.ndarray:
    """Of each output, how much it changes with each input: 255 is the most, 0 is not at all."""
    inputs, seen = _new_stories()[0][:4, :SIDE], []
    hook = model.tokens.register_forward_hook(lambda _, __, out: seen.append(out))
    scores = model(inputs).log_softmax(dim=-1)
    hook.remove()
    rows = []
    for t in range(SIDE):
        (slope,) = torch.autograd.grad(
            scores[:, t].max(dim=-1).values.sum(), seen, retain_graph=True
        )
        rows.append(slope.norm(dim=-1).mean(0))
    slopes = torch.stack(rows)
    height = 1 + (slopes / slopes.max()).log10() / DECADES  # -inf where the gradient is zero
    return torch.where(slopes > 0, (255 * height).clamp(min=1), 0).round().byte().numpy()


@torch.no_grad()
def _entropy(model: SmallGPT) -> np.ndarray:
    """Of each head, the mean entropy of a query's weights, over the second half of the rows."""
    model(_new_stories()[0][:, :LENGTH])
    weights = torch.cat([layer.attention.weights for layer in model.layers], dim=1)
    entropy = torch.special.entr(weights[:, :, LENGTH // 2 :]).sum(-1)
    return entropy.mean(dim=(0, 2)).numpy()


@contextmanager
def _listening(model: SmallGPT) -> Iterator[list[Tensor]]:
    """What each part that reads the stream is given, in order."""
    first, second = model.layers
    readers = (first.attention, first.feedforward, second.attention, second.feedforward, model.head)
    heard: list[Tensor] = []
    hooks = [
        part.register_forward_pre_hook(lambda _, given: heard.append(given[0])) for part in readers
    ]
    try:
        yield heard
    finally:
        for hook in hooks:
            hook.remove()


@torch.no_grad()
def _norms(model: SmallGPT) -> np.ndarray:
    with _listening(model) as heard:
        model(_new_stories()[0][:, :LENGTH])
    return np.array([x.norm(dim=-1).mean().item() for x in heard])


@torch.no_grad()
def _load(model: SmallGPT) -> np.ndarray:
    """The share of the words that each expert computes, the busiest first."""
    model(_new_stories()[0][:, :LENGTH])
    load = model.experts.routing.assigned.double()
    return (load / load.sum()).sort(descending=True).values.numpy()


@torch.no_grad()
def _shift(model: SmallGPT) -> np.ndarray:
    """What share of a head's weight moves when every position is larger by the same number."""
    inputs = _new_stories()[0][:, :LENGTH]

    def weights(start: int) -> Tensor:
        model(inputs, start=start)
        return torch.cat([layer.attention.weights for layer in model.layers], dim=1)

    before = weights(0)
    return np.array([(weights(n) - before).abs().sum(-1).mean().item() / 2 for n in SHIFTS])


@torch.no_grad()
def _cosines(model: SmallGPT) -> np.ndarray:
    """Of the most frequent words, the input vectors (rows) and the rows of the last matrix."""
    often = torch.bincount(_new_stories()[0].flatten()).topk(SIDE).indices
    enters, leaves = (F.normalize(m.weight[often], dim=-1) for m in (model.tokens, model.head))
    return (127 * enters @ leaves.T).round().to(torch.int8).numpy()


MAPS = {"reach": np.uint8, "cosines": np.int8}


def packed(sheet: Sheet) -> dict[str, list[float] | str]:
    """A sheet as JSON takes it: four digits for each number, a byte for each cell of a map."""
    return {
        name: base64.b64encode(values.tobytes()).decode()
        if name in MAPS
        else [float(f"{value:.4g}") for value in values]
        for name, values in sheet.items()
    }


def unpacked(stored: dict[str, list[float] | str]) -> Sheet:
    """The sheet that `packed` was given, up to rounding."""
    return {
        name: np.frombuffer(base64.b64decode(values), MAPS[name]).reshape(SIDE, SIDE)
        if isinstance(values, str)
        else np.array(values)
        for name, values in stored.items()
    }


_BEFORE = np.tri(SIDE, dtype=bool)
MEASURES = {
    "future": lambda sheet: np.mean(sheet["reach"][~_BEFORE] > 0),
    "unseen past": lambda sheet: np.mean(sheet["reach"][_BEFORE] == 0),
    "entropy at step 0": lambda sheet: sheet["entropy_start"].mean(),
    "last loss": lambda sheet: sheet["loss"][-3:].mean(),
    "shift": lambda sheet: sheet["shift"].max(),
    "cache": lambda sheet: np.abs(sheet["word_by_word"] - sheet["one_pass"]).max(),
    "output's input": lambda sheet: sheet["norms_start"][-1],
    "idlest expert": lambda sheet: sheet["load"][EXPERTS - 1],
    "own cosine": lambda sheet: np.diag(sheet["cosines"]).min() / 127,
}


def measures(sheet: Sheet) -> dict[str, float]:
    """The numbers in which a sheet can be told from another."""
    return {name: float(measure(sheet)) for name, measure in MEASURES.items()}
