"""Merges of two partial softmaxes, right and wrong, and the parts that exercise 1 probes them with.

A part is (m, l, acc) of T queries over some keys, as :func:`check_merge` describes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

__all__ = [
    "PROBES",
    "by_lse",
    "finished",
    "merge",
    "merge_facts",
    "with_factors",
    "with_sums",
]


def _part(T: int, S: int, D: int, phase: float, *, shift: float = 0.0, empty: int | None = None):
    """m, l and acc of T queries over S keys; query ``empty`` sees none of them."""
    scores = 2 * torch.sin(torch.arange(T * S) * 1.7 + phase).reshape(T, S) + shift
    v = torch.cos(torch.arange(S * D) * 2.3 + phase).reshape(S, D)
    m = scores.max(dim=1).values
    p = torch.exp(scores - m[:, None])
    if empty is not None:
        m[empty], p[empty] = -torch.inf, 0.0
    return m, p.sum(dim=1), p @ v


def _probe(part_a, part_b) -> Mapping[str, torch.Tensor]:
    names = ("m_a", "l_a", "acc_a", "m_b", "l_b", "acc_b")
    return dict(zip(names, (*part_a, *part_b), strict=True))


PROBES = (
    _probe(_part(5, 2, 3, 0.3), _part(5, 3, 3, 1.1)),
    # Query 1 sees no key of a, query 4 none of b.
    _probe(_part(7, 3, 2, 0.9, empty=1), _part(7, 5, 2, 2.0, empty=4)),
    # exp(120) does not fit in float32.
    _probe(_part(3, 5, 2, 0.4, shift=120.0, empty=2), _part(3, 2, 2, 1.9, shift=119.0)),
)


def merge_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """Maxima and factors in the row where a is furthest below b, and in that where b is below a."""
    m_a, m_b = inputs["m_a"], inputs["m_b"]
    m = torch.maximum(m_a, m_b)
    facts: dict[str, Any] = {"T": m.shape[0], "D": inputs["acc_a"].shape[1]}
    for letter, row in (("a", int((m_b - m_a).argmax())), ("b", int((m_a - m_b).argmax()))):
        at = {"row": row, "m_a": m_a[row], "m_b": m_b[row]}
        at |= {"factor_a": torch.exp(m_a - m)[row], "factor_b": torch.exp(m_b - m)[row]}
        at |= {"sum": (m_a + m_b)[row], "excess": torch.exp(m - torch.minimum(m_a, m_b))[row]}
        facts |= {f"{letter}_{name}": float(value) for name, value in at.items()}
    facts["empty"] = int((m_a == -torch.inf).int().argmax())
    facts["largest"] = float(m.max())
    return facts


def with_factors(
    factors_of: Callable[..., Any], maximum: Callable[..., Any] = torch.maximum
) -> Callable[..., Any]:
    """A merge that is right but for its maximum, or for the factors made of it."""

    def merge(m_a, l_a, acc_a, m_b, l_b, acc_b):
        m = maximum(m_a, m_b)
        a, b = factors_of(m_a, m_b, m)
        return m, a * l_a + b * l_b, a[:, None] * acc_a + b[:, None] * acc_b

    return merge


def with_sums(sums_of: Callable[..., Any]) -> Callable[..., Any]:
    """A merge that is right but for its sums, given l, acc and the right factor of each part."""

    def merge(m_a, l_a, acc_a, m_b, l_b, acc_b):
        m = torch.maximum(m_a, m_b)
        a, b = torch.exp(m_a - m)[:, None], torch.exp(m_b - m)[:, None]
        l, acc = sums_of(l_a[:, None], acc_a, a, l_b[:, None], acc_b, b)  # noqa: E741
        return m, l[:, 0], acc

    return merge


merge = with_sums(lambda l_a, acc_a, a, l_b, acc_b, b: (a * l_a + b * l_b, a * acc_a + b * acc_b))


def finished(*parts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The merged row as a finished softmax: its log-sum-exp, 1, and the output."""
    m, l, acc = merge(*parts)  # noqa: E741
    return m + torch.log(l), torch.ones_like(l), acc / l[:, None]


def by_lse(add: Callable[..., Any]) -> Callable[..., Any]:
    """A merge of finished parts; ``add`` makes one log-sum-exp of two."""

    def merge(m_a, l_a, acc_a, m_b, l_b, acc_b):
        lse_a, lse_b = m_a + torch.log(l_a), m_b + torch.log(l_b)
        lse = add(lse_a, lse_b)
        out_a, out_b = acc_a / l_a[:, None], acc_b / l_b[:, None]
        a, b = torch.exp(lse_a - lse)[:, None], torch.exp(lse_b - lse)[:, None]
        return lse, torch.ones_like(lse), a * out_a + b * out_b

    return merge
