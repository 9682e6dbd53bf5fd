"""Exercise 1 of lecture 06: a pre-LN block from its four pieces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance
from course_utils.teaching.verdict import Verdict

__all__ = ["BLOCK", "check_block", "pieces"]


class _Attention(nn.Module):
    """Causal attention as a plain map of rows (B, T, C): it gives the output alone."""

    def __init__(self, width: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x):
        projections = (self.query, self.key, self.value)
        q, k, v = (project(x).unflatten(-1, (self.num_heads, -1)) for project in projections)
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))
        out = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.output(out.transpose(1, 2).flatten(-2))


def pieces(width: int, num_heads: int, hidden: int) -> dict[str, nn.Module]:
    """The four pieces of a block by name, in the order in which a pre-LN block applies them.

    Their numbers are fixed, and the two norms have gains and shifts of their own.

    >>> list(pieces(6, 3, 24))
    ['norm_1', 'attention', 'norm_2', 'feedforward']
    """
    made: dict[str, nn.Module] = {
        "norm_1": nn.LayerNorm(width),
        "attention": _Attention(width, num_heads),
        "norm_2": nn.LayerNorm(width),
        "feedforward": nn.Sequential(
            nn.Linear(width, hidden), nn.GELU(approximate="tanh"), nn.Linear(hidden, width)
        ),
    }
    for place, module in enumerate(made.values()):
        is_norm = isinstance(module, nn.LayerNorm)
        for name, parameter in module.named_parameters():
            wave = torch.sin(torch.arange(parameter.numel()) * 2.3 + 1.7 * place + len(name))
            base = 1.0 if is_norm and name == "weight" else 0.0
            size = 0.4 if is_norm else width**-0.5
            parameter.data = (base + size * wave).reshape(parameter.shape)
    return made


def _probe(B: int, T: int, C: int, H: int, F: int, size: float) -> Mapping[str, Any]:
    x = size * torch.sin(torch.arange(B * T * C) * 1.3 + 0.4).reshape(B, T, C)
    return {"x": x, **{name: _function(module) for name, module in pieces(C, H, F).items()}}


def _function(module: nn.Module) -> Callable[[Tensor], Tensor]:
    """A plain function, which the engine need not copy for each run, as it would a module."""
    return lambda x: module(x)


def _block(x, norm_1, attention, norm_2, feedforward):
    x = x + attention(norm_1(x))
    return x + feedforward(norm_2(x))


def _with(
    *,
    first: Callable[..., Any] = lambda x, n1, att, n2: x + att(n1(x)),
    second: Callable[..., Any] = lambda y, x, n1, n2, ff: y + ff(n2(y)),
) -> Callable[..., Any]:
    """A block that is right but for one sublayer; ``second`` has its input y, and x before it."""

    def block(x, norm_1, attention, norm_2, feedforward):
        y = first(x, norm_1, attention, norm_2)
        return second(y, x, norm_1, norm_2, feedforward)

    return block


def _through(middle: Callable[..., Any]) -> Callable[..., Any]:
    """A block that keeps attention's output a by itself: ``middle(x, a, n2, ff)`` adds it up."""
    return lambda x, n1, att, n2, ff: middle(x, att(n1(x)), n2, ff)


def _rms(x: Tensor) -> float:
    return float(x.square().mean().sqrt())


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The stream's sizes (root mean square), and the number that is furthest off."""
    x = inputs["x"]
    with torch.no_grad():
        right = _block(*inputs.values())
        after = x + inputs["attention"](inputs["norm_1"](x))
    facts = {"size_in": _rms(x), "size_right": _rms(right), "size_middle": _rms(after)}
    if isinstance(got, Tensor) and got.shape == right.shape:
        got = got.detach()
        worst = int((got - right).abs().argmax())
        facts |= {"gave": float(got.flatten()[worst]), "want": float(right.flatten()[worst])}
        facts["size_out"] = _rms(got)
    return facts


_OFF = "One number of the output is {gave}, expected {want}. "
_SIZES = (
    "The stream comes in with a size (root mean square) of {size_in}, should leave with "
    "{size_right}, and leaves with {size_out}. "
)

BLOCK = Exercise(
    title="A pre-LN block",
    difficulty=1,
    minutes=8,
    reference=_block,
    probes=(_probe(2, 5, 6, 3, 11, 3.0), _probe(3, 7, 10, 2, 13, 0.6)),
    parts=("out",),
    facts=_facts,
    tolerance=Tolerance(relative=1e-4, absolute=1e-5),
    praise="Two sublayers, each: normalise a copy, compute, add to the stream. The stream itself "
    "is only ever added to, so the gradient has a way through every block that nothing scales.",
    mistakes=(
        Mistake(
            "post-LN",
            _with(
                first=lambda x, n1, att, n2: n1(x + att(x)),
                second=lambda y, x, n1, n2, ff: n2(y + ff(y)),
            ),
            _SIZES + "You normalise the sums, `norm(x + sublayer(x))`: that is post-LN, as in the "
            "first transformer and BERT. Pre-LN normalises what the sublayer reads: "
            "`x + sublayer(norm(x))`.",
        ),
        Mistake(
            "post-LN in the first sublayer",
            _with(first=lambda x, n1, att, n2: n1(x + att(x))),
            _SIZES + "Attention's sum is normalised, the feed-forward's is not: post-LN first, "
            "pre-LN then. Here both norms stand inside: `x + attention(norm_1(x))`.",
        ),
        Mistake(
            "post-LN in the second sublayer",
            _with(second=lambda y, x, n1, n2, ff: n2(y + ff(y))),
            _SIZES + "The first half is right. In the second you normalise the sum; the norm "
            "belongs inside: `x + feedforward(norm_2(x))`.",
        ),
        Mistake(
            "no residual",
            _with(
                first=lambda x, n1, att, n2: att(n1(x)),
                second=lambda y, x, n1, n2, ff: ff(n2(y)),
            ),
            _SIZES + "Nothing is added: each sublayer's output replaces its input, and what a "
            "token was is lost at the first norm. Add both times: `x + …`.",
        ),
        Mistake(
            "first residual missing",
            _with(first=lambda x, n1, att, n2: att(n1(x))),
            _SIZES + "Attention's output replaces the stream instead of being added to it. A token "
            "then knows what it read, and no longer what it was: `x = x + attention(norm_1(x))`.",
        ),
        Mistake(
            "second residual missing",
            _with(second=lambda y, x, n1, n2, ff: ff(n2(y))),
            _SIZES + "The feed-forward's output replaces the stream instead of being added to it: "
            "`x + feedforward(norm_2(x))`.",
        ),
        Mistake(
            "residuals from the normalised stream",
            _with(
                first=lambda x, n1, att, n2: n1(x) + att(n1(x)),
                second=lambda y, x, n1, n2, ff: n2(y) + ff(n2(y)),
            ),
            _SIZES + "You add to `norm(x)` instead of to `x`, both times, so what was added "
            "before loses its size. That comes of `x = norm_1(x)`: the stream stays as it is, and "
            "a normalised copy goes into the sublayer.",
        ),
        Mistake(
            "first residual from the normalised stream",
            _with(first=lambda x, n1, att, n2: n1(x) + att(n1(x))),
            _SIZES + "Attention's output is added to `norm_1(x)`; it belongs on `x` itself. The "
            "second half is right.",
        ),
        Mistake(
            "second residual from the normalised stream",
            _with(second=lambda y, x, n1, n2, ff: n2(y) + ff(n2(y))),
            _SIZES + "The feed-forward's output is added to `norm_2(x)`; it belongs on `x` "
            "itself. The first half is right.",
        ),
        Mistake(
            "no second norm",
            _with(second=lambda y, x, n1, n2, ff: y + ff(y)),
            _OFF + "The feed-forward reads the sum as it is, with a size of {size_middle}. Each "
            "sublayer has a norm before it: `feedforward(norm_2(x))`.",
        ),
        Mistake(
            "no first norm",
            _with(first=lambda x, n1, att, n2: x + att(x)),
            _OFF + "Attention reads `x` as it is, with a size of {size_in}: its scores grow with "
            "the square of that. Each sublayer has a norm before it: `attention(norm_1(x))`.",
        ),
        Mistake(
            "no norms",
            _with(
                first=lambda x, n1, att, n2: x + att(x),
                second=lambda y, x, n1, n2, ff: y + ff(y),
            ),
            _OFF + "Both sublayers read the stream as it is, and neither norm is used: "
            "`attention(norm_1(x))`, `feedforward(norm_2(x))`.",
        ),
        Mistake(
            "norm_1 twice",
            _with(second=lambda y, x, n1, n2, ff: y + ff(n1(y))),
            _OFF + "`norm_1` is used twice. Each norm has learned its own gain and shift; the "
            "feed-forward was trained behind `norm_2`.",
        ),
        Mistake(
            "norm_2 twice",
            _with(first=lambda x, n1, att, n2: x + att(n2(x))),
            _OFF + "`norm_2` is used twice. Each norm has learned its own gain and shift; "
            "attention was trained behind `norm_1`.",
        ),
        Mistake(
            "norms exchanged",
            _with(
                first=lambda x, n1, att, n2: x + att(n2(x)),
                second=lambda y, x, n1, n2, ff: y + ff(n1(y)),
            ),
            _OFF + "The norms are exchanged: `norm_1` belongs to attention, `norm_2` to the "
            "feed-forward. In a fresh model both are alike, and nobody would notice.",
        ),
        Mistake(
            "side by side",
            _through(lambda x, a, n2, ff: x + a + ff(n2(x))),
            _OFF + "The feed-forward reads the `x` from before attention: the two sublayers side "
            "by side, as in GPT-NeoX. In GPT-2 it reads the sum, attention's output included.",
        ),
        Mistake(
            "side by side, one norm",
            lambda x, n1, att, n2, ff: x + att(n1(x)) + ff(n1(x)),
            _OFF + "Both sublayers read the same `norm_1(x)`, side by side, as in GPT-J. In GPT-2 "
            "the feed-forward reads the sum, attention's output included, through `norm_2`.",
        ),
        Mistake(
            "the feed-forward reads attention's output alone",
            _through(lambda x, a, n2, ff: x + a + ff(n2(a))),
            _OFF + "The feed-forward reads what attention gave, before it is added to `x`. Add "
            "first: the second sublayer reads the stream.",
        ),
        Mistake(
            "attention's output not kept",
            _through(lambda x, a, n2, ff: x + ff(n2(x + a))),
            _OFF + "The second sum starts from the `x` that came in. The feed-forward reads "
            "attention's output, and the stream never gets it. Assign the first sum to `x`.",
        ),
        Mistake(
            "x added twice",
            _through(lambda x, a, n2, ff: x + (x + a) + ff(n2(x + a))),
            _SIZES + "`x` is in your sum twice: the second sublayer's sum starts from "
            "`x + attention(…)`, which holds it already.",
        ),
        Mistake(
            "feed-forward first",
            lambda x, n1, att, n2, ff: _block(x, n2, ff, n1, att),
            _OFF + "You apply the feed-forward first and attention then. GPT-2 reads other tokens "
            "first, and then thinks about what it read.",
        ),
        Mistake(
            "norms of the outputs",
            _with(
                first=lambda x, n1, att, n2: x + n1(att(x)),
                second=lambda y, x, n1, n2, ff: y + n2(ff(y)),
            ),
            _OFF + "You normalise what the sublayers give, `norm(sublayer(x))`; pre-LN normalises "
            "what they read, `sublayer(norm(x))`.",
        ),
        Mistake(
            "attention alone",
            _with(second=lambda y, x, n1, n2, ff: y),
            _OFF + "That is the first half, `x + attention(norm_1(x))`, and it is right. The "
            "feed-forward is still to come.",
        ),
        Mistake(
            "the sublayers' outputs alone",
            _through(lambda x, a, n2, ff: a + ff(n2(x + a))),
            _SIZES + "You return what the block adds, without the `x` that it adds to.",
        ),
    ),
)


def check_block(block: Any) -> Verdict:
    """Judge ``block(x, norm_1, attention, norm_2, feedforward)``, returning (B, T, C).

    x (B, T, C) is the stream; the four pieces are functions from (B, T, C) to (B, T, C), and
    attention is causal already. The result is GPT-2's block (Radford et al. 2019, section 2.3).

    >>> check_block(lambda x, norm_1, attention, norm_2, feedforward: x).passed
    False
    """
    return BLOCK.check(block)
