"""Depth: the stack is the one it says it is, gradients as by hand, and a training with warm-up."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from course_utils.masks import causal_mask
from course_utils.training import train
from course_utils.two_heads_task import LENGTH, TOKENS, copy_batch, copy_loss
from lectures.l06b_learning.experiments.norms import (
    WIDTH,
    DeepCopier,
    gradient_norms,
    train_with_warmup,
)
from tests.core.support_layers import torch_encoder_layer

PLACES = (True, False)


def batch(size=5, seed=3):
    return copy_batch(torch.Generator().manual_seed(seed), batch=size)


@pytest.mark.parametrize("norm_first", PLACES)
def test_it_stacks_torchs_own_layers(norm_first):
    model, (token_ids, _) = DeepCopier(3, norm_first=norm_first), batch()
    x = model.tokens(token_ids) + model.positions
    for block in model.blocks:
        layer = torch_encoder_layer(block, dropout=0.0, activation="relu", norm_first=norm_first)
        x = layer(x, src_mask=~causal_mask(LENGTH))
    if norm_first:
        x = nn.functional.layer_norm(x, (WIDTH,))
    expected = model.readout(x)[:, 3:].unflatten(-1, (2, TOKENS))
    found, heads = model(token_ids)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)  # float32, three blocks
    assert [tuple(of_block.weights.shape) for of_block in heads] == [(5, 4, 16, 16)] * 3


def test_xaviers_variance():
    torch.manual_seed(0)
    blocks = DeepCopier(4, norm_first=True, xavier=True).blocks
    # Of a uniform distribution; at least 4 matrices of 1024 numbers: off by 1.4 %, or so.
    of_layer = {}
    for name, weight in blocks.named_parameters():
        if weight.dim() == 2:
            scaled = weight.flatten() * (sum(weight.shape) / 2) ** 0.5
            of_layer.setdefault(name.partition(".")[2], []).append(scaled)
    for weights in of_layer.values():
        assert torch.cat(weights).var().item() == pytest.approx(1, abs=0.07)
    assert all(bool((p == 0).all()) for n, p in blocks.named_parameters() if n.endswith("bias"))
    plain = torch.cat([b.attention.query.weight for b in DeepCopier(4, norm_first=True).blocks])
    assert plain.var().item() * 3 * WIDTH == pytest.approx(1, abs=0.07)


def gradients_by_hand(depth, norm_first, seed, one_token):
    """Finite differences would say the same; here autograd does, for each matrix alone."""
    torch.manual_seed(seed)
    model = DeepCopier(depth, norm_first=norm_first, xavier=True)
    token_ids, answers = copy_batch(
        torch.Generator().manual_seed(seed), batch=1 if one_token else 32
    )
    logits, _ = model(token_ids)
    if one_token:
        loss = cross_entropy(logits[0, -1], answers[0, -1])
    else:
        loss = copy_loss(model, token_ids, answers)
    rows = []
    for block in model.blocks:
        sublayers = (block.attention, block.feedforward)
        weights = [
            part.weight
            for layer in sublayers
            for part in layer.modules()
            if isinstance(part, nn.Linear)
        ]
        assert len(weights) == 6
        found = torch.autograd.grad(loss, weights, retain_graph=True)
        rows.append(sum(part.square().sum() for part in found).sqrt())
    return torch.stack(rows)


@pytest.mark.parametrize("one_token", [True, False])
@pytest.mark.parametrize("norm_first", PLACES)
def test_norms_of_each_block(norm_first, one_token):
    found = gradient_norms([2, 3], norm_first=norm_first, seeds=(5, 7), one_token=one_token)
    for depth in (2, 3):
        expected = [gradients_by_hand(depth, norm_first, seed, one_token) for seed in (5, 7)]
        torch.testing.assert_close(found[depth], torch.stack(expected))


def test_pre_lns_last_gradient_falls_with_depth():
    """Theorem 1 of Xiong et al.: by sqrt(24 / 2) = 3.5 at most for pre-LN, not at all for post-LN.

    A stream that begins with the embeddings falls by less: measured over ten seeds, pre-LN by a
    factor of 2.4 and post-LN by 0.9, with a deviation of 0.2 in each mean of four.
    """
    falls = {}
    for norm_first in PLACES:
        norms = gradient_norms([2, 24], norm_first=norm_first, seeds=range(4), one_token=True)
        last = [norms[depth][:, -1].mean().item() for depth in (2, 24)]
        falls[norm_first] = last[0] / last[1]
    assert 1.7 < falls[True] < 3.5
    assert 0.6 < falls[False] < 1.3


def test_each_training_is_the_one_it_says():
    done = train_with_warmup([0, 3], num_layers=1, seeds=[0, 2], steps=4, learning_rate=0.02)
    assert list(done) == [("pre-LN", 0), ("pre-LN", 3), ("post-LN", 0), ("post-LN", 3)]
    for (name, warmup), found in done.items():
        same = train(
            lambda first=name == "pre-LN": DeepCopier(1, norm_first=first),
            lambda generator: copy_batch(generator, batch=16),
            copy_loss,
            seeds=[0, 2],
            steps=4,
            learning_rate=0.02,
            warmup=warmup,
        )
        assert torch.equal(found.losses, same.losses)
    assert not torch.equal(done["pre-LN", 0].losses, done["pre-LN", 3].losses)
