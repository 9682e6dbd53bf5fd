"""The right rows of a causal kernel, and its loop over tiles in torch, for what is given."""

from __future__ import annotations

import torch
from torch.nn.functional import pad

from course_utils.attention import attend
from course_utils.masks import causal_mask

BLOCK = 4


def counted_rows(v) -> int:
    """How many rows count: where later values are NaN, those of the first block alone."""
    return BLOCK if v.isnan().any() else len(v)


def right(q, k, v):
    """The rows that a kernel should store."""
    rows = counted_rows(v)
    q, k, v = (x[:rows].float() for x in (q, k, v))
    return attend(q, k, v, may_attend=causal_mask(rows))[0]


def by_tiles(
    q,
    k,
    v,
    *,
    may_attend=lambda keys, rows, N: keys <= rows,
    hide=lambda scores, mask: torch.where(mask, scores, -torch.inf),
    stop=lambda first_row, N: first_row + BLOCK,
    order=lambda tiles: tiles,
    scale=lambda D: D**-0.5,
    top=lambda scores, hidden: hidden.amax(dim=1, keepdim=True),
    maximum=torch.maximum,
    on_l=lambda alpha: alpha,
    on_acc=lambda alpha: alpha,
    next_m=lambda m, m_new: m_new,
    total=lambda p: p.sum(dim=1, keepdim=True),
    finish=lambda acc, sums: acc / sums,
    beyond=0.0,
):
    """The loop but for what is given. As in a kernel, rows and keys beyond the end are 0."""
    N, D = q.shape
    more = BLOCK + -N % BLOCK  # a loop without a step reads up to a block too far
    q, k, v = pad(q, (0, 0, 0, more)), *(pad(x, (0, 0, 0, more), value=beyond) for x in (k, v))
    out = torch.empty_like(q)
    for first_row in range(0, N, BLOCK):
        rows = torch.arange(first_row, first_row + BLOCK)[:, None]
        m = torch.full((BLOCK, 1), -torch.inf)
        l, acc = torch.zeros(BLOCK, 1), torch.zeros(BLOCK, D)  # noqa: E741
        for first in order(range(0, stop(first_row, N), BLOCK)):
            keys = torch.arange(first, first + BLOCK)
            scores = q[rows[:, 0]] @ k[keys].T * scale(D)
            hidden = hide(scores, may_attend(keys, rows, N))
            m_new = maximum(m, top(scores, hidden))
            alpha, p = torch.exp(m - m_new), torch.exp(hidden - m_new)
            l = on_l(alpha) * l + total(p)  # noqa: E741
            acc = on_acc(alpha) * acc + p @ v[keys]
            m = next_m(m, m_new)
        out[rows[:, 0]] = finish(acc, l)
    return out[: counted_rows(v[:N])]
