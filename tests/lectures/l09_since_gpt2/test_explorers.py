"""Lecture 09's explorers: what is drawn is what the configurations say."""

import re
from functools import cache

import numpy as np
import pytest

from course_utils.measure.costs import kv_cache_bytes
from lectures.l09_since_gpt2.experiments.model_costs import (
    cache_bytes,
    flops_per_token,
    parameters,
    stack_of,
)
from lectures.l09_since_gpt2.experiments.published_models import MODELS
from lectures.l09_since_gpt2.explorers.two_models import LENGTHS, TwoModels
from tests.explorers.support_browser import InBrowser, cases

UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
KEEPS = re.compile(r": (.+) keeps (\S+ .B), (\S+) times what (.+) keeps, (\S+ .B)\.")
BOTH = re.compile(r"both keep (\S+ .B)\.")


@pytest.fixture(scope="module")
def two_models():
    with InBrowser(TwoModels()) as found:
        yield found


@pytest.mark.parametrize("length", [LENGTHS[0], 8192, LENGTHS[-1]])
@pytest.mark.parametrize("texts", [1, 16])
def test_full_layers_keep_what_the_core_counts(two_models, length, texts):
    """The core's formula of lecture 05; a model with windows keeps less."""
    state = two_models.compute(left="Qwen3 32B", right="OLMo 3 32B", length=length, texts=texts)
    for name, kept in zip(state.names, state.kept, strict=True):
        model = MODELS[name]
        full = kv_cache_bytes(model.layers, model.kv_heads, model.head_width, length, batch=texts)
        if set(stack_of(model)) == {"full"}:
            assert kept == full
        else:
            assert (kept < full) == (length > model.window)


def test_each_side_shows_its_own_model(two_models):
    names = list(MODELS)
    for left, right in zip(names, names[1:] + names[:1], strict=True):
        state = two_models.compute(left=left, right=right)
        for side, name in enumerate((left, right)):
            assert state.names[side] == name
            assert list(state.stacks[side]) == list(stack_of(MODELS[name]))
            assert state.weights[side] == 2 * parameters(MODELS[name])
            at = LENGTHS.index(state.length)
            assert state.curves[side][at] == state.kept[side]
            assert np.all(np.diff(state.curves[side]) >= 0)


def test_the_caption_begins_with_the_model_that_keeps_more(two_models):
    for length, first in ((1024, "Gemma 3 27B"), (131_072, "Qwen3 32B")):
        assert f"tokens: {first} keeps" in two_models.compute(length=length).words
    assert "both keep" in two_models.compute(left="Kimi K2", right="Kimi K2").words


def in_bytes(words):
    """`34.4 GB` as a number."""
    size, unit = words.split()
    return float(size) * UNITS[unit]


def sizes_said(words, left, right):
    """What a caption says of the left and the right model, in bytes, and their factor."""
    if same := BOTH.search(words):
        return in_bytes(same[1]), in_bytes(same[1]), 1.0
    first, more, factor, second, less = KEEPS.search(words).groups()
    assert {first, second} == {left, right}
    sizes = (more, less) if first == left else (less, more)
    return *map(in_bytes, sizes), float(factor.replace(",", ""))


@cache  # annotations are checked at each of many calls
def costs(name, length):
    """The bytes that a model keeps of one text, and the FLOPs of its next token."""
    return cache_bytes(MODELS[name], length), flops_per_token(MODELS[name], length)


def faults(found):
    """Where caption and bars are not what each configuration costs, over all cases."""
    tried = cases(found.explorer)
    wrong = []
    for values, state in zip(tried, found.states(tried), strict=True):
        left, right, length, texts = values.values()
        sizes, work = zip(*(costs(name, length) for name in (left, right)), strict=True)
        kept = [texts * size for size in sizes]
        true = (*kept, max(kept) / min(kept))
        # Three digits are said of a size, at least two of a factor.
        isclose = np.isclose(sizes_said(state.words, left, right), true, rtol=(0.005, 0.005, 0.05))
        if not isclose.all() or np.ravel(state.work).tolist() != np.ravel(work).tolist():
            wrong.append(f"{values}: {state.words}")
    return wrong


def test_caption_and_bars_are_what_the_models_cost(two_models):
    assert faults(two_models) == []


def next_length(given):
    return {**given, "kept": np.roll(given["kept"], -1, axis=1)}


def next_model(given):
    return {**given, "kept": np.roll(given["kept"], 1, axis=0)}


def parts_exchanged(given):
    return {**given, "work": given["work"][..., ::-1].copy()}


@pytest.mark.parametrize("plant", [next_length, next_model, parts_exchanged])
def test_a_planted_difference_is_found(plant):
    class Planted(TwoModels):
        view = TwoModels.view_path()

        def given(self, **served):
            return plant(super().given(**served))

    with InBrowser(Planted()) as found:
        assert len(faults(found)) > 100
