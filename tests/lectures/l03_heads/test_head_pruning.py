"""Silencing a head: against an encoder whose W_O has zeros, and what it does to MiniLM."""

import copy

import pytest
import torch

from course_utils.models.encoder import Encoder, EncoderConfig
from course_utils.models.minilm_or_random import read_text, reading_encoder
from lectures.l03_heads.experiments.head_pruning import (
    last_states_without_each_head,
    measure_pruning,
)
from lectures.l03_heads.experiments.head_roles import REFERENTS

LAYERS, H, D, T = 2, 3, 5, 7


@pytest.fixture(scope="module")
def encoder():
    torch.manual_seed(3)
    config = EncoderConfig(
        vocab_size=11, width=H * D, num_layers=LAYERS, num_heads=H, feedforward_width=17,
        max_positions=13,
    )  # fmt: skip
    return Encoder(config).double().requires_grad_(False)


@pytest.fixture(scope="module")
def embedded(encoder):
    return encoder.embeddings(torch.arange(T)[None])[0]


def without_columns(encoder, layer, columns):
    """The same encoder with zeros in columns of W_O: those read what one head says."""
    pruned = copy.deepcopy(encoder)
    pruned.layers[layer].attention.output.weight[:, columns] = 0
    return pruned


def test_silence_is_zero_columns_of_w_o(encoder, embedded):
    found = last_states_without_each_head(encoder, embedded)
    assert found.shape == (LAYERS, H, T, H * D)
    ids = torch.arange(T)[None]
    for layer in range(LAYERS):
        for head in range(H):
            columns = slice(head * D, (head + 1) * D)
            expected = without_columns(encoder, layer, columns)(ids).hidden_states[-1][0]
            torch.testing.assert_close(found[layer, head], expected)


def test_columns_across_heads_differ(encoder, embedded):
    found = last_states_without_each_head(encoder, embedded)
    across = without_columns(encoder, 0, slice(0, None, H))  # one number of three, of every head
    wrong = across(torch.arange(T)[None]).hidden_states[-1][0]
    assert not any(torch.allclose(found[0, head], wrong, atol=1e-3) for head in range(H))


def test_encoder_is_left_as_it_was(encoder, embedded):
    before = encoder(torch.arange(T)[None]).hidden_states[-1]
    last_states_without_each_head(encoder, embedded)
    assert torch.equal(encoder(torch.arange(T)[None]).hidden_states[-1], before)
    assert all(not module._forward_pre_hooks for module in encoder.modules())


def test_change_is_one_minus_the_cosine():
    text = "The cat sat."
    measured, reading = measure_pruning(text), read_text(text)
    without = last_states_without_each_head(reading_encoder(), reading.hidden_states[0]).double()
    intact = reading.hidden_states[-1].double()
    per_token = 1 - torch.cosine_similarity(without, intact.expand_as(without), dim=-1)
    # The vectors come in float32; the difference of two unit vectors keeps that precision.
    torch.testing.assert_close(measured.per_token.double(), per_token, atol=1e-6, rtol=1e-3)
    assert measured.tokens == reading.tokens


def at_it(text):
    measured = measure_pruning(text)
    return measured.per_token[..., measured.tokens.index("it")]


def test_the_pronoun_head_ranks_12th_and_lower_in_the_other_sentences():
    changes = [at_it(pair.text) for pair in REFERENTS]
    ranks = [1 + int((moved > moved[3, 1]).sum()) for moved in changes]
    assert ranks[0] == 12, "of 72, as the lecture says"
    assert (min(ranks[1:]), max(ranks[1:])) == (18, 39)


def test_the_largest_change_is_in_the_last_layer():
    moved = at_it(REFERENTS[0].text)
    assert divmod(int(moved.argmax()), 12)[0] == 5, "nothing comes after the last layer"
    assert float(moved.median()) < 0.01 < float(moved.max())
