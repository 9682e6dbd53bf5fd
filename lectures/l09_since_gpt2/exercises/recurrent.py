"""Causal linear attention as a recurrence: one state, written and read token by token.

Without a softmax, (q kᵀ) v = q (kᵀ v) (Katharopoulos et al. 2020, whose feature map and
normalisation are left out). Judged are the outputs; once they are right, the work and what is held:
neither T × T scores nor T states.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import Tolerance
from lectures.l09_since_gpt2.exercises.absorb import work_of


def _measured(answer: Callable[..., Any]) -> Callable[..., Any]:
    """The outputs, and 2 if T × T scores could be made with its work, 1 if T states fit, else 0."""

    def measured(q: Tensor, k: Tensor, v: Tensor) -> Any:
        out, work, peak = work_of(lambda: answer(q, k, v))
        if out is None or out is ...:  # a stub's
            return out
        (B, H, T, D), E = q.shape, v.shape[-1]
        # Row by row, half of the square is enough.
        for_scores = B * H * T * (T + 1) // 2 * (D + E)
        return out, 2 if work >= for_scores else int(peak >= B * H * T * D * E)

    return measured


def _outer(q, k, v):
    return k[..., None] * v[..., None, :]


def _run(q, k, v, *, write: Callable[..., Any] = lambda state, new: state + new, late: int = 0):
    """A recurrence that is right but for ``write``, and with ``late`` 1 reads before it writes."""
    state, rows = q.new_zeros(*q.shape[:2], q.shape[-1], v.shape[-1]), []
    for now in zip(q.unbind(2), k.unbind(2), v.unbind(2), strict=True):
        before, state = state, write(state, _outer(*now))
        rows.append((now[0][..., None, :] @ (before if late else state))[..., 0, :])
    return torch.stack(rows, dim=2)


def _recurrent(q, k, v):
    return _run(q, k, v)


def _softmaxed(q, k, v, divisor):
    scores = (q @ k.mT / divisor).masked_fill(
        q.new_ones(q.shape[2], q.shape[2]).triu(1) > 0, -math.inf
    )
    return scores.softmax(dim=-1) @ v


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    q, _, v = inputs.values()
    (B, H, T, D), E = q.shape, v.shape[-1]
    facts: dict[str, Any] = {"B": B, "H": H, "T": T, "D": D, "E": E, "root": math.sqrt(D)}
    facts |= {"state": D * E, "square": T * T, "states": T * D * E}
    right = _recurrent(*inputs.values())
    if isinstance(got, Tensor) and got.shape == right.shape:
        worst = int((got - right).abs().argmax())
        facts |= {"token": worst // E % T}
        facts |= {"gave": float(got.flatten()[worst]), "want": float(right.flatten()[worst])}
    return facts


def _probe(B: int, H: int, T: int, D: int, E: int, phase: float) -> Mapping[str, Tensor]:
    def wave(width: int, speed: float) -> Tensor:
        numbers = torch.arange(B * H * T * width) * speed
        return torch.sin(numbers + phase).reshape(B, H, T, width)

    return {"q": wave(D, 1.7), "k": wave(D, 2.3), "v": wave(E, 1.1)}


_AT = "An output of token {token} is {gave}, expected {want}. "

RECURRENT = Exercise(
    title="Attention as a recurrence",
    difficulty=2,
    minutes=10,
    function="recurrent",
    reference=_recurrent,
    probes=(
        # T is large against D and E: scores would be by far the most work.
        _probe(2, 3, 61, 5, 7, 0.3),
        _probe(3, 2, 53, 7, 5, 1.1),
    ),
    parts=("out",),
    facts=_facts,
    # Sums of 61 products, added in any order.
    tolerance=Tolerance(relative=1e-4, absolute=1e-3),
    praise="Each head keeps D × E numbers, and a token costs the same wherever it is in the text. "
    "The price: all that was ever written is added up in the same numbers.",
)


@RECURRENT.mistake(begins=_AT)
def read_before_writing(q, k, v):
    """You read the state before the token is written to it, so its own key and value are missing:
    the sum is over s ≤ t. Write first, then read."""
    return _run(q, k, v, late=1)


@RECURRENT.mistake(begins=_AT)
def all_tokens_summed(q, k, v):
    """Every token reads the sum over all {T} tokens, later ones too, as with `k.mT @ v`, the state
    after the last. Token t reads the state as it is after token t."""
    return q @ (k.mT @ v)


_NO_SOFTMAX = (
    "Your weights come from a softmax, and here is none: each value is multiplied by q · k "
)
_NO_SOFTMAX += "itself. "


@RECURRENT.mistake(begins=_AT + _NO_SOFTMAX)
def softmaxed(q, k, v):
    """Nothing is divided by √D either."""
    return _softmaxed(q, k, v, math.sqrt(q.shape[-1]))


@RECURRENT.mistake(begins=_AT + _NO_SOFTMAX)
def softmaxed_without_a_scale(q, k, v):
    """That is why one sum of k vᵀ is enough."""
    return _softmaxed(q, k, v, 1)


@RECURRENT.mistake(begins=_AT)
def the_other_triangle(q, k, v):
    """Token t sums over the tokens from t on. It is to sum over those up to t: `tril`, if you use a
    mask, not `triu`."""
    return (q @ k.mT).triu() @ v


@RECURRENT.mistake(begins=_AT)
def along_the_texts(q, k, v):
    """You sum along axis 0, the {B} texts: `len(q)` is B. The tokens are on axis 2."""
    return (q[..., None, :] @ _outer(q, k, v).cumsum(dim=0))[..., 0, :]


@RECURRENT.mistake(begins=_AT)
def overwritten(q, k, v):
    """Your state is the newest token's k vᵀ and nothing else: each token overwrites what the others
    wrote. Add to it: `state = state + …`."""
    return _run(q, k, v, write=lambda state, new: new)


@RECURRENT.mistake(begins=_AT)
def scaled(q, k, v):
    """You divide by √D = √{D} = {root}. That keeps a softmax from saturating, and there is none
    here: asked for are the sums as they are."""
    return _run(q, k, v) / math.sqrt(q.shape[-1])


@RECURRENT.mistake(begins=_AT)
def carried_over(q, k, v):
    """Right in the first head of the first text, wrong in those that follow: each begins with the
    state that the one before has left. {B} × {H} heads need {B} × {H} states, all 0 at first."""
    left = (k.mT @ v).flatten(0, 1)
    return _run(q, k, v) + q @ (left.cumsum(0) - left).unflatten(0, q.shape[:2])


@RECURRENT.mistake(begins=_AT)
def carried_over_within_a_text(q, k, v):
    """Right in the first head of each text, wrong in those that follow: each begins with the state
    that the head before has left. {B} × {H} heads need {B} × {H} states, all 0 at first."""
    left = k.mT @ v
    return _run(q, k, v) + q @ (left.cumsum(1) - left)


@RECURRENT.mistake(begins=_AT)
def one_state_summed(q, k, v):
    """All {B} × {H} heads are added up in one state, as `einsum` does with a letter that its result
    does not have. Each has a state of its own: (B, H, D, E)."""
    return _run(q, k, v, write=lambda state, new: state + new.sum((0, 1)))


@RECURRENT.mistake()
def transposed(q, k, v):
    """Your state is v kᵀ, (E, D) = ({E}, {D}), and q has {D} numbers: `q @ state` does not fit. The
    state is k vᵀ, (D, E): its rows belong to the key's dimensions, which the query sums over."""
    return _run(q, k, v, write=lambda state, new: new.mT)


@RECURRENT.mistake()
def one_state_for_all(q, k, v):
    """Your state is ({D}, {E}), and `+=` cannot write ({B}, {H}, {D}, {E}) into it: each of the
    {B} × {H} heads has a state of its own. Begin with `q.new_zeros(B, H, D, E)`."""
    state = q.new_zeros(q.shape[-1], v.shape[-1])
    state += _outer(q, k[:, :, 0], v[:, :, 0])
    return state


COST = RECURRENT.stage(watch=_measured, parts=("out", "T × T scores or T states"))


@COST.mistake(part=1)
def square(q, k, v):
    """For each token you go through all before it, as with T × T = {square} scores for a head:
    twice the text is four times the work. Without a softmax the brackets may move,
    (q kᵀ) v = q (kᵀ v): keep the sum of k vᵀ, {state} numbers, and add each token once."""
    return (q @ k.mT).tril() @ v


@COST.mistake(part=1)
def all_states_kept(q, k, v):
    """The work grows with T as it should, but you keep all {T} states: {states} numbers for a head,
    as with `cumsum`. Token t needs the newest one, {state} numbers. Read it, then write over it."""
    return (q[..., None, :] @ _outer(q, k, v).cumsum(dim=2))[..., 0, :]
