"""Find the part of a GPT that is wrong, by comparing it with one that is right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_utils.layers import FeedForward, LayerNorm
from course_utils.models.gpt2 import GPT2, GPT2Config
from course_utils.seeds import own_random_numbers
from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import Outcome, UnfitError, is_untouched

CONFIG = GPT2Config(vocab_size=31, max_positions=13, width=12, num_layers=3, num_heads=3)
ROUNDING = 1e-4  # what differs by less has been computed in another order
IDS = torch.arange(22).view(2, 11)  # (B, T)


class _OneLess(LayerNorm):
    """The variance is divided by C - 1."""

    def forward(self, x):
        spread = x.std(dim=-1, keepdim=True)
        return (x - x.mean(dim=-1, keepdim=True)) / spread * self.weight + self.bias


class _NoBias(nn.Linear):
    def forward(self, x):
        return x @ self.weight.T


class _FewBits(nn.Linear):
    """The weights are rounded to bfloat16."""

    def forward(self, x):
        return F.linear(x, self.weight.bfloat16().to(x.dtype), self.bias)


class _OtherCurve(FeedForward):
    def forward(self, x):
        return self.contract(F.gelu(self.expand(x)))


class _OtherOrder(LayerNorm):
    """Right, but for its rounding."""

    def forward(self, x):
        return F.layer_norm(x, (x.shape[-1],), self.weight, self.bias, self.eps)


# Which part is wrong, how, and the first part that therefore differs.
FAULTS: tuple[tuple[str, type[nn.Module], str], ...] = (
    ("blocks.2.attention.value", _NoBias, "blocks.2.attention.value"),
    ("blocks.0.feedforward", _OtherCurve, "blocks.0.feedforward.contract"),
    ("blocks.1.feedforward_norm", _OneLess, "blocks.1.feedforward_norm"),
    ("blocks.1.feedforward.expand", _FewBits, "blocks.1.feedforward.expand"),
    ("norm", _OneLess, "norm"),
)


def trace(model: nn.Module, token_ids: Tensor) -> dict[str, Tensor]:
    """Return what each part gave, by name, in the order in which they finished."""
    found: dict[str, Tensor] = {}

    def keep(name: str) -> Callable[..., None]:
        def note(part: nn.Module, inputs: Any, out: Any) -> None:
            found[name] = out[0] if isinstance(out, tuple) else out

        return note

    hooks = [part.register_forward_hook(keep(name)) for name, part in model.named_modules()]
    with torch.no_grad():
        model(token_ids)
    for hook in hooks:
        hook.remove()
    return found


def faulty_gpt(number: int) -> tuple[GPT2, GPT2]:
    """Return a GPT with one wrong part, and the right one with the same weights.

    Its norms are computed in another order than the right one's, as in a model of one's own.
    """
    with own_random_numbers(number):
        right, wrong = GPT2(CONFIG), GPT2(CONFIG)
        for parameter in right.parameters():  # fresh biases are 0, and could be forgotten
            nn.init.normal_(parameter, std=0.3)
        if (place := FAULTS[number])[1] is _NoBias:  # then all that it gives is smaller
            right.get_parameter(f"{place[0]}.bias").data.abs_()
    wrong.load_state_dict(right.state_dict())
    for part in wrong.modules():
        if type(part) is LayerNorm:
            part.__class__ = _OtherOrder
    place, kind, _ = FAULTS[number]
    wrong.get_submodule(place).__class__ = kind
    return wrong.eval(), right.eval()


def _gaps(model: nn.Module, reference: nn.Module, token_ids: Tensor) -> dict[str, float]:
    mine, theirs = trace(model, token_ids), trace(reference, token_ids)
    return {name: (mine[name] - theirs[name]).abs().max().item() for name in mine}


def _find_fault(model, reference, token_ids):
    gaps = _gaps(model, reference, token_ids)
    return next(name for name, gap in gaps.items() if gap > ROUNDING)


def _named(answer: Any) -> Any:
    """``answer``, with what to say where it names nothing."""

    def run(*inputs):
        value = answer(*inputs)
        if value is None and not is_untouched(answer, Outcome()):
            raise UnfitError(
                "your function returned nothing (None). Is a `return` missing? Or did no part "
                "pass your test? The weights are all equal, so compare outputs, and ask for a "
                "difference of more than 1e-4: some faults are small"
            )
        return value

    return run if callable(answer) else answer


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    gaps = _gaps(**inputs)
    name = got if isinstance(got, str) and got in gaps else ""
    first = _find_fault(**inputs)
    order = [*gaps]
    return {
        "called": f"`{name}`" if name else "the whole model (its name is empty)",
        "gap": gaps[name],
        "before": order.index(name) - order.index(first),
    }


FAULT = Exercise(
    title="Find the fault",
    difficulty=2,
    minutes=10,
    function="find_fault",
    reference=_find_fault,
    watch=_named,
    probes=tuple(
        dict(zip(("model", "reference", "token_ids"), (*faulty_gpt(number), IDS), strict=True))
        for number in range(len(FAULTS))
    ),
    parts=("name",),
    facts=_facts,
    praise="A forgotten bias, another curve, C − 1 in a norm, weights with too few bits: five "
    "models that run, with the right shapes and the right weights. The first part that differs "
    "gives each of them away.",
)


@FAULT.mistake()
def any_difference_counts(model, reference, token_ids):
    """You name {called}, whose outputs differ by {gap} at most: that is rounding, since its norm
    adds in another order. Two right programs differ by so much. Ask for outputs that differ by more
    than 1e-4."""
    gaps = _gaps(model, reference, token_ids)
    return next(name for name, gap in gaps.items() if gap > 0)


@FAULT.mistake()
def allclose_as_it_comes(model, reference, token_ids):
    """You name {called}, which differs by {gap} at most: that is rounding. `torch.allclose` is
    stricter than that unless you give it a limit: `atol=1e-4`."""
    mine, theirs = trace(model, token_ids), trace(reference, token_ids)
    return next(name for name in mine if not torch.allclose(mine[name], theirs[name]))


@FAULT.mistake()
def without_the_sign(model, reference, token_ids):
    """You name {called}, but a part before it differs already. Does your difference have a sign?
    Where the faulty part gives less, even the largest difference is below 0: take `.abs()`
    first."""
    mine, theirs = trace(model, token_ids), trace(reference, token_ids)
    return next(name for name in mine if (mine[name] - theirs[name]).max() > ROUNDING)


@FAULT.mistake()
def the_last_that_differs(model, reference, token_ids):
    """You name {called}, the last that differs. A fault travels along the stream, so all that comes
    after it differs too. Look for the first."""
    gaps = _gaps(model, reference, token_ids)
    return [name for name, gap in gaps.items() if gap > ROUNDING][-1]


@FAULT.mistake()
def the_largest_difference(model, reference, token_ids):
    """You name {called}, where the difference is largest. {before} parts before it differ already:
    a small fault grows on its way. Look for the first that differs."""
    gaps = _gaps(model, reference, token_ids)
    return max(gaps, key=gaps.__getitem__)


@FAULT.mistake()
def in_the_order_of_the_list(model, reference, token_ids):
    """You name {called}. The fault is inside, but in your order a part comes before the parts that
    it is made of, as in `named_modules` and in the alphabet. A hook is called when a part has
    finished, the inner ones first: keep that order."""
    gaps = _gaps(model, reference, token_ids)
    return next(name for name, _ in model.named_modules() if gaps.get(name, 0) > ROUNDING)
