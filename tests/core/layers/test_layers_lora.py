"""LoRA: nothing changes at the start, merged as unmerged, as peft, and only A and B are learned."""

import copy

import peft
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_utils.layers.lora import LoRALinear, add_lora
from tests.core.support_gpt2 import L, ours, some_ids

IN, OUT, R = 11, 7, 3
# Two float32 orders of the same sums, of size 1.
ALL = ("query", "key", "value", "output", "expand", "contract")


def layer(rank=R, alpha=None, bias=True):
    return LoRALinear(nn.Linear(IN, OUT, bias=bias), rank, alpha=alpha)


def lora_layers(model):
    """Each adapted layer of a model, with its name."""
    return [(name, part) for name, part in model.named_modules() if isinstance(part, LoRALinear)]


def learned(model):
    """The same, as after some training: A and B are anything."""
    for _, each in lora_layers(model):
        nn.init.normal_(each.up)
        nn.init.normal_(each.down)
    return model


class Small(nn.Module):
    """Two layers with names, for peft and for us."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(IN, OUT)
        self.second = nn.Linear(OUT, IN, bias=False)

    def forward(self, x):
        return self.second(self.first(x).tanh())


@pytest.mark.parametrize("rank", [1, 3, 7])
@pytest.mark.parametrize("bias", [True, False])
def test_nothing_changes_at_the_start(rank, bias):
    base = nn.Linear(IN, OUT, bias=bias)
    before, x = copy.deepcopy(base), torch.randn(5, 13, IN)
    adapted = LoRALinear(base, rank, alpha=16)
    assert torch.equal(adapted(x), before(x))
    assert not adapted.change.any() and adapted.down.abs().max() > 0


@pytest.mark.parametrize("names", [("query", "value"), ALL, ("blocks.1.attention.key",)])
def test_nor_does_a_model(names):
    model, ids = ours(), some_ids(2, 7)
    adapted = add_lora(model, R, names=names)
    assert torch.equal(adapted(ids), model(ids))
    assert (learned(adapted)(ids) - model(ids)).abs().max() > 1e-3


def test_initial_down():
    wide = LoRALinear(nn.Linear(1009, 97), 89)
    # Uniform in ± 1 / sqrt(in): a deviation of 1 / sqrt(3 in), here from 89801 numbers.
    assert abs(wide.down.std().item() * (3 * 1009) ** 0.5 - 1) < 0.02
    assert wide.down.abs().max() <= 1009**-0.5


# Merging.


@pytest.mark.parametrize("alpha", [None, 16])
def test_merged_as_unmerged(alpha):
    adapted, x = learned(layer(alpha=alpha)), torch.randn(5, IN)
    expected, weight = adapted(x), adapted.base.weight.clone()
    adapted.merge()
    # An output adds up IN products of W + BA, whose entries reach about 20 with alpha = 16.
    torch.testing.assert_close(adapted(x), expected, rtol=1e-5, atol=1e-5)
    assert torch.equal(adapted(x), F.linear(x, adapted.weight, adapted.bias))
    merged = adapted.base.weight.clone()
    assert adapted.merged and not torch.equal(merged, weight)
    with pytest.raises(ValueError):
        adapted.merge()
    assert torch.equal(adapted.base.weight, merged)
    adapted.unmerge()
    assert not adapted.merged and torch.equal(adapted.base.weight, weight)
    assert torch.equal(adapted(x), expected)


@pytest.mark.parametrize("into_merged", [True, False])
@pytest.mark.parametrize("merged", ["all", "some", "none"])
def test_saved_while_merged(merged, into_merged):
    """What is loaded computes the same as what was saved, whether or not either is merged."""
    adapted, ids = learned(add_lora(ours(), R, alpha=5)), some_ids(2, 7)
    expected = adapted(ids)
    unmerged = copy.deepcopy(adapted.state_dict())
    for number, (_, each) in enumerate(lora_layers(adapted)):
        if merged == "all" or (merged == "some" and number % 2):
            each.merge()
    saved = adapted.state_dict()
    assert saved.keys() == unmerged.keys()
    assert all(torch.equal(weight, unmerged[name]) for name, weight in saved.items())
    fresh = learned(add_lora(ours(seed=7), R, alpha=5))
    for _, each in lora_layers(fresh):
        if into_merged:
            each.merge()
    fresh.load_state_dict(saved)
    torch.testing.assert_close(fresh(ids), expected)
    for _, each in lora_layers(fresh):
        each.merge()
    # Two blocks, each of which adds W x + BA x in another order.
    torch.testing.assert_close(fresh(ids), expected, rtol=1e-4, atol=1e-4)


def test_a_copy_of_a_merged_layer_is_its_own():
    adapted, x = learned(layer()), torch.randn(5, IN)
    before = adapted(x)
    adapted.merge()
    copied = copy.deepcopy(adapted)
    copied.load_state_dict(learned(layer()).state_dict())
    assert adapted.merged and not copied.merged
    adapted.unmerge()
    assert torch.equal(adapted(x), before)


# As peft does it.


@pytest.mark.parametrize(("rank", "alpha"), [(1, 1), (3, 16), (7, None)])
def test_it_is_that_of_peft(rank, alpha):
    model, x = Small(), torch.randn(5, IN)
    config = peft.LoraConfig(r=rank, lora_alpha=alpha or rank, target_modules=["first", "second"])
    theirs = peft.get_peft_model(copy.deepcopy(model), config).eval()
    found = learned(add_lora(model, rank, alpha=alpha, names=["first", "second"]))
    assert torch.equal(theirs(x), model(x))
    with torch.no_grad():
        for name, each in lora_layers(found):
            same = theirs.base_model.model.get_submodule(name)
            same.lora_A["default"].weight.copy_(each.down)
            same.lora_B["default"].weight.copy_(each.up)
    expected = theirs(x)
    torch.testing.assert_close(found(x), expected, rtol=1e-5, atol=1e-5)

    def gradients(of, parts):
        return torch.autograd.grad(of(x).square().sum(), parts)

    here = gradients(
        found, [part for _, each in lora_layers(found) for part in (each.down, each.up)]
    )
    there = gradients(theirs, [part for part in theirs.parameters() if part.requires_grad])
    assert len(here) == len(there) == 4
    for one, two in zip(here, there, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-4)
    for _, each in lora_layers(found):
        each.merge()
    torch.testing.assert_close(found(x), theirs.merge_and_unload()(x), rtol=1e-5, atol=1e-5)


# What learns.


@pytest.mark.parametrize("names", [("query", "value"), ALL])
def test_base_weights_are_frozen(names):
    model, ids = ours(), some_ids(2, 7)
    adapted = add_lora(model, R, names=names)
    F.cross_entropy(adapted(ids).flatten(0, 1), ids.flatten()).backward()
    for name, weight in adapted.named_parameters():
        if name.endswith((".down", ".up")):
            # B is zero at the start, and the gradient of A has it as a factor.
            assert bool(weight.grad.any()) == name.endswith(".up"), name
        else:
            assert weight.grad is None and not weight.requires_grad, name
    assert all(weight.requires_grad for weight in model.parameters())


# The whole model.


def test_adapts_named_layers():
    found = dict(lora_layers(add_lora(ours(), 1)))
    assert sorted(found) == [f"blocks.{i}.attention.{name}" for i in range(L)
                             for name in ("query", "value")]  # fmt: skip
    found = dict(lora_layers(add_lora(ours(), 1, names=["blocks.1.attention.key", "expand"])))
    assert sorted(found) == [
        "blocks.0.feedforward.expand", "blocks.1.attention.key", "blocks.1.feedforward.expand",
    ]  # fmt: skip


def test_the_model_is_left_as_it_was():
    model = ours()
    before = copy.deepcopy(model.state_dict())
    adapted = learned(add_lora(model, R, names=ALL))
    for _, each in lora_layers(adapted):
        each.merge()
    assert all(torch.equal(before[name], weight) for name, weight in model.state_dict().items())
    assert not list(lora_layers(model))
