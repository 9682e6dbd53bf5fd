"""The random encoder that stands in for MiniLM: the same shape, the same refusals, no surprise."""

import pytest
import torch

from course_utils.data.minilm_files import MiniLMNotFoundError, MiniLMRefusedError
from course_utils.models import minilm, minilm_or_random
from course_utils.models.minilm import load_minilm
from course_utils.models.minilm_or_random import (
    minilm_is_here,
    read_text,
    read_with_random_weights,
    reading_encoder,
)
from tests.support_errors import raises_saying

TEXT = "The animal didn't cross the street."


@pytest.fixture
def finding(monkeypatch):
    """Make the search for MiniLM's files end in an error."""

    def fail_with(error):
        def find(path=None):
            raise error

        monkeypatch.setattr(minilm, "find_minilm", find)
        minilm_or_random._minilm.cache_clear()

    yield fail_with
    minilm_or_random._minilm.cache_clear()


def test_real_model_with_files():
    assert minilm_is_here()
    real, ours = load_minilm().read(TEXT), read_text(TEXT)
    assert ours.tokens == real.tokens
    assert torch.equal(ours.attentions[3], real.attentions[3])
    random = read_with_random_weights(TEXT)
    assert not torch.allclose(random.attentions[3], real.attentions[3], atol=0.1)


def test_random_model_without_files(finding):
    finding(MiniLMNotFoundError("nowhere"))
    assert not minilm_is_here()
    assert torch.equal(read_text(TEXT).attentions[3], read_with_random_weights(TEXT).attentions[3])


def test_damaged_file_is_an_error(finding):
    finding(MiniLMRefusedError("damaged"))
    for _ in range(2):
        with raises_saying(MiniLMRefusedError, "damaged"):
            read_text(TEXT)


def test_shapes_of_the_real_one():
    real, random = load_minilm().read(TEXT), read_with_random_weights(TEXT)
    assert random.tokens == real.tokens and random.truncated is real.truncated is False
    for part in ("hidden_states", "attentions", "queries", "keys"):
        shapes = [[tuple(x.shape) for x in getattr(r, part)] for r in (real, random)]
        assert shapes[0] == shapes[1]
    for weights in random.attentions:
        # Each row is a softmax in float32.
        assert torch.allclose(weights.sum(-1), torch.ones_like(weights[..., 0]), atol=1e-5)


def test_same_each_time():
    first = read_with_random_weights(TEXT)
    minilm_or_random._random.cache_clear()
    torch.manual_seed(3)
    expected = torch.rand(5)
    torch.manual_seed(3)
    again = read_with_random_weights(TEXT)
    assert torch.equal(torch.rand(5), expected)
    assert torch.equal(first.hidden_states[-1], again.hidden_states[-1])
    assert not first.hidden_states[-1].requires_grad


@pytest.mark.parametrize("here", [True, False])
def test_a_changed_weight_is_seen_at_once(finding, here):
    """And a new model has none of the change."""
    if not here:
        finding(MiniLMNotFoundError("nowhere"))
    fresh = (lambda: load_minilm().encoder) if here else minilm_or_random.random_encoder
    name = "layers.4.attention.output.weight"
    before, weight = read_text(TEXT), reading_encoder().get_parameter(name)
    first, kept = before.hidden_states[-1].clone(), weight.clone()
    weight.data[:, :32] = 0  # head 0; through .data, so that no version counts it
    try:
        now = read_text(TEXT)
        assert torch.equal(now.hidden_states[4], before.hidden_states[4])
        assert not torch.allclose(now.hidden_states[5], before.hidden_states[5], atol=1e-3)
        assert torch.equal(fresh().get_parameter(name), kept)
    finally:
        weight.copy_(kept)
    now.hidden_states[-1].zero_()  # a reading is nobody else's
    assert torch.equal(read_text(TEXT).hidden_states[-1], first)


@pytest.mark.parametrize("text", ["", " \n", "\x00", "a\ud83d"])
def test_texts_without_a_word(text):
    for read in (read_with_random_weights, load_minilm().read):
        with pytest.raises(ValueError):
            read(text)


def test_a_long_text_is_cut():
    reading = read_with_random_weights("a word " * 23, max_tokens=7)
    assert len(reading.tokens) == len(reading.attentions[0][0]) == 7 and reading.truncated
