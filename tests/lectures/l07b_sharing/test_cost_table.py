"""The closing table: formulas and measurements agree, and a difference names its cell."""

import pytest
import torch
from torch import nn

from course_utils.layers.mod import MixtureOfDepths
from course_utils.models.gpt2 import GPT2Block, GPT2Config
from lectures.l07b_sharing.experiments import cost_table as module
from lectures.l07b_sharing.experiments.cost_formulas import (
    VARIANTS,
    Sizes,
    formula_costs,
)
from lectures.l07b_sharing.experiments.cost_table import (
    CostMismatchError,
    measured_costs,
    pruning_table,
)

# No size equals another or is a multiple of it, where it need not be.
ODD = Sizes(
    width=42,
    num_heads=6,
    length=11,
    keys_kept=5,
    sparsity=0.37,
    num_experts=7,
    experts_per_token=3,
    num_kv_heads=3,
    rank=4,
    capacity=0.4,
)


@pytest.fixture(scope="module")
def table():
    return pruning_table(ODD)


def test_every_cell_is_measured(table):
    assert list(table.costs) == list(VARIANTS)
    assert table.costs == formula_costs(ODD)


def test_only_what_is_asked_for(table):
    some = pruning_table(ODD, ("MoD", "dense"), timed=True)
    assert some.costs == {name: table.costs[name] for name in ("dense", "MoD")}
    assert list(some.milliseconds) == ["dense", "MoD"]


@pytest.mark.parametrize(
    ("width", "length", "capacity"),
    [(5, 3, 0.3), (12, 9, 0.1), (15, 11, 0.3)],  # means that no binary fraction is
)
def test_small_blocks_too(width, length, capacity):
    """With few units the predictor's are all off for some tokens, which then scored alike."""
    small = Sizes(width, 1, length, 2, 0.4, 3, 2, 1, 2, capacity)
    assert pruning_table(small).costs == formula_costs(small)


def test_a_wrong_formula_is_named(monkeypatch):
    right = formula_costs(ODD)
    wrong = {"GQA": right["GQA"]._replace(cache_bytes=right["GQA"].cache_bytes + 1)}
    monkeypatch.setattr(module, "formula_costs", lambda sizes: wrong)
    with pytest.raises(CostMismatchError, match="cache_bytes of GQA: the formula gives"):
        pruning_table(ODD)


def test_the_numbers_by_hand(table):
    """A dense block at the sizes of GPT-2's first, and what each variant changes."""
    gpt2 = formula_costs(Sizes(width=768, num_heads=12, num_kv_heads=4, length=1024))
    assert gpt2["dense"].parameters == 7_087_872
    assert gpt2["GQA"].cache_bytes * 3 == gpt2["dense"].cache_bytes == 2 * 768 * 1024 * 4
    of = table.costs
    assert of["top-k attention"] == of["dense"]
    assert of["pruned weights"].flops == of["dense"].flops
    assert of["LoRA"].trained == 2 * 2 * 42 * 4
    assert of["MoD"].cache_bytes * 11 == of["dense"].cache_bytes * 5  # 5 of 11 tokens
    assert of["MoE"].active < of["MoE"].parameters
    assert of["MoE"].flops > of["dense"].flops  # three feed-forward networks, not one


def test_half_the_tokens_cost_less():
    of = formula_costs(Sizes(width=64, length=512))
    choosing = 2 * 512 * (64 + 64 * 16 + 16)
    assert of["MoD"].flops - choosing < 0.5 * of["dense"].flops


def test_skipped_but_computed_counts():
    """Mixture of depths as it is often written: everything is computed, and half thrown away."""

    class Wasteful(MixtureOfDepths):
        def forward(self, x, cache=None):
            everything, _ = self.block(x, cache)
            _, kept = super().forward(x)
            return torch.where(kept.mask[..., None], everything, x), kept

    block, x = GPT2Block(GPT2Config(width=42, num_heads=6)), torch.randn(1, 11, 42)
    found, right = measured_costs(Wasteful(block, 0.4, 42), x), formula_costs(ODD)["MoD"]
    assert found.parameters == right.parameters
    assert found.flops > right.flops and found.cache_bytes > right.cache_bytes


def test_a_spare_parameter_is_not_active():
    class WithSpare(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = GPT2Block(GPT2Config(width=6, num_heads=2))
            self.spare = nn.Linear(6, 6)

        def forward(self, x, cache=None):
            return self.block(x, cache)

    found = measured_costs(WithSpare(), torch.randn(1, 5, 6))
    assert found.parameters - found.active == 42


def test_nothing_left_out_is_dense():
    of = pruning_table(Sizes(width=6, num_heads=2, length=5, keys_kept=5, num_experts=1,
                             experts_per_token=1, num_kv_heads=2, rank=1, sparsity=0,
                             capacity=1)).costs  # fmt: skip
    assert of["pruned weights"] == of["dense"] == of["GQA"]
    assert of["MoD"].cache_bytes == of["dense"].cache_bytes
