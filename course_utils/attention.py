"""Attention, written to be read: the reference that other implementations are compared with.

Leading axes are free: (T, D) works, and so does (B, H, T, D). They must agree between q, k and v.
"""

import math

import torch
from torch import Tensor

from course_utils.checks import (
    check_attention_inputs,
    check_finite,
    check_int,
    check_may_attend,
    check_values,
)
from course_utils.shapes import Bool, Float

__all__ = [
    "attend",
    "cosine_attend",
    "effective_tokens",
    "masked_softmax",
    "softmax_jacobian",
    "top_k_attend",
    "unit_vectors",
]


def attend(
    q: Float[Tensor, "*batch T D"],
    k: Float[Tensor, "*batch S D"],
    v: Float[Tensor, "*batch S E"],
    *,
    may_attend: Bool[Tensor, "*#batch #T #S"] | None = None,
    bias: Float[Tensor, "*#batch #T #S"] | None = None,
    scale: float | int | None = None,
) -> tuple[Float[Tensor, "*batch T E"], Float[Tensor, "*batch T S"]]:
    """Scaled dot-product attention: each query mixes the values by how well it matches the keys.

    ``weights = softmax(scale * q @ k.T + bias)``, row by row over the keys that the query may
    attend to, and ``out = weights @ v``. A query that may attend to nothing gets zero weights and
    a zero output.

    Args:
        q: queries.
        k: keys.
        v: values; their width E may differ from D.
        may_attend: True where a query may attend to a key; None lets each attend to all.
        bias: finite numbers added to the scaled scores, for example ``alibi_bias``. To hide a key,
            use the mask.
        scale: factor on the dot products; 1 / sqrt(D) if None.

    Returns:
        The output and the weights. A row of weights sums to 1, or is all zero.

    Raises:
        TypeError, ValueError: if the arguments do not fit each other, or the mask is not boolean.

    Source: Vaswani et al., "Attention is all you need", 2017, equation 1.

    >>> q, k = torch.tensor([[3.0]]), torch.tensor([[1.0], [1.0], [0.0]])
    >>> v = torch.tensor([[2.0], [4.0], [60.0]])
    >>> out, weights = attend(q, k, v, may_attend=torch.tensor([[True, True, False]]))
    >>> out.tolist(), weights.tolist()
    ([[3.0]], [[0.5, 0.5, 0.0]])
    """
    check_attention_inputs(q, k, v, may_attend=may_attend, bias=bias, scale=scale)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = scale * q @ k.mT  # (..., T, S)
    if bias is not None:
        scores = scores + bias
    weights = masked_softmax(scores, may_attend)
    return weights @ v, weights


def masked_softmax(
    scores: Float[Tensor, "*batch T S"],
    may_attend: Bool[Tensor, "*#batch #T #S"] | None = None,
) -> Float[Tensor, "*batch T S"]:
    """Softmax over the allowed keys: exp(score) / sum of exp(score), and 0 for the others.

    Hidden scores become the lowest finite number, not -inf, so that a row without an allowed key
    stays finite. The second fill makes such a row zero, and its gradient too.

    Raises:
        TypeError, ValueError: if the mask is not boolean or does not broadcast to the scores.

    >>> nothing_to_read = torch.tensor([[True, True], [False, False]])
    >>> masked_softmax(torch.zeros(2, 2), nothing_to_read).tolist()
    [[0.5, 0.5], [0.0, 0.0]]
    """
    check_may_attend(may_attend, scores.shape)
    if may_attend is None:
        return scores.softmax(dim=-1)
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~may_attend, lowest).softmax(dim=-1)
    return weights.masked_fill(~may_attend, 0.0)


def cosine_attend(
    q: Float[Tensor, "*batch T D"],
    k: Float[Tensor, "*batch S D"],
    v: Float[Tensor, "*batch S E"],
    *,
    scale: float | int,
    may_attend: Bool[Tensor, "*#batch #T #S"] | None = None,
) -> tuple[Float[Tensor, "*batch T E"], Float[Tensor, "*batch T S"]]:
    """Attention on cosines: ``weights = softmax(scale * cos(q, k))``.

    Queries and keys are first scaled to length 1, so every score is between -scale and scale. There
    is no default scale: 1 / sqrt(D) is made for dot products, and here it would leave the weights
    close to uniform. nGPT uses sqrt(D).

    Args:
        q: queries.
        k: keys.
        v: values.
        scale: factor on the cosines.
        may_attend: True where a query may attend to a key.

    Returns:
        The output and the weights, as ``attend`` does. A zero vector has cosine 0 with all.

    Raises:
        TypeError, ValueError: as ``attend`` does.

    Source: Henry et al., "Query-key normalization for transformers", 2020; Loshchilov et al.,
    "nGPT", 2024, equation 15.

    >>> q, k, v = torch.eye(2), 1000 * torch.eye(2), torch.eye(2)
    >>> cosine_attend(q, k, v, scale=0)[1].tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    check_attention_inputs(q, k, v, may_attend=may_attend)
    check_finite("scale", scale)
    return attend(unit_vectors(q), unit_vectors(k), v, may_attend=may_attend, scale=scale)


def unit_vectors(x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
    """Divide each vector on the last axis by its Euclidean length. A zero vector stays zero.

    Vectors with a length from 1e-12 to 1e19 (float16: 6e-5 to 65504) get length 1. A shorter one
    stays shorter. A longer one becomes 0, because its length overflows to infinity.

    >>> unit_vectors(torch.tensor([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    # float16 cannot represent 1e-12; its smallest normal number takes its place.
    shortest = max(1e-12, torch.finfo(x.dtype).tiny)
    # Under autocast a GPU computes the length of a 16-bit vector in float32.
    return (x / x.norm(dim=-1, keepdim=True).clamp_min(shortest)).to(x.dtype)


def top_k_attend(
    q: Float[Tensor, "*batch T D"],
    k: Float[Tensor, "*batch S D"],
    v: Float[Tensor, "*batch S E"],
    *,
    k_keep: int,
    may_attend: Bool[Tensor, "*#batch #T #S"] | None = None,
    scale: float | int | None = None,
) -> tuple[Float[Tensor, "*batch T E"], Float[Tensor, "*batch T S"]]:
    """Attention in which each query attends only to its ``k_keep`` best allowed keys.

    Exactly ``k_keep`` keys are kept, even if that separates equal scores. A query with fewer
    allowed keys attends to all of those. If one of a query's scores is NaN or infinite, the query
    keeps all its allowed keys, and its weights become NaN as with ``attend``.

    Args:
        q: queries.
        k: keys.
        v: values.
        k_keep: number of keys that a query keeps, 1 to S.
        may_attend: True where a query may attend to a key.
        scale: factor on the dot products; 1 / sqrt(D) if None.

    Returns:
        The output and the weights, as ``attend`` does.

    Raises:
        TypeError, ValueError: as ``attend`` does, or if k_keep is not an integer from 1 to S.

    Source: Gupta et al., "Memory-efficient transformers via top-k attention", 2021.

    >>> q, k = torch.ones(1, 1), torch.tensor([[9.0], [5.0], [9.0]])
    >>> top_k_attend(q, k, k, k_keep=2)[1].tolist()
    [[0.5, 0.0, 0.5]]
    """
    check_attention_inputs(q, k, v, may_attend=may_attend, scale=scale)
    k_keep = check_int("k_keep", k_keep, maximum=k.shape[-2])
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = scale * q @ k.mT  # (..., T, S)
    if may_attend is not None:
        scores = scores.masked_fill(~may_attend, -torch.inf)
    best = scores.topk(k_keep, dim=-1).indices  # (..., T, k_keep)
    kept = torch.zeros_like(scores, dtype=torch.bool).scatter(-1, best, True)
    kept = kept | ~(scores.amax(dim=-1, keepdim=True) < torch.inf)  # NaN is not below infinity
    weights = masked_softmax(scores, kept if may_attend is None else kept & may_attend)
    return weights @ v, weights


def softmax_jacobian(p: Float[Tensor, "*batch S"]) -> Float[Tensor, "*batch S S"]:
    """Return the derivative of softmax by its input: ``J[i, j] = p[i] * (1[i = j] - p[j])``.

    In matrix form ``diag(p) - p p^T``. It is symmetric, its rows sum to 0, and it is zero if one
    weight is 1. It needs only the weights, not the scores.

    Args:
        p: softmax output on the last axis.

    Raises:
        TypeError, ValueError: if p is not made of rows of weights that sum to 1.

    Source: Bridle, "Probabilistic interpretation of feedforward classification network outputs",
    1990.

    >>> softmax_jacobian(torch.tensor([0.5, 0.5])).tolist()
    [[0.25, -0.25], [-0.25, 0.25]]
    """
    _check_weights("p", p, may_be_zero=False)
    return p.diag_embed() - p.unsqueeze(-1) * p.unsqueeze(-2)


def effective_tokens(weights: Float[Tensor, "*batch S"]) -> Float[Tensor, "*batch"]:
    """Return how many keys a query effectively attends to: ``exp(-sum of w log w)``.

    0 log 0 counts as 0. Equal weights on n keys give n, a single key gives 1. A query that may
    attend to nothing (all weights zero) gives 0.

    Args:
        weights: attention weights; each row on the last axis sums to 1, or is all zero.

    Returns:
        The number for each row, in tokens, 0 to S.

    Raises:
        TypeError, ValueError: if weights is not made of rows of weights that sum to 1 or to 0.

    Source: the exponential of Shannon's entropy; Hill, "Diversity and evenness", 1973, order 1.

    >>> effective_tokens(torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])).round().tolist()
    [2.0, 0.0]
    """
    _check_weights("weights", weights, may_be_zero=True)
    # log(1) for a zero weight: 0 log 0 is 0, and the gradient stays finite.
    entropy = -(weights * weights.where(weights > 0, 1.0).log()).sum(dim=-1)
    return entropy.exp() * (weights > 0).any(dim=-1)


def _check_weights(name: str, weights: Tensor, *, may_be_zero: bool) -> None:
    check_values(name, weights, "S", exactly=False)
    if weights.min() < 0:
        raise ValueError(f"{name} must not be negative, got {weights.min().item():.6g}")
    total = weights.detach().sum(dim=-1)
    off = (total - 1).abs()
    if may_be_zero:
        off = off.where(total > 0, 0.0)
    # The square root of the precision leaves room for the rounding of a long sum.
    if off.max() > torch.finfo(weights.dtype).eps ** 0.5:
        worst = total.flatten()[off.argmax()].item()
        raise ValueError(f"{name} must sum to 1 over the last axis, got {worst:.6g}")
