"""What the core refuses, where torch would mislead or say nothing and give a wrong number."""

import math

import numpy as np
import pytest
import torch

from course_utils import checks
from course_utils.attention import (
    attend,
    effective_tokens,
    masked_softmax,
    softmax_jacobian,
    top_k_attend,
)
from course_utils.language_modeling import next_token_loss, split_text, text_batch
from course_utils.layers import (
    Alibi,
    GroupedQueryAttention,
    KVCache,
    MixtureOfDepths,
    MixtureOfExperts,
    MultiHeadAttention,
    Rotary,
    split_heads,
)
from course_utils.layers.lora import add_lora
from course_utils.layers.mod import kept_tokens
from course_utils.layers.moe_routing import choose_experts
from course_utils.layers.pruning import saliency_mask
from course_utils.masks import padding_mask, prefix_mask, sliding_window_mask
from course_utils.measure.costs import layers_needed, path_length
from course_utils.measure.dependence import gradient_reach, leaks
from course_utils.models import CausalLMConfig
from course_utils.positions import apply_rope, rope_frequencies
from course_utils.sampling import with_temperature, with_top_k, with_top_p
from course_utils.tokens import BytePairs
from course_utils.training import train

T, S = 5, 7
Q, K, V = torch.zeros(T, 3), torch.zeros(S, 3), torch.zeros(S, 2)
IDS = torch.zeros(2, 3, dtype=torch.int64)
X = torch.zeros(2, T, 6)
DEPTHS = MixtureOfDepths(torch.nn.Linear(6, 6), 0.5, 6)


def test_integers_of_numpy():
    assert checks.check_int("layer", np.int64(0), minimum=0, maximum=5) == 0


@pytest.mark.parametrize("shape", [(T, S), (1, S), (T, 1), (S,), (1,), ()])
def test_masks_that_broadcast(shape):
    checks.check_may_attend(torch.ones(shape, dtype=torch.bool), (T, S))


def scores(inputs):
    return torch.zeros(*inputs.shape, 11)


REFUSED = {
    # Attention
    "additive mask": lambda: attend(Q, K, V, may_attend=torch.zeros(T, S)),
    "mask of integers": lambda: attend(Q, K, V, may_attend=torch.ones(T, S).long()),
    "mask that enlarges": lambda: attend(Q, K, V, may_attend=torch.ones(2, T, S) > 0),
    "mask of masked_softmax": lambda: masked_softmax(Q @ K.mT, torch.ones(2, T, S) > 0),
    "bias that enlarges": lambda: attend(Q, K, V, bias=torch.zeros(2, T, S)),
    "bias that hides": lambda: attend(Q, K, V, bias=torch.full((T, S), -math.inf)),
    "bias of float64": lambda: attend(Q, K, V, bias=torch.zeros(T, S).double()),
    "scale": lambda: attend(Q, K, V, scale=math.nan),
    "integers": lambda: attend(Q.long(), K.long(), V.long()),
    "two dtypes": lambda: attend(Q, K.double(), V),
    "two devices": lambda: attend(Q, K.to("meta"), V),
    "one axis": lambda: attend(Q[0], K, V),
    "no key": lambda: attend(Q, K[:0], V[:0]),
    "leading axes": lambda: attend(Q[None], K, V),
    "head width": lambda: attend(Q, K[:, :2], V),
    "values": lambda: attend(Q, K, V[:3]),
    "k_keep": lambda: top_k_attend(Q, K, V, k_keep=S + 1),
    "k_keep of 0": lambda: top_k_attend(Q, K, V, k_keep=0),
    "scores for weights": lambda: effective_tokens(torch.tensor([0.5, 2.0])),
    "negative weights": lambda: effective_tokens(torch.tensor([1.5, -0.5])),
    "zeros for softmax": lambda: softmax_jacobian(torch.zeros(3)),
    # Masks
    "window of 0": lambda: sliding_window_mask(T, 0),
    "prefix": lambda: prefix_mask(T, T + 1),
    "padding": lambda: padding_mask([2, S + 1], S),
    "negative padding": lambda: padding_mask([2, -1], S),
    # Layers
    "heads": lambda: MultiHeadAttention(512, 7),
    "groups": lambda: GroupedQueryAttention(6, 3, 2),
    "no batch": lambda: split_heads(X[0], 3),
    "memory and cache": lambda: MultiHeadAttention(6, 3)(X, memory=X, cache=KVCache()),
    "memory and position": lambda: MultiHeadAttention(6, 3, position=Alibi())(X, memory=X),
    "positions lost": lambda: GroupedQueryAttention.from_multi_head(
        MultiHeadAttention(6, 3, position=Rotary()), 1
    ),
    "no such layer": lambda: add_lora(torch.nn.Sequential(torch.nn.Linear(2, 2)), 1, names=["q"]),
    "capacity in per cent": lambda: kept_tokens(7, 25),
    "gate": lambda: MixtureOfDepths(torch.nn.Linear(6, 6), 0.5, 6, gate="two"),
    "routing": lambda: DEPTHS(X, routing="top-k"),
    "future": lambda: DEPTHS(X[:1], KVCache()),
    "two sequences": lambda: DEPTHS(X, KVCache(), routing="predicted"),
    "too few experts": lambda: choose_experts(torch.full((2, 3), 1 / 3), 4),
    "twelve of eight": lambda: MixtureOfExperts(6, 6, 8, 12),
    "sparsity in per cent": lambda: saliency_mask({"a": torch.zeros(1, 2)}, 90),
    "position scheme": lambda: CausalLMConfig(31, 6, 1, 3, 7, positions="rotary"),
    # Positions
    "pairing": lambda: apply_rope(X, torch.arange(T), pairing="halves"),
    "odd width": lambda: rope_frequencies(5),
    # Language
    "target": lambda: next_token_loss(scores, IDS, IDS - 100),
    "share": lambda: split_text("abc", 90),
    "short text": lambda: text_batch(torch.arange(5), 5, 2),
    "negative id": lambda: BytePairs(()).decode([-1]),
    "temperature": lambda: with_temperature(torch.zeros(3), -1),
    "k": lambda: with_top_k(torch.zeros(3), 0),
    "p in per cent": lambda: with_top_p(torch.zeros(3), 90),
    # Measures
    "geometry": lambda: layers_needed(9, kernel_width=3, geometry="middle"),
    "even centre": lambda: layers_needed(9, kernel_width=4, geometry="centred"),
    "layer": lambda: path_length("convolutional", 9),
    "one seed twice": lambda: train(print, print, print, seeds=(3, 3), steps=1, learning_rate=1),
    "batch of outputs": lambda: gradient_reach(lambda x: x[None], Q),
    "mask of leaks": lambda: leaks(torch.ones(T, S), torch.ones(T, S)),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED.keys())
def test_refused(call):
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    # Ours, not torch's: it says what came.
    assert ", got " in str(caught.value) or "must" in str(caught.value)


def test_the_message_gives_the_rule_and_what_came():
    with pytest.raises(ValueError, match=r"^num_heads \(7\) must divide width \(512\)$"):
        MultiHeadAttention(512, 7)
    with pytest.raises(TypeError, match="additive mask; pass mask == 0"):
        attend(Q, K, V, may_attend=torch.zeros(T, S))
