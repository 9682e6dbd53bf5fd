"""Lecture 06: a GPT-2 block as a drawing, what each part takes, gives and costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.inputs import Choice, Steps, Toggle
from course_utils.measure.costs import attention_mixing_flops, attention_projection_flops
from course_utils.models.gpt2 import GPT2Config
from course_utils.models.published import PUBLISHED
from course_utils.models.story_gpt import STORY_GPT

# In the order of the computation.
PARTS = (
    "LN₁", "W_Q", "W_K", "W_V", "scores", "softmax", "mix", "W_O", "⊕₁",
    "LN₂", "W₁", "GELU", "W₂", "⊕₂",
)  # fmt: skip
# 1, 2, 3, 4, 6, 8, 12, … 16,384: powers of two, and half way between them.
TOKENS = (1, *sorted({2**k for k in range(1, 15)} | {3 * 2**k for k in range(13)}))
UNITS = ((1e12, "TFLOP"), (1e9, "GFLOP"), (1e6, "MFLOP"), (1e3, "kFLOP"), (1, "FLOP"))
TIE = "\N{NO-BREAK SPACE}"
SMALL, STORY = "GPT-2", "our story GPT"


def _published(name: str) -> GPT2Config:
    layers, heads, _, head_width, context, _ = PUBLISHED[name]
    return GPT2Config(
        max_positions=context, width=heads * head_width, num_layers=layers, num_heads=heads
    )


# Radford et al., "Language models are unsupervised multitask learners", 2019, table 2; the heads
# are those of the checkpoints.
MODELS = {
    SMALL: _published("GPT-2"),
    "GPT-2 medium": _published("GPT-2 medium"),
    "GPT-2 large": GPT2Config(width=1280, num_layers=36, num_heads=20),
    "GPT-2 XL": GPT2Config(width=1600, num_layers=48, num_heads=25),
    STORY: STORY_GPT,
}


class Cost(NamedTuple):
    """What a part costs: numbers that are learned, and FLOPs of its matrix product."""

    parameters: int
    flops: int


def costs_of(config: GPT2Config, tokens: int) -> dict[str, Cost]:
    """The costs of each part of one block for one text.

    As in the lecture's table of symbols, only matrix products count, 2 FLOPs for a multiply-add.
    Scores and mix count in full: the mask comes after the product.

    >>> sum(cost.parameters for cost in costs_of(GPT2Config(), 64).values())
    7087872
    """
    T, C, F = tokens, config.width, config.hidden
    norm, add = Cost(2 * C, 0), Cost(0, 0)
    projection = Cost(C * C + C, attention_projection_flops(T, C) // 4)
    product = Cost(0, attention_mixing_flops(T, C) // 2)
    return {
        "LN₁": norm,
        "W_Q": projection,
        "W_K": projection,
        "W_V": projection,
        "scores": product,
        "softmax": Cost(0, 0),
        "mix": product,
        "W_O": projection,
        "⊕₁": add,
        "LN₂": norm,
        "W₁": Cost(C * F + F, 2 * T * C * F),
        "GELU": Cost(0, 0),
        "W₂": Cost(F * C + C, 2 * T * F * C),
        "⊕₂": add,
    }


@dataclass(frozen=True)
class BlockState:
    """The shapes of a block's tensors for one text, and the costs of its parts.

    `stream` is (T, C), `per_head` (H, T, D), `pairs` (H, T, T), `wide` (T, F). `parameters` and
    `flops` have an entry for each of `PARTS`. `equal_at` is the number of tokens at which scores
    and mix cost as much as the feed-forward part.
    """

    model: str
    part: str
    tokens: int
    shares: bool
    context: int
    stream: list[int]
    per_head: list[int]
    pairs: list[int]
    wide: list[int]
    parameters: list[int]
    flops: list[int]
    all_parameters: int
    all_flops: int
    equal_at: int


def _preset(model: str, tokens: int, part: str, shares: bool = True) -> dict[str, Any]:
    return {"model": model, "tokens": tokens, "part": part, "shares": shares}


class Block(Explorer):
    """A model, a number of tokens and a part of its block → shapes in and out, and costs."""

    title = "What does each part of a GPT-2 block take, give and cost?"
    inputs = {
        "model": Choice("model", tuple(MODELS), SMALL),
        "tokens": Steps("tokens T", TOKENS, 32),
        "part": Choice("part of the block", PARTS, "W₁", in_picture=True),
        "shares": Toggle("show what each part costs"),
    }
    presets = {
        "guess first": _preset(SMALL, 32, "W₁", shares=False),
        "GPT-2, 32 tokens": _preset(SMALL, 32, "W₁"),
        "GPT-2, 1,024 tokens": _preset(SMALL, 1024, "scores"),
        "a long text": _preset(SMALL, 12288, "scores"),
        "GPT-2 XL": _preset("GPT-2 XL", 1024, "mix"),
        "our story GPT": _preset(STORY, 192, "W_Q"),
    }
    view = "block.js"
    reading = (
        "The thick line is the residual stream x. Two branches read it, pass through their parts, "
        "and are added back. Filled boxes have learned parameters, round ones have none. A small "
        "card on a wire is the tensor there: its height grows with the tokens, its width with the "
        "numbers per token (both by the square root); a stack of cards has one for each head. "
        "Press a part to choose it. FLOPs count the matrix products, scores and mix in full, as in "
        "the lecture's table of symbols."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        sizes = {
            name: {
                "width": config.width,
                "heads": config.num_heads,
                "hidden": config.hidden,
                "context": config.max_positions,
            }
            for name, config in MODELS.items()
        }
        return {"models": sizes}

    def compute(self, model: str, tokens: int, part: str, shares: bool) -> BlockState:
        config = MODELS[model]
        T, C, H = tokens, config.width, config.num_heads
        costs = costs_of(config, tokens)
        parameters = [costs[each].parameters for each in PARTS]
        flops = [costs[each].flops for each in PARTS]
        return BlockState(
            model=model,
            part=part,
            tokens=tokens,
            shares=shares,
            context=config.max_positions,
            stream=[T, C],
            per_head=[H, T, config.head_width],
            pairs=[H, T, T],
            wide=[T, config.hidden],
            parameters=parameters,
            flops=flops,
            all_parameters=sum(parameters),
            all_flops=sum(flops),
            equal_at=config.hidden,  # 4 T² C = 4 T C F
        )

    def caption(self, state: BlockState) -> str:
        return f"{_deed(state)} {_price(state)}"


def _deed(state: BlockState) -> str:
    """What the chosen part does, with the shapes that it takes and gives."""
    heads, stream, wide = state.per_head[0], shape_of(state.stream), shape_of(state.wide)
    per_head, pairs = shape_of(state.per_head), shape_of(state.pairs)
    return {
        "LN₁": f"[b:LN₁] normalises each token's vector; the shape stays {stream}.",
        "W_Q": f"[q:W_Q] makes the queries: {stream} to [q:{per_head}].",
        "W_K": f"[k:W_K] makes the keys: {stream} to [k:{per_head}].",
        "W_V": f"[v:W_V] makes the values: {stream} to [v:{per_head}].",
        "scores": f"[b:Scores] compare queries with keys: {per_head} to {pairs}.",
        "softmax": (
            f"[b:Softmax] turns each row of scores into weights that sum to 1; "
            f"the shape stays {pairs}."
        ),
        "mix": f"[b:Mix] averages the values: {pairs} to {per_head}.",
        "W_O": f"[b:W_O] joins the {heads} heads: {per_head} to {stream}.",
        "⊕₁": f"[b:⊕] adds what attention found to x, which stays {stream}.",
        "LN₂": f"[b:LN₂] normalises each token's vector again; the shape stays {stream}.",
        "W₁": f"[b:W₁] widens each token: {stream} to {wide}.",
        "GELU": (
            f"[b:GELU] damps negative numbers and lets positive ones pass; the shape stays {wide}."
        ),
        "W₂": f"[b:W₂] narrows each token: {wide} to {stream}.",
        "⊕₂": f"[b:⊕] adds what the feed-forward part found to x, which stays {stream}.",
    }[state.part]


def _price(state: BlockState) -> str:
    """What the chosen part costs; as shares only once they are shown."""
    at = PARTS.index(state.part)
    parameters, flops = state.parameters[at], state.flops[at]
    if not parameters and not flops:
        return "No parameters, no matrix product."
    learned = f"[b:{number(parameters)}] parameters"
    worked = f"[b:{flops_in_words(flops)}]" if flops else "no matrix product"
    if not state.shares:
        return f"{learned if parameters else 'No parameters'}, {worked}."
    share = f"{percent(parameters / state.all_parameters)} of the block"
    if not flops:
        return f"{learned}, {share}; no matrix product."
    of_work = percent(flops / state.all_flops)
    if parameters:
        return f"{learned}, {share}; {worked}, {of_work}."
    other = "mix" if state.part == "scores" else "scores"
    equal = number(state.equal_at)
    return f"{worked}, {of_work}; with {other}, more than feed-forward beyond {equal} tokens."


def shape_of(sizes: list[int]) -> str:
    """A shape as it is written in the picture.

    >>> shape_of([12, 1024, 64]).replace(TIE, " ")
    '(12, 1,024, 64)'
    """
    return f"({f',{TIE}'.join(map(number, sizes))})"


def percent(share: float) -> str:
    """A share in percent, with two digits that say something.

    >>> [percent(share).replace(TIE, " ") for share in (0.3333, 0.083, 0.0002)]
    ['33 %', '8.3 %', '0.02 %']
    """
    return f"{number(100 * share, 0 if share >= 0.1 else 1 if share >= 0.01 else 2)}{TIE}%"


def flops_in_words(count: float) -> str:
    """Floating-point operations in three digits.

    >>> [flops_in_words(count).replace(TIE, " ") for count in (75_497_472, 4_831_838_208)]
    ['75.5 MFLOP', '4.83 GFLOP']
    """
    unit, name = next(each for each in UNITS if count >= each[0])
    share = count / unit
    digits = 0 if unit == 1 or share >= 100 else 1 if share >= 10 else 2
    return f"{number(share, digits)}{TIE}{name}"
