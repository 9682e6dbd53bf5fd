"""A pre-LN block from its four pieces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import Tolerance, UnfitError


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


def _pieces(width: int, num_heads: int, hidden: int) -> dict[str, nn.Module]:
    """The four pieces of a block by name, in the order in which a pre-LN block applies them.

    Their numbers are fixed, and the two norms have gains and shifts of their own.
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
    return {"x": x, **{name: _function(module) for name, module in _pieces(C, H, F).items()}}


def _function(module: nn.Module) -> Callable[[Tensor], Tensor]:
    """A plain function, which the engine need not copy for each run, as it would a module."""
    return lambda x: module(x)


def block(x, norm_1, attention, norm_2, feedforward):
    x = x + attention(norm_1(x))
    return x + feedforward(norm_2(x))


def _gradient(answer: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient at `x` of the output's sum; zeros where none arrives."""

    def run(x, *pieces):
        x = x.clone().requires_grad_()
        total = answer(x, *pieces).sum()
        if not total.requires_grad:
            return torch.zeros_like(x)
        try:
            return torch.autograd.grad(total, x)[0]
        except RuntimeError as error:
            if "inplace" not in str(error):
                raise
            raise UnfitError("a tensor is changed in place") from error

    return run


def _rms(x: Tensor) -> float:
    return float(x.square().mean().sqrt())


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The stream's sizes (root mean square), and the number that is furthest off."""
    x = inputs["x"]
    with torch.no_grad():
        right = block(*inputs.values())
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
    function="block",
    kept_as="block",
    reference=block,
    probes=(_probe(2, 5, 6, 3, 11, 3.0), _probe(3, 7, 10, 2, 13, 0.6)),
    parts=("out",),
    facts=_facts,
    tolerance=Tolerance(relative=1e-4, absolute=1e-5),
    praise="Two sublayers, each: normalise a copy, compute, add to the stream. The stream itself "
    "is only ever added to, so the gradient has a way through every block that nothing scales.",
)


@BLOCK.mistake(begins=_SIZES)
def post_LN(x, norm_1, attention, norm_2, feedforward):
    """You normalise the sums, `norm(x + sublayer(x))`: that is post-LN, as in the first transformer
    and BERT. Pre-LN normalises what the sublayer reads: `x + sublayer(norm(x))`."""
    x = norm_1(x + attention(x))
    return norm_2(x + feedforward(x))


@BLOCK.mistake(begins=_SIZES)
def no_residual(x, norm_1, attention, norm_2, feedforward):
    """Nothing is added: each sublayer's output replaces its input, and what a token was is lost at
    the first norm. Add both times: `x + …`."""
    return feedforward(norm_2(attention(norm_1(x))))


@BLOCK.mistake(begins=_SIZES)
def first_residual_missing(x, norm_1, attention, norm_2, feedforward):
    """Attention's output replaces the stream instead of being added to it. A token then knows what
    it read, and no longer what it was: `x = x + attention(norm_1(x))`."""
    x = attention(norm_1(x))
    return x + feedforward(norm_2(x))


@BLOCK.mistake(begins=_SIZES)
def second_residual_missing(x, norm_1, attention, norm_2, feedforward):
    """The feed-forward's output replaces the stream instead of being added to it:
    `x + feedforward(norm_2(x))`."""
    x = x + attention(norm_1(x))
    return feedforward(norm_2(x))


@BLOCK.mistake(begins=_SIZES)
def residuals_from_the_normalised_stream(x, norm_1, attention, norm_2, feedforward):
    """You add to `norm(x)` instead of to `x`, both times, so what was added before loses its size.
    That comes of `x = norm_1(x)`: the stream stays as it is, and a normalised copy goes into the
    sublayer."""
    x = norm_1(x)
    x = norm_2(x + attention(x))
    return x + feedforward(x)


@BLOCK.mistake(begins=_OFF)
def no_second_norm(x, norm_1, attention, norm_2, feedforward):
    """The feed-forward reads the sum as it is, with a size of {size_middle}. Each sublayer has a
    norm before it: `feedforward(norm_2(x))`."""
    x = x + attention(norm_1(x))
    return x + feedforward(x)


@BLOCK.mistake(begins=_OFF)
def norm_1_twice(x, norm_1, attention, norm_2, feedforward):
    """`norm_1` is used twice. Each norm has learned its own gain and shift; the feed-forward was
    trained behind `norm_2`."""
    x = x + attention(norm_1(x))
    return x + feedforward(norm_1(x))


@BLOCK.mistake(begins=_OFF)
def one_normalised_copy_for_both(x, norm_1, attention, norm_2, feedforward):
    """Both sublayers read the same `norm_1(x)`, from before attention. The feed-forward reads the
    sum, through its own norm: `norm_2`, after `x` has grown."""
    normalised = norm_1(x)
    return x + attention(normalised) + feedforward(normalised)


@BLOCK.mistake(begins=_OFF)
def no_norms(x, norm_1, attention, norm_2, feedforward):
    """Neither sublayer has a norm before it. Each reads a normalised copy of the stream:
    `norm_1(x)` for attention, `norm_2(x)` for the feed-forward."""
    x = x + attention(x)
    return x + feedforward(x)


@BLOCK.mistake(begins=_OFF)
def norms_exchanged(x, norm_1, attention, norm_2, feedforward):
    """The norms are exchanged: `norm_1` belongs before attention, `norm_2` before the
    feed-forward. Each has learned its own gain and shift."""
    x = x + attention(norm_2(x))
    return x + feedforward(norm_1(x))


@BLOCK.mistake(begins=_SIZES)
def attention_only(x, norm_1, attention, norm_2, feedforward):
    """You return the stream after attention. The second sublayer is missing: the feed-forward adds
    its result too."""
    return x + attention(norm_1(x))


@BLOCK.mistake(begins=_SIZES)
def first_sum_normalised(x, norm_1, attention, norm_2, feedforward):
    """You normalise the first sum, `norm_1(x + attention(x))`. The norm belongs before attention:
    `x + attention(norm_1(x))`, as you have it in the second half."""
    x = norm_1(x + attention(x))
    return x + feedforward(norm_2(x))


@BLOCK.mistake(begins=_SIZES)
def second_sum_normalised(x, norm_1, attention, norm_2, feedforward):
    """You normalise the second sum, `norm_2(x + feedforward(x))`. The norm belongs before the
    feed-forward: `x + feedforward(norm_2(x))`, as you have it in the first half."""
    x = x + attention(norm_1(x))
    return norm_2(x + feedforward(x))


@BLOCK.mistake(begins=_OFF)
def side_by_side(x, norm_1, attention, norm_2, feedforward):
    """The feed-forward reads the `x` from before attention: the two sublayers side by side, as in
    GPT-NeoX. In GPT-2 it reads the sum, attention's output included."""
    return x + attention(norm_1(x)) + feedforward(norm_2(x))


@BLOCK.mistake(begins=_OFF)
def output_of_attention_not_kept(x, norm_1, attention, norm_2, feedforward):
    """The second sum starts from the `x` that came in. The feed-forward reads attention's output,
    and the stream never gets it. Assign the first sum to `x`."""
    return x + feedforward(norm_2(x + attention(norm_1(x))))


@BLOCK.mistake(begins=_OFF)
def norms_of_the_outputs(x, norm_1, attention, norm_2, feedforward):
    """You normalise what the sublayers give, `norm(sublayer(x))`; pre-LN normalises what they read,
    `sublayer(norm(x))`."""
    x = x + norm_1(attention(x))
    return x + norm_2(feedforward(x))


TRAINED = BLOCK.stage(
    watch=_gradient,
    parts=("the gradient",),
    facts=lambda inputs, got: {},
)


@TRAINED.mistake()
def sum_in_place(x, norm_1, attention, norm_2, feedforward):
    """The numbers are right, but your block cannot be trained: it changes a tensor in place that
    the gradient still needs. `x += …` overwrites what the norm has read; `x = x + …` does not."""
    x = x + attention(norm_1(x))
    x += feedforward(norm_2(x))
    return x


@TRAINED.mistake()
def no_gradient(x, norm_1, attention, norm_2, feedforward):
    """The numbers are right, but no gradient comes back through your block, so nothing before it
    can learn. Leave `torch.no_grad()`, `.detach()` and `.data` away."""
    return block(x, norm_1, attention, norm_2, feedforward).detach()


@TRAINED.mistake()
def no_gradient_through_attention(x, norm_1, attention, norm_2, feedforward):
    """The numbers are right, but no gradient comes back through attention, so it cannot learn.
    Leave `torch.no_grad()`, `.detach()` and `.data` away."""
    x = x + attention(norm_1(x)).detach()
    return x + feedforward(norm_2(x))


@TRAINED.mistake()
def no_gradient_through_the_feed_forward(x, norm_1, attention, norm_2, feedforward):
    """The numbers are right, but no gradient comes back through the feed-forward, so it cannot
    learn. Leave `torch.no_grad()`, `.detach()` and `.data` away."""
    x = x + attention(norm_1(x))
    return x + feedforward(norm_2(x)).detach()
