"""Attention as the formula has it, whole (T, S) matrix and all: what the tiles are held against."""

import torch
from torch import Tensor

from course_utils.shapes import Float

__all__ = ["attend_reference"]


def attend_reference(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B G S D"],
    v: Float[Tensor, "B G S D"],
    *,
    causal: bool,
    scale: float,
) -> tuple[Float[Tensor, "B H T D"], Float[Tensor, "B H T"]]:
    """Return the output and the log-sum-exp of the scores, both differentiable by autograd.

    ``scores = scale * q @ k.T``, ``lse = log(sum(exp(scores)))``, ``out = softmax(scores) @ v``.
    A query that may attend to no key gets output 0 and lse -inf. Memory grows with T × S.
    Everything is computed in the dtype of q, except the lse of 16-bit inputs, which is float32.

    >>> q, v = torch.zeros(1, 1, 2, 4), torch.ones(1, 1, 2, 4)
    >>> out, lse = attend_reference(q, q, v, causal=True, scale=1.0)
    >>> lse.exp().tolist()  # the first query attends to one key, the second to two
    [[[1.0, 2.0]]]
    """
    H, T = q.shape[1:3]
    G, S = k.shape[1:3]
    scores = scale * q.unflatten(1, (G, H // G)) @ k.unsqueeze(2).mT  # (B, G, H/G, T, S)
    last_key = torch.arange(T, device=q.device)[:, None] + (S - T if causal else S)
    reads_nothing = (last_key < 0) if S else torch.ones_like(last_key, dtype=torch.bool)  # (T, 1)
    hidden = torch.arange(S, device=q.device) > last_key  # (T, S)
    # Zeros in a row without a key keep its softmax, and so the gradients, from becoming NaN.
    scores = scores.masked_fill(hidden, -torch.inf).masked_fill(reads_nothing, 0.0)
    out = (scores.softmax(dim=-1) @ v.unsqueeze(2)).masked_fill(reads_nothing, 0.0)
    wide = scores.float() if scores.dtype.itemsize < 4 else scores
    lse = wide.logsumexp(dim=-1).masked_fill(reads_nothing.squeeze(-1), -torch.inf)
    return out.flatten(1, 2), lse.flatten(1, 2)
