"""Latent attention's scores without a key: the queries take W_UK (DeepSeek-V2, 2024, section 2.1).

A token's key in head h would be ``latents @ w_uk[h]``. Judged are the scores; once they are right,
that neither the keys are computed nor the latents copied for each head.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils.measure.peak_memory import peak_bytes
from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import Tolerance

# Which argument of a product has the axis that is summed over, as its last one.
_SUMMED = {"mm": 0, "bmm": 0, "mv": 0, "dot": 0, "addmm": 1, "baddbmm": 1, "addmv": 1}
_SUMMED["matmul"] = 0  # as it is left in inference mode
# They move numbers and compute none.
_COPIES = {"cat", "clone", "copy_", "_unsafe_view"}


class _Work(TorchDispatchMode):
    """Counts a product's multiplications, and the numbers that any other operator computes.

    ``FlopCounterMode`` counts products alone, so a sum in a loop would cost nothing.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Otherwise torch imports its compiler, which takes seconds.
        return False

    def __init__(self) -> None:
        super().__init__()
        self.count, self.bytes_each = 0, 4

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor) and result.is_floating_point():
            self.bytes_each = max(self.bytes_each, result.element_size())
        name = func.overloadpacket.__name__
        if isinstance(result, Tensor) and not func.is_view and name not in _COPIES:
            summed = _SUMMED.get(name)
            self.count += result.numel() * (1 if summed is None else args[summed].shape[-1])
        return result


def work_of(call: Callable[[], Any]) -> tuple[Any, int, int]:
    """What a call returns, its work, and how many numbers it held at its peak.

    Where it works in float64, a number has 8 bytes.
    """
    results: list[Any] = []
    with _Work() as work:
        peak = peak_bytes(lambda: results.append(call()))
    return results[0], work.count, peak // work.bytes_each


def _measured(answer: Callable[..., Any]) -> Callable[..., Any]:
    """The scores, and 2 if keys could be made with its work, 1 if copies would fit, else 0."""

    def measured(q: Tensor, latents: Tensor, w_uk: Tensor) -> Any:
        scores, work, peak = work_of(lambda: answer(q, latents, w_uk))
        if scores is None or scores is ...:  # a stub's
            return scores
        for_keys = latents.numel() * w_uk[:, 0].numel()
        return scores, 2 if work >= for_keys else int(peak >= latents.numel() * len(w_uk))

    return measured


def _fold(q, w_uk):
    """The queries in the latents' space, all heads below each other: (B, H · T, R)."""
    return (q @ w_uk.mT).flatten(1, 2)


def _absorbed_scores(q, latents, w_uk):
    scores = _fold(q, w_uk) @ latents.mT / math.sqrt(q.shape[-1])
    return scores.unflatten(1, q.shape[1:3])


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    q, latents, w_uk = inputs.values()
    (B, H, T, D), (_, S, R) = q.shape, latents.shape
    facts: dict[str, Any] = {"B": B, "H": H, "T": T, "D": D, "S": S, "R": R}
    facts |= {"root": math.sqrt(D), "wrong_root": math.sqrt(R), "cached": B * S * R}
    facts |= {"copies": B * H * S * R, "products": B * H * S * R * D}
    facts["absorbed"] = B * H * T * R * (D + S)
    right = _absorbed_scores(q, latents, w_uk)
    if isinstance(got, Tensor) and got.shape == right.shape:
        worst = int((got - right).abs().argmax())
        facts |= {"gave": float(got.flatten()[worst]), "want": float(right.flatten()[worst])}
    return facts


def _probe(B: int, H: int, T: int, S: int, R: int, D: int, phase: float) -> Mapping[str, Tensor]:
    def wave(*shape: int, speed: float) -> Tensor:
        return torch.sin(torch.arange(math.prod(shape)) * speed + phase).reshape(shape)

    return {
        "q": wave(B, H, T, D, speed=1.7),
        "latents": wave(B, S, R, speed=2.3),
        "w_uk": wave(H, R, D, speed=1.1),
    }


_AT = "A score is {gave}, expected {want}. "

ABSORB = Exercise(
    title="Scores without keys",
    difficulty=3,
    minutes=12,
    function="absorbed_scores",
    reference=_absorbed_scores,
    probes=(
        # Few queries and many latents, as when a text is written: keys would be by far the most.
        _probe(2, 5, 2, 101, 11, 19, 1.2),
        _probe(3, 7, 1, 97, 17, 13, 0.3),
    ),
    parts=("scores",),
    facts=_facts,
    tolerance=Tolerance(relative=1e-4, absolute=1e-5),
    praise="The same scores, and no key was made: a product of three matrices may begin at either "
    "end. To the cache, the heads are only more queries that read the same latents.",
)


@ABSORB.mistake(begins=_AT)
def divided_by_root_R(q, latents, w_uk):
    """You divide by √R = √{R} = {wrong_root}, as wide as the absorbed queries are. The scores are
    still those of keys of {D} numbers: √D = {root}."""
    return _absorbed_scores(q, latents, w_uk) * math.sqrt(q.shape[-1] / latents.shape[-1])


@ABSORB.mistake(begins=_AT)
def not_scaled(q, latents, w_uk):
    """The scores are not scaled: divide by √D = √{D} = {root}."""
    return _absorbed_scores(q, latents, w_uk) * math.sqrt(q.shape[-1])


@ABSORB.mistake(begins=_AT)
def divided_by_D(q, latents, w_uk):
    """You divide by D = {D}, or twice by its root. Divide once by √D = {root}."""
    return _absorbed_scores(q, latents, w_uk) / math.sqrt(q.shape[-1])


@ABSORB.mistake(begins=_AT)
def softmaxed(q, latents, w_uk):
    """You return weights. Asked for are the scores, before the softmax."""
    return _absorbed_scores(q, latents, w_uk).softmax(dim=-1)


@ABSORB.mistake(begins=_AT)
def heads_and_queries_mixed(q, latents, w_uk):
    """You swap H and T before you fold, so the rows come token by token. (H, T) reads them head by
    head, and a score lands in another head. Fold (B, H, T, R) as it is."""
    queries = (q @ w_uk.mT).transpose(1, 2).flatten(1, 2)
    return (queries @ latents.mT).unflatten(1, q.shape[1:3]) / math.sqrt(q.shape[-1])


@ABSORB.mistake()
def heads_summed(q, latents, w_uk):
    """You return (B, T, S): the {H} heads are summed together, as `einsum` does with a letter that
    its result does not have. Each head has scores of its own, (B, H, T, S)."""
    return _absorbed_scores(q, latents, w_uk).sum(dim=1)


@ABSORB.mistake()
def left_folded(q, latents, w_uk):
    """You return (B, H·T, S), the heads' queries still below each other. The product is right; undo
    the fold with `unflatten(1, (H, T))`, which copies nothing."""
    return _fold(q, w_uk) @ latents.mT / math.sqrt(q.shape[-1])


@ABSORB.mistake()
def w_uk_not_transposed(q, latents, w_uk):
    """`q @ w_uk` multiplies (T, D) = ({T}, {D}) by (R, D) = ({R}, {D}). A key is c W, so a score is
    q (c W)ᵀ = (q Wᵀ) cᵀ: the queries get `w_uk.mT`, (D, R)."""
    return q @ w_uk


@ABSORB.mistake()
def latents_not_transposed(q, latents, w_uk):
    """The absorbed queries are (T, R) = ({T}, {R}), and a head's latents (S, R) = ({S}, {R}): they
    need `latents.mT`, as keys do."""
    return (q @ w_uk.mT) @ latents[:, None]


@ABSORB.mistake()
def heads_against_batch(q, latents, w_uk):
    """The queries have four axes, (B, H, T, R), and the latents three: torch lines up {H} heads
    with a batch of {B}. Latents have no heads. Put the heads' queries below each other, `flatten(1,
    2)`: then (B, H·T, R) is multiplied by (B, R, S)."""
    return (q @ w_uk.mT) @ latents.mT


NO_KEYS = ABSORB.stage(watch=_measured, parts=("scores", "keys or copies made"))


@NO_KEYS.mistake(part=1)
def keys_computed(q, latents, w_uk):
    """Your function multiplies as often as making keys takes, {products} times: `latents @ w_uk` is
    the key, and you make {S} of them for each head, at every step. Begin at the other end, with the
    {T} new queries, `q @ w_uk.mT`. Then {absorbed} multiplications are enough."""
    return q @ (latents[:, None] @ w_uk).mT / math.sqrt(q.shape[-1])


@NO_KEYS.mistake(part=1)
def latents_copied_for_each_head(q, latents, w_uk):
    """No key is made, but the cache of {cached} numbers is copied for each of {H} heads: your
    function holds {copies} numbers or more. A product with a broadcast axis, `… @ latents.mT[:,
    None]`, makes the copies out of sight. Put the heads' queries below each other first,
    `flatten(1, 2)`."""
    return (q @ w_uk.mT) @ latents.mT[:, None] / math.sqrt(q.shape[-1])
