"""What lecture 06's explorers read with: the model in numpy, what sampling keeps, token names."""

import numpy as np
import pytest
import torch

from course_utils.lectures.l06_gpt2_block.explorers import reading as reading_06
from course_utils.lectures.l06_gpt2_block.explorers.next_token import cut
from course_utils.lectures.l06_gpt2_block.explorers.reading import (
    StepByStep,
    read_prompt,
    token_name,
)
from course_utils.models.generation import generate
from course_utils.models.gpt2 import GPT2, GPT2Config
from course_utils.sampling import next_token_probabilities
from tests.lectures.l06_gpt2_block.support_viz_06 import TOKENIZER, random_model, scores_of

IDS = (5, 271, 7, 256, 11, 13, 262)


@pytest.fixture(scope="module")
def model():
    return random_model()


# The model, token by token


def in_order_of_ids(scored):
    by_id = np.empty_like(scored.scores)
    by_id[scored.order] = scored.scores
    return by_id


def test_steps_in_numpy_score_as_the_model_does(model):
    reader = StepByStep(model)
    for count in range(1, len(IDS) + 1):
        state = reader.read(IDS[:count])
        assert (np.diff(state.scored.scores) <= 0).all() and state.path == IDS[:count]
        # Scores of about 3 from three blocks in float32.
        expected = scores_of(model, IDS[:count])
        np.testing.assert_allclose(in_order_of_ids(state.scored), expected, atol=2e-5)


@pytest.mark.parametrize(
    "part",
    ["positions.weight", "norm.bias", *(f"blocks.1.{each}" for each in (
        "attention_norm.weight", "attention.query.bias", "attention.key.weight",
        "attention.value.bias", "attention.output.weight", "feedforward_norm.bias",
        "feedforward.expand.weight", "feedforward.contract.bias"))],
)  # fmt: skip
def test_a_part_that_is_left_out_would_be_noticed(model, part):
    without = StepByStep(model)
    parameter = dict(model.named_parameters())[part]
    kept = parameter.detach().clone()
    try:
        parameter.data.zero_()
        changed = StepByStep(model).read(IDS).scored
    finally:
        parameter.data.copy_(kept)
    difference = in_order_of_ids(changed) - in_order_of_ids(without.read(IDS).scored)
    assert np.abs(difference).max() > 0.01


def test_what_is_written_greedily_is_what_generate_writes(model):
    reader = StepByStep(model)
    written = reader.write(reader.read(IDS), 13, lambda step, scored: int(scored.order[0]))
    expected = generate(model, torch.tensor([IDS]), 13, temperature=0)[0, len(IDS) :]
    assert list(written) == expected.tolist()


def test_a_text_that_was_written_before_costs_no_step(model, monkeypatch):
    reader, steps = StepByStep(model), []
    step = reader._step
    monkeypatch.setattr(reader, "_step", lambda *a: steps.append(a[1]) or step(*a))
    state = reader.read(IDS)
    rank = [0] * 9

    def choose(at, scored):
        return int(scored.order[rank[at]])

    first = reader.write(state, 9, choose)
    assert steps == list(range(7 + 8))  # the last token written is not read
    assert reader.write(state, 9, choose) == first and len(steps) == 15
    rank[6] = 1
    second = reader.write(state, 9, choose)
    assert first[:6] == second[:6] and first[6] != second[6]
    assert steps[15:] == [13, 14], "only what comes behind the change is read"
    monkeypatch.setattr(reading_06, "MOST_KEPT", len(reader._kept))
    rank[0] = 1
    other = reader.write(state, 9, choose)
    assert len(reader._kept) == 8 and other == StepByStep(model).write(state, 9, choose)


def test_a_model_that_is_trained_on_does_not_move_the_picture(model):
    reader = StepByStep(model)
    before = reader.read(IDS).scored.scores.copy()
    bias = model.norm.bias
    try:
        bias.data.add_(1)
        assert (reader.read(IDS).scored.scores == before).all()
    finally:
        bias.data.sub_(1)


# From scores to what is kept


@pytest.mark.parametrize("temperature", [0, 0.1, 1, 2])
@pytest.mark.parametrize("k", [1, 7, 277, 1000])
@pytest.mark.parametrize("p", [0.05, 0.5, 0.95, 1.0])
def test_what_is_kept_is_what_the_library_keeps(temperature, k, p):
    random = torch.Generator().manual_seed(3)
    logits = (4 * torch.randn(277, generator=random)).round(decimals=1)  # some of them equal
    expected = next_token_probabilities(logits.double(), temperature=temperature, k=k, p=p)
    order = (-logits).argsort(stable=True).numpy()
    warm, kept = cut(logits.numpy()[order], temperature, k, p)
    assert kept == int((expected > 0).sum())
    found = np.where(np.arange(277) < kept, warm, 0) / warm[:kept].sum()
    np.testing.assert_allclose(found, expected.numpy()[order], atol=1e-12)


def test_layers_of_another_kind_are_refused_by_name(model):
    with pytest.raises(TypeError, match="model must be a GPT2; got Linear"):
        StepByStep(torch.nn.Linear(3, 3))
    other = GPT2(GPT2Config(31, 7, 6, 1, 3))
    other.blocks[0].attention.query = torch.nn.Identity()
    with pytest.raises(TypeError, match="model must have a Linear here; got Identity"):
        StepByStep(other)
    other.blocks[0].attention = torch.nn.Identity()
    with pytest.raises(TypeError, match="blocks of MultiHeadAttention; got Identity"):
        StepByStep(other)


# Prompts and names


@pytest.mark.parametrize(
    ("token", "name"),
    [(b" the", "␣the"), (b"\n\n", "↵↵"), (b"\t", "⇥"), ("é".encode(), "é"), (b"\xc3", "\\xc3"),
     (b"\x00", "\\x00"), (b"$x_1$", "$x_1$")],
)  # fmt: skip
def test_every_token_has_a_name_that_can_be_read(token, name):
    assert token_name(token) == name


def test_quotes_around_a_text_are_the_only_curly_ones():
    assert reading_06.readable("a “b” 'c'") == "a \"b\" 'c'"


def test_every_token_of_the_vocabulary_has_a_printable_name():
    names = [token_name(token) for token in TOKENIZER.tokens]
    assert all(name.isprintable() and name.strip() for name in names)


def test_a_prompt_keeps_its_end():
    ids = TOKENIZER.encode("the cat sat on the mat")
    read = read_prompt("the cat sat on the mat", TOKENIZER, 5)
    assert read.ids == tuple(ids[-5:]) and read.count == len(ids)
    assert read_prompt("cat", TOKENIZER, 99).note == ""
    assert read_prompt("", TOKENIZER, 5).ids == (10,)
