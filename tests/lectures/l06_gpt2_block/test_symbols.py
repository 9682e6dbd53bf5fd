"""The symbol table: every row against the model, and any disagreement an error that names it."""

import copy

import pytest
import torch
from torch import nn

from lectures.l06_gpt2_block.experiments.symbols import symbol_table
from tests.core.support_gpt2 import C, D, F, H, P, V, ours, some_ids
from tests.support_errors import raises_saying
from tests.support_flops import counted_flops

B, T = 2, 7


@pytest.fixture(scope="module")
def model():
    return ours(feedforward_width=F)


@pytest.fixture(scope="module")
def table(model):
    return symbol_table(model, some_ids(B, T))


def of_block(table, number=1):
    return {row.symbol: row for row in table.rows if row.part == f"block {number}"}


def test_shapes_are_those_of_the_sizes(table):
    sizes = {"B": B, "T": T, "S": T, "H": H, "D": D, "C": C, "F": F, "P": P, "V": V}
    assert table.sizes == sizes
    for row in table.rows:
        letters = row.shape_formula.strip("(),").split(", ")
        assert row.shape == row.shape_by_formula == tuple(sizes[letter] for letter in letters)
    assert len({*sizes.values()} - {T}) == len(sizes) - 2, "sizes that repeat could hide a mistake"


def test_shapes_are_those_of_the_trace(table, model):
    rows, (states, heads) = of_block(table), model.trace(some_ids(B, T))
    assert rows["A"].shape == heads[0].weights.shape
    assert rows["q"].shape == heads[0].queries.shape
    assert rows["k"].shape == heads[0].keys.shape
    assert rows["h_1"].shape == states[1].shape


def test_learned_rows_are_the_parameters(table, model):
    learned = [row.parameters for row in of_block(table).values() if row.learned]
    assert sorted(learned) == sorted(p.numel() for p in model.blocks[0].parameters())
    assert len(learned) == 16
    assert all(row.learned == bool(row.parameters) for row in table.rows)


def test_totals_are_the_models(table, model):
    assert table.flops == counted_flops(model, some_ids(B, T))
    assert table.parameters == model.config.parameters
    assert table.parameters == sum(p.numel() for p in model.parameters())


def test_the_work_of_a_block_by_hand(table):
    counted = {row.symbol: row.flops for row in of_block(table).values() if row.flops}
    tokens = 2 * B * T
    assert counted == {
        **dict.fromkeys("qkvm", tokens * C * C),
        **dict.fromkeys("Ao", tokens * T * C),
        **dict.fromkeys("fy", tokens * C * F),
    }


def test_the_model_is_left_as_it_was(model):
    before = model(some_ids(B, T))
    symbol_table(model, some_ids(B, T))
    assert torch.equal(model(some_ids(B, T)), before)
    assert all(not part._forward_hooks and not part._forward_pre_hooks for part in model.modules())
    with pytest.raises(ValueError, match="at most max_positions"):
        symbol_table(model, some_ids(1, P + 1))
    assert all(not part._forward_hooks and not part._forward_pre_hooks for part in model.modules())


# What disagrees is named, with what the formula says and what came.


def narrower_keys(model):
    model.blocks[0].attention.key = nn.Linear(C, D)


def one_more_parameter(model):
    model.blocks[0].gate = nn.Parameter(torch.zeros(3, 5))


class Twice(nn.Linear):
    """Does the work of a projection twice."""

    def forward(self, x):
        return (super().forward(x) + super().forward(x)) / 2


def more_work(model):
    model.blocks[1].attention.value = Twice(C, C)


class OneHead(nn.Linear):
    """Looks like a layer of the full size, and reads the first head alone."""

    def forward(self, x):
        return nn.functional.linear(x[..., :D], self.weight[:, :D], self.bias)


def less_work(model):
    model.blocks[0].attention.output = OneHead(C, C)


@pytest.mark.parametrize(
    ("change", "symbol", "message"),
    [
        (narrower_keys, "W_k of block 1", "shape (C, C) = (15, 15), got (5, 15)"),
        (one_more_parameter, "blocks.0.gate", "a symbol, and parameters by formula = 0, got 15"),
        (more_work, "blocks.1", "a number of matrix products = 8, got 9"),
        (less_work, "m of block 1", "FLOPs 2 B T C C = 6300, got 2100"),
    ],
)
def test_a_disagreement_is_named(change, symbol, message):
    model = copy.deepcopy(ours())
    change(model)
    with raises_saying(ValueError, f"{symbol} must have {message}"):
        symbol_table(model, some_ids(B, T))
