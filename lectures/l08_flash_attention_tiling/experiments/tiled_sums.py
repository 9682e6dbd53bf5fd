"""The loop over keys with its running sums in a dtype of choice."""

import torch
from torch import Tensor

from course_utils.shapes import Float


def tiled_in(
    dtype: torch.dtype,
    q: Float[Tensor, "T D"],
    k: Float[Tensor, "S D"],
    v: Float[Tensor, "S D"],
    *,
    block_n: int = 64,
    rescale: bool = True,
) -> Float[Tensor, "T D"]:
    """Return attention with l and acc kept in ``dtype``: all else is computed as in q's.

    Without ``rescale`` old sums stay as they were under the old maximum, which is a mistake.
    """
    m = torch.full((len(q), 1), -torch.inf, dtype=q.dtype)
    total = torch.zeros(len(q), 1, dtype=dtype)  # l
    acc = torch.zeros(len(q), v.shape[1], dtype=dtype)
    for k_tile, v_tile in zip(k.split(block_n), v.split(block_n), strict=True):
        scores = q @ k_tile.mT / q.shape[1] ** 0.5  # (T, block_n)
        m_new = torch.maximum(m, scores.amax(dim=1, keepdim=True))
        alpha = (m - m_new).exp() if rescale else torch.ones_like(m)
        p = (scores - m_new).exp()
        total = (total * alpha + p.sum(dim=1, keepdim=True)).to(dtype)
        acc, m = (acc * alpha + p @ v_tile).to(dtype), m_new
    return acc.to(q.dtype) / total.to(q.dtype)
