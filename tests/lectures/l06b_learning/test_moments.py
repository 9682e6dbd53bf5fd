"""The picture of four moments: each has its own weights, and computes with them."""

import numpy as np
import pytest
import torch

from course_utils.models.story_gpt import SHORT_STORIES, story_batch, story_tokens
from course_utils.stories import entropy
from lectures.l06b_learning.experiments.moments import MOMENTS, load_moments
from lectures.l06b_learning.explorers.moments import WHO, Moments
from tests.explorers.support_browser import InBrowser

WORDS = story_tokens()


@pytest.fixture(scope="module")
def picture():
    with InBrowser(Moments()) as found:
        yield found


@pytest.fixture(scope="module")
def models():
    return {name: model.double() for name, model in load_moments().items()}


@torch.no_grad()
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("text", ["", WHO])
def test_the_bars_are_those_of_the_moments_weights(picture, models, moment, text):
    state = picture.compute(moment=moment, text=text)
    ids = torch.tensor([WORDS.encode(f"\n{text}")])
    expected = models[moment](ids)[0, -1].softmax(dim=-1)
    assert np.allclose(state.after, expected[torch.tensor(state.rows)], atol=1e-6)
    assert state.best == int(expected.argmax()) and state.moment == moment


def mixtures(model, rows):
    """What the heads of block 1 hand over."""
    seen = []
    output = model.blocks[1].attention.output
    hook = output.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    model(rows)
    hook.remove()
    return seen[0]


@torch.no_grad()
def test_a_head_that_is_off_gives_the_mean_of_its_own_moment(picture, models):
    off = ["####", "##.#"]
    states = [picture.compute(moment=moment, text=WHO, heads=off) for moment in MOMENTS]
    rows, _ = story_batch(64, 20, SHORT_STORIES)(torch.Generator().manual_seed(0))
    for moment, state in zip(MOMENTS, states, strict=True):
        model = models[moment]
        output = model.blocks[1].attention.output
        mixed = mixtures(model, rows)
        mean = mixed.mean(dim=(0, 1))[32:48]

        def silenced(_, inputs, mean=mean):
            changed = inputs[0].clone()
            changed[..., 32:48] = mean
            return (changed,)

        hook = output.register_forward_pre_hook(silenced)
        expected = model(torch.tensor([WORDS.encode(f"\n{WHO}")]))[0, -1].softmax(dim=-1)
        hook.remove()
        assert np.allclose(state.after, expected[torch.tensor(state.rows)], atol=1e-5)


@torch.no_grad()
def test_it_learns_from_moment_to_moment(models):
    inputs, targets = story_batch(64, 50, SHORT_STORIES)(torch.Generator().manual_seed(3))
    losses = [
        torch.nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()).item()
        for model in models.values()
    ]
    nats, words = entropy(SHORT_STORIES)
    assert losses == sorted(losses, reverse=True) and losses[-1] > nats / (words + 1)
    assert losses[0] == pytest.approx(np.log(180), abs=0.1)


def test_a_model_that_is_no_gpt2_is_said():
    with pytest.raises(ValueError, match="models must compute"):
        Moments({"0": torch.nn.Embedding(180, 180)}).given()
