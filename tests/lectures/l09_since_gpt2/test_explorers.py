"""Lecture 09's explorers: what is drawn is what the configurations say."""

import numpy as np
import pytest

from course_utils.measure.costs import kv_cache_bytes
from lectures.l09_since_gpt2.experiments.model_costs import parameters, stack_of
from lectures.l09_since_gpt2.experiments.published_models import MODELS
from lectures.l09_since_gpt2.explorers.two_models import LENGTHS, TwoModels
from tests.explorers.support_browser import InBrowser


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
