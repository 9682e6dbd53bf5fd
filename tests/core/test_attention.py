"""attend() and its kin against PyTorch, against their definitions, and under bad input."""

import pytest
import torch
from torch.nn.functional import cosine_similarity, scaled_dot_product_attention

from course_utils.attention import (
    attend,
    cosine_attend,
    effective_tokens,
    softmax_jacobian,
    top_k_attend,
    unit_vectors,
)
from course_utils.masks import causal_mask
from tests.core.support_properties import given, st

B, H, T, S, D, E = 2, 3, 5, 7, 11, 13
# float64 sums of a dozen terms: a few units in the sixteenth digit.
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def qkv(seed=0, *, leading=(B, H), dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return tuple(
        torch.randn(*leading, *shape, generator=generator, dtype=dtype)
        for shape in ((T, D), (S, D), (S, E))
    )


def some_mask(seed=0):
    """A mask with a row of nothing, a row of one key, and random rows."""
    mask = torch.rand(T, S, generator=torch.Generator().manual_seed(seed)) < 0.6
    mask[1] = False
    mask[2] = torch.arange(S) == 3
    return mask


@pytest.mark.parametrize("leading", [(), (B,), (B, H), (B, H, 17)])
@pytest.mark.parametrize("scale", [None, 0, -1.5])
def test_attend_as_torch(leading, scale):
    q, k, v = qkv(leading=leading)
    out, weights = attend(q, k, v, scale=scale)
    reference = scaled_dot_product_attention(q, k, v, scale=scale)
    assert torch.allclose(out, reference, **CLOSE)
    assert weights.shape == (*leading, T, S)


@pytest.mark.parametrize("mask", [some_mask(), causal_mask(T, S), some_mask()[None, None]])
def test_masked_as_torch(mask):
    q, k, v = qkv()
    reference = scaled_dot_product_attention(q, k, v, attn_mask=mask)
    reference = reference.where(mask.any(-1, keepdim=True), 0.0)
    assert torch.allclose(attend(q, k, v, may_attend=mask)[0], reference, **CLOSE)


def test_gradients_as_torch():
    *qkv_, bias = inputs = [x.requires_grad_() for x in (*qkv(), some_bias(H, T, S))]
    mask, upstream = causal_mask(T, S), torch.randn(B, H, T, E, dtype=torch.float64)
    out, _ = attend(*qkv_, may_attend=mask, bias=bias)
    ours = torch.autograd.grad(out, inputs, upstream)
    both = bias.masked_fill(~mask, -torch.inf).expand(B, H, T, S)
    reference = scaled_dot_product_attention(*qkv_, attn_mask=both)
    for mine, other in zip(ours, torch.autograd.grad(reference, inputs, upstream), strict=True):
        assert torch.allclose(mine, other, **CLOSE)


@pytest.mark.parametrize("attention", [attend, cosine_attend, top_k_attend])
def test_empty_rows_are_zero(attention):
    more = {attend: {}, cosine_attend: {"scale": 3.0}, top_k_attend: {"k_keep": 2}}[attention]
    inputs = [x.requires_grad_() for x in qkv()]
    # Anomaly mode raises at the first NaN inside the backward pass, even if it is hidden later.
    with torch.autograd.set_detect_anomaly(True):
        out, weights = attention(*inputs, may_attend=some_mask(), **more)
        grads = torch.autograd.grad(out.square().sum() + weights.square().sum(), inputs)
    assert (out[..., 1, :] == 0).all()
    assert (weights[..., 1, :] == 0).all()
    assert (grads[0][..., 1, :] == 0).all()
    assert all(grad.isfinite().all() for grad in grads)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_large_scores_do_not_overflow(dtype):
    q, k, v = qkv(dtype=dtype)
    out, weights = attend(1e6 * q, 1e6 * k, v, may_attend=some_mask())
    assert out.isfinite().all()
    # Whatever the allowed scores, the forbidden keys take nothing from them.
    total = some_mask().any(-1).to(dtype).expand(B, H, T)
    assert torch.allclose(weights.sum(-1), total, atol=S * torch.finfo(dtype).eps)


# What is added to the scores


def some_bias(*shape, seed=5):
    generator = torch.Generator().manual_seed(seed)
    return 2 * torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("shape", [(T, S), (H, T, S), (B, 1, 1, S), (T, 1), (1, 1)])
@pytest.mark.parametrize("mask", [None, causal_mask(T, S), some_mask()])
def test_biased_as_torch(shape, mask):
    (q, k, v), bias = qkv(), some_bias(*shape)
    # PyTorch takes one additive mask for both, -inf where a key is hidden.
    both = bias.expand(B, H, T, S)
    visible = torch.ones(T, S) > 0 if mask is None else mask
    both = both.masked_fill(~visible, -torch.inf)
    reference = scaled_dot_product_attention(q, k, v, attn_mask=both, scale=0.7)
    reference = reference.where(visible.any(-1, keepdim=True), 0.0)
    out, weights = attend(q, k, v, may_attend=mask, bias=bias, scale=0.7)
    assert torch.allclose(out, reference, **CLOSE)
    assert bool((weights[..., ~visible] == 0).all())
    without = attend(q, k, v, may_attend=mask, scale=0.7)[0]
    # What is the same for every key of a row changes nothing; anything else does.
    same_along_keys = shape[-1] == 1
    assert torch.allclose(without, out, **CLOSE) == same_along_keys
    if not same_along_keys:
        for wrong in (bias / 0.7, 0.7 * bias, -bias):  # before the scale, scaled, subtracted
            off = attend(q, k, v, may_attend=mask, bias=wrong, scale=0.7)[0]
            assert not torch.allclose(off, reference, atol=1e-3)


# Cosine attention


def test_cosine_attend_as_defined():
    q, k, v = qkv()
    cosines = cosine_similarity(q.unsqueeze(-2), k.unsqueeze(-3), dim=-1)
    out, weights = cosine_attend(q, k, v, scale=5)
    assert torch.allclose(weights, (5 * cosines).softmax(-1), **CLOSE)
    assert torch.allclose(out, weights @ v, **CLOSE)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_unit_vectors(dtype):
    x = torch.randn(5, 7).to(dtype)
    x[2] = 0
    lengths = unit_vectors(x).double().norm(dim=-1)
    expected = torch.tensor([1, 1, 0, 1, 1], dtype=torch.float64)
    # A unit in the last place for each of seven coordinates.
    assert torch.allclose(lengths, expected, atol=7 * torch.finfo(dtype).eps)


# Top-k attention


@given(seed=st.integers(0, 999), k_keep=st.integers(1, S))
def test_top_k_keeps_the_best(seed, k_keep):
    q, k, v = qkv(seed)
    mask = some_mask(seed)
    out, weights = top_k_attend(q, k, v, k_keep=k_keep, may_attend=mask)
    full = attend(q, k, v, may_attend=mask)[1]
    allowed = mask.sum(-1).clamp(max=k_keep).expand(B, H, T)
    assert torch.equal((weights > 0).sum(-1), allowed)
    dropped_best = full.where(weights == 0, 0.0).amax(-1)
    kept_worst = full.where(weights > 0, 1.0).amin(-1)
    assert (dropped_best <= kept_worst).all()
    # What is kept keeps its proportions: the full weights, divided by what they sum to.
    kept = full.where(weights > 0, 0.0)
    proportions = kept / kept.sum(-1, keepdim=True).clamp_min(1e-300)
    assert torch.allclose(weights, proportions, **CLOSE)
    assert torch.allclose(out, weights @ v, **CLOSE)


def test_top_k_of_equal_scores():
    q, k = torch.ones(T, D), torch.ones(S, D)
    _, weights = top_k_attend(q, k, k, k_keep=3)
    assert (weights > 0).sum(-1).tolist() == [3] * T


# The Jacobian of softmax


def test_jacobian_as_autograd():
    scores = torch.randn(3, S, dtype=torch.float64)
    jacobians = softmax_jacobian(scores.softmax(-1))
    for row, found in zip(scores, jacobians, strict=True):
        expected = torch.autograd.functional.jacobian(lambda x: x.softmax(-1), row)
        assert torch.allclose(found, expected, **CLOSE)


# Effective tokens


def test_effective_tokens_as_entropy():
    weights = torch.randn(B, T, S, dtype=torch.float64).softmax(-1)
    reference = torch.distributions.Categorical(probs=weights).entropy().exp()
    assert torch.allclose(effective_tokens(weights), reference, **CLOSE)


def test_an_empty_row_counts_nothing():
    _, weights = attend(*qkv(), may_attend=some_mask())
    counted = effective_tokens(weights)
    assert (counted[..., 1] == 0).all()
    assert (counted[..., 2] == 1).all()


def test_finite_gradient_at_zero_weights():
    weights = torch.tensor([0.5, 0.5, 0.0], requires_grad=True)
    effective_tokens(weights).backward()
    assert weights.grad.isfinite().all()
    entropy = torch.special.entr(weights).sum().exp()
    assert torch.autograd.grad(entropy, weights)[0].isinf().any()


# A NaN or an infinity inside a tensor is not refused: it has to show in the result.

ONES, RISING, EYE = (
    torch.ones(2, 1),
    torch.tensor([[1.0], [2.0], [3.0], [5.0], [7.0]]),
    torch.eye(5),
)
HIDDEN = torch.tensor([[True, True, True, True, False]])


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("k_keep", [1, 2, 5])
@pytest.mark.parametrize("may_attend", [None, HIDDEN])
def test_nan_reaches_all_allowed_weights(bad, k_keep, may_attend):
    k = RISING.clone()
    k[1] = bad
    for attention in (attend, lambda *a, **kw: top_k_attend(*a, k_keep=k_keep, **kw)):
        out, weights = attention(ONES, k, EYE, may_attend=may_attend)
        allowed = torch.ones(5, dtype=torch.bool) if may_attend is None else may_attend[0]
        assert weights[:, allowed].isnan().all()
        assert bool((weights[:, ~allowed] == 0).all())
        assert out.isnan().any(dim=-1).all()


def test_nan_stays_in_its_row():
    q = torch.tensor([[1.0], [float("nan")]])
    out, weights = top_k_attend(q, RISING, EYE, k_keep=2)
    assert weights[1].isnan().all() and out[1].isnan().all()
    assert weights[0].isfinite().all() and int((weights[0] > 0).sum()) == 2


def test_nan_behind_a_mask_is_harmless():
    k = RISING.clone()
    k[4] = float("nan")
    _, weights = top_k_attend(ONES, k, EYE[:, :4], k_keep=2, may_attend=HIDDEN)
    assert weights.isfinite().all() and bool((weights[:, 2:4] > 0).all())
