"""Lecture 05's story GPT: what it keeps, and what a word costs, is what the model's layers say."""

import pytest
import torch
from torch import nn

from course_utils.models.story_gpt import load_story_gpt, story_tokens
from lectures.l05_causal_mask.explorers.story_cache import StoryCache
from tests.explorers.support_browser import InBrowser

WRITTEN = [label for label, each in StoryCache.presets.items() if each.get("text")]


@pytest.fixture(scope="module")
def browser():
    with InBrowser(StoryCache()) as found:
        yield found


@torch.no_grad()
def counted(ids, caches):
    """The multiplications of a pass: in the linear layers, and of attention where it is causal."""
    gpt, total = load_story_gpt(), 0
    before = caches[0].length if caches else 0

    def add(layer, inputs, _):
        nonlocal total
        total += layer.weight.numel() * inputs[0].shape[1]

    hooks = [
        layer.register_forward_hook(add)
        for layer in gpt.blocks.modules()
        if isinstance(layer, nn.Linear)
    ]
    gpt(ids, caches=caches)
    for hook in hooks:
        hook.remove()
    T = ids.shape[1]
    pairs = sum(range(before + 1, before + T + 1))  # of a query and a key
    sizes = gpt.config
    scored = sizes.vocab_size * sizes.width  # of the last word alone
    return total + sizes.num_layers * 2 * pairs * sizes.width + scored


def test_it_opens_on_what_is_kept(browser):
    state = browser.compute()
    assert StoryCache().values["look"] == state.look == "cache"
    assert "with the cache" in StoryCache().in_words


@pytest.mark.parametrize("label", WRITTEN)
def test_costs_are_those_of_the_layers(browser, label):
    values = StoryCache.presets[label]
    state = browser.compute(**values)
    ids = torch.tensor([story_tokens().encode(f"\n{values['text']}")])
    caches = load_story_gpt().new_caches()
    load_story_gpt()(ids[:, :-1], caches=caches)
    assert state.costs["cached"] == pytest.approx(counted(ids[:, -1:], caches) / 1e6)
    assert state.costs["anew"] == pytest.approx(counted(ids, None) / 1e6)
    assert state.costs["kept"] == sum(each.keys.numel() + each.values.numel() for each in caches)


def test_presets_of_the_cache_leave_the_story(browser):
    states = browser.states(StoryCache.presets.values())
    found = [(state.cached, state.at) for state in states]
    assert found == [(True, 40), (False, 40), (True, 4), (True, 20), (True, 0)]
    assert not any(
        {"text", "at"} & {*StoryCache.presets[label]} for label in ("with the cache", "without")
    )
