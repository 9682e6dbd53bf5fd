"""Cross-attention, right and wrong, and the inputs that exercise 3 of lecture 03 probes it with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch

from course_utils.attention import attend
from course_utils.teaching.rows import wave

__all__ = [
    "LOW",
    "Answer",
    "cross_attention",
    "cross_facts",
    "hide",
    "matrices_exchanged",
    "memory_emptied",
    "probe",
    "values_emptied",
    "with_axis",
    "with_mask",
    "with_scale",
    "with_sources",
    "with_weights",
]

Answer = Callable[..., tuple[torch.Tensor, torch.Tensor]]
# What is taken for −∞ as often as −∞ itself: it differs where a whole row or column is hidden.
LOW = -1e9


def probe(lengths: list[int], T: int, S: int, sizes: tuple[int, int, int]) -> Mapping[str, Any]:
    """Inputs with T queries and S keys, ``lengths`` of them real in each sentence.

    ``sizes`` are C, D and E.
    """
    B, (C, D, E) = len(lengths), sizes
    return {
        "x": 0.35 * wave(B, T, C, phase=0.3),
        "memory": 0.35 * wave(B, S, C, phase=1.9),
        "may_attend": torch.arange(S) < torch.tensor(lengths)[:, None],
        "w_q": 0.5 * wave(C, D, phase=0.7),
        "w_k": 0.5 * wave(C, D, phase=2.9),
        "w_v": 0.5 * wave(C, E, phase=4.2),
    }


def _projected(x, memory, may_attend, w_q, w_k, w_v):
    """q, k, v and the mask with an axis for the queries."""
    return x @ w_q, memory @ w_k, memory @ w_v, may_attend[:, None, :]


def cross_attention(*inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The right answer."""
    q, k, v, may_attend = _projected(*inputs)
    return attend(q, k, v, may_attend=may_attend)


def with_sources(q: str = "x", k: str = "memory", v: str = "memory") -> Answer:
    """Cross-attention that is right but for where q, k and v come from."""

    def answer(x, memory, may_attend, w_q, w_k, w_v):
        source = {"x": x, "memory": memory}
        parts = (source[q] @ w_q, source[k] @ w_k, source[v] @ w_v)
        return attend(*parts, may_attend=may_attend[:, None, :])

    return answer


def with_scale(scale_of: Callable[..., float]) -> Answer:
    """Cross-attention that is right but for its scale, made of the sizes by name."""

    def answer(x, memory, may_attend, w_q, w_k, w_v):
        q, k, v, mask = _projected(x, memory, may_attend, w_q, w_k, w_v)
        sizes = {"T": x.shape[1], "C": x.shape[2], "D": q.shape[2], "E": v.shape[2]}
        return attend(q, k, v, may_attend=mask, scale=scale_of(sizes))

    return answer


def with_weights(weights_of: Callable[..., torch.Tensor]) -> Answer:
    """Cross-attention that is right but for the step from scaled scores and mask to weights."""

    def answer(*inputs):
        q, k, v, may_attend = _projected(*inputs)
        weights = weights_of(q @ k.mT / math.sqrt(q.shape[-1]), may_attend)
        return weights @ v, weights

    return answer


def hide(scores: torch.Tensor, may_attend: torch.Tensor, by: float = -torch.inf) -> torch.Tensor:
    """The scores, with ``by`` in the place of those that may not be read."""
    return scores.masked_fill(~may_attend, by)


def with_mask(mask_of: Callable[[torch.Tensor], torch.Tensor], by: float = -torch.inf) -> Answer:
    """Cross-attention that is right but for the mask, made of the one (B, 1, S) that is right."""
    return with_weights(lambda scores, m: torch.softmax(hide(scores, mask_of(m), by), dim=-1))


def with_axis(axis: int, by: float = -torch.inf) -> Answer:
    """Cross-attention whose softmax runs over another axis."""
    return with_weights(lambda scores, m: torch.softmax(hide(scores, m, by), dim=axis))


def values_emptied(*inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Padding is not hidden, and has values of 0."""
    x, memory, may_attend, w_q, w_k, w_v = inputs
    q, k, v, _ = _projected(x, memory, may_attend, w_q, w_k, w_v)
    return attend(q, k, v * may_attend[:, :, None])


def memory_emptied(*inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Padding is not hidden, and is 0 in the memory."""
    x, memory, may_attend, w_q, w_k, w_v = inputs
    q, k, v, _ = _projected(x, memory * may_attend[:, :, None], may_attend, w_q, w_k, w_v)
    return attend(q, k, v)


def matrices_exchanged(*inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """w_q and w_k have changed places."""
    x, memory, may_attend, w_q, w_k, w_v = inputs
    mask = may_attend[:, None, :]
    return attend(x @ w_k, memory @ w_q, memory @ w_v, may_attend=mask)


def cross_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """Sizes of the probe, and sums of the student's weights where there are weights."""
    (_, T, C), (_, S, _) = inputs["x"].shape, inputs["memory"].shape
    D, E = inputs["w_q"].shape[1], inputs["w_v"].shape[1]
    facts: dict[str, Any] = {"T": T, "S": S, "C": C, "D": D, "E": E}
    facts |= {f"root_{name}": math.sqrt(size) for name, size in list(facts.items())}
    facts["real"] = int(inputs["may_attend"][0].sum())
    weights = got[1] if isinstance(got, tuple | list) and len(got) == 2 else None
    if isinstance(weights, torch.Tensor) and weights.ndim == 3:
        hidden = ~inputs["may_attend"][0]
        facts |= {
            "row_sum": float(weights[0, 0].sum()),
            "column_sum": float(weights[0, :, 0].sum()),
        }
        if weights.shape[-1] == S:
            facts["on_padding"] = float(weights[0, 0][hidden].sum())
    return facts
