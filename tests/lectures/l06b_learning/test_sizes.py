"""Models of four sizes: alike in all but the width, on the same bytes."""

from itertools import pairwise

import pytest
import torch

from course_utils.data.course_text import course_prose
from course_utils.models.gpt2 import GPT2
from lectures.l06b_learning.experiments.sizes import (
    WIDTHS,
    course_bytes,
    drawn_for_width,
    final_losses,
    size_config,
    train_sizes,
)


def test_sizes_grow_fourfold_in_the_blocks():
    configs = [size_config(width) for width in WIDTHS]
    blocks = [config.num_layers * config.block_parameters for config in configs]
    assert all(3.5 < big / small < 4 for small, big in pairwise(blocks))
    assert {(config.num_layers, config.head_width) for config in configs} == {(2, 8)}
    assert [config.parameters for config in configs] == [4064, 11200, 34688, 118528]


@pytest.mark.parametrize("width", [8, 64])
def test_weights_suit_the_width(width):
    config = size_config(width)
    torch.manual_seed(3)
    plain = GPT2(config)
    torch.manual_seed(3)
    model = drawn_for_width(config)
    factor = (768 / width) ** 0.5
    for (name, one), two in zip(model.named_parameters(), plain.parameters(), strict=True):
        expected = two * factor if two.dim() == 2 else two
        torch.testing.assert_close(one, expected, msg=name)


def test_the_bytes_are_the_prose():
    learned, held_out = course_bytes()
    whole = bytes(torch.cat((learned, held_out)).tolist())
    assert whole.decode("utf-8") == course_prose()


@pytest.fixture(scope="module")
def trained():
    return train_sizes((8, 24), seeds=(0, 1), steps=24, every=12)


def test_all_widths_learn(trained):
    assert list(trained) == [8, 24]
    for done in trained.values():
        assert done.steps_checked == (12, 24) and done.scores.shape == (2, 2)
        # A guess costs log 256 = 5.5; the shares of the bytes alone are worth 3.1.
        assert done.scores.max() < 5
        assert bool((done.scores[:, 1] < done.scores[:, 0]).all())
    assert trained[24].scores[:, 1].mean() < trained[8].scores[:, 1].mean()


def test_final_losses_count_parameters(trained):
    sizes, losses = final_losses(trained)
    inner, same = final_losses(trained, embeddings=False)
    for width, whole, blocks in zip(trained, sizes, inner, strict=True):
        model = trained[width].models[0]
        assert whole == sum(parameter.numel() for parameter in model.parameters())
        assert whole - blocks == model.tokens.weight.numel() + model.positions.weight.numel()
    assert torch.equal(losses, same)
    for column, done in zip(losses.T, trained.values(), strict=True):
        assert torch.equal(column, done.scores[:, -1])
