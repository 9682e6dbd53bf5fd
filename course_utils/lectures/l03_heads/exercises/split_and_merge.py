"""Exercises 1 and 2 of lecture 03: split a tensor into heads, and merge them again."""

from __future__ import annotations

from typing import Any

import torch

from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance

__all__ = ["MERGE_HEADS", "SPLIT_HEADS"]

# A number of a probe says where it comes from: 10,000·sentence + 100·token + channel.
_SENTENCE, _TOKEN = 10_000, 100
# Whole numbers: anything less than the right one is another token or channel.
_TOLERANCE = Tolerance(relative=0, absolute=0.5)


def _labelled(B: int, T: int, C: int) -> torch.Tensor:
    sentences, tokens = torch.arange(B) * _SENTENCE, torch.arange(T) * _TOKEN
    return (sentences[:, None, None] + tokens[:, None] + torch.arange(C)).float()


def _origin(number: float) -> str:
    """Where a number of a probe comes from."""
    sentence, rest = divmod(round(number), _SENTENCE)
    token, channel = divmod(rest, _TOKEN)
    return f"channel {channel} of token {token}, sentence {sentence}"


def _split(x, num_heads):
    B, T, C = x.shape
    return x.view(B, T, num_heads, C // num_heads).transpose(1, 2)


def _merge(heads):
    return heads.transpose(1, 2).flatten(start_dim=2)


def _facts(heads: torch.Tensor, expected: torch.Tensor, got: Any) -> dict[str, Any]:
    """Sizes, and the first entry that holds another number than it should."""
    _, H, _, D = heads.shape
    facts: dict[str, Any] = {"H": H, "D": D, "C": H * D}
    if isinstance(got, torch.Tensor):
        facts["shape"] = str(tuple(got.shape))
        if got.shape == expected.shape and not torch.equal(got, expected):
            index = tuple(int(i) for i in (got != expected).nonzero()[0])
            facts |= {"index": str(list(index)), "holds": _origin(float(got[index]))}
            facts |= {"should": _origin(float(expected[index]))}
    return facts


SPLIT_HEADS = Exercise(
    title="Split into heads",
    function="split",
    difficulty=1,
    minutes=6,
    reference=_split,
    probes=(
        {"x": _labelled(2, 5, 21), "num_heads": 3},
        {"x": _labelled(3, 7, 10), "num_heads": 2},
        # As many tokens as heads: a forgotten transpose keeps the shape.
        {"x": _labelled(2, 3, 15), "num_heads": 3},
        {"x": _labelled(2, 5, 7), "num_heads": 1},
    ),
    parts=("heads",),
    facts=lambda inputs, got: _facts(_split(**inputs), _split(**inputs), got),
    tolerance=_TOLERANCE,
    praise="Head h has channels h·D to h·D + D − 1 of every token. No number moved: the transpose "
    "only changes how the same memory is read.",
    mistakes=(
        Mistake(
            "viewed as heads first",
            lambda x, num_heads: x.view(len(x), num_heads, x.shape[1], -1),
            "Your shape is right and the tokens are mixed: entry {index} holds {holds}, and should "
            "hold {should}. `view` cuts the memory in the order of its axes, and there the heads "
            "lie within a token: view as (B, T, H, D), then `transpose(1, 2)`.",
        ),
        Mistake(
            "not transposed",
            lambda x, num_heads: x.unflatten(-1, (num_heads, -1)),
            "You return {shape}: each token is cut into heads, (B, T, H, D). Attention works on "
            "the last two axes: `transpose(1, 2)` puts the heads in front of the tokens.",
        ),
        Mistake(
            "channels dealt out",
            lambda x, num_heads: x.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2),
            "You deal the channels out to the heads one by one: entry {index} holds {holds}, and "
            "should hold {should}. A head has {D} channels that stand next to each other: view the "
            "last axis as (H, D), not as (D, H).",
        ),
        Mistake(
            "number and width of the heads exchanged",
            lambda x, num_heads: torch.stack(x.split(num_heads, dim=-1), dim=1),
            "You make {D} heads of width {num_heads}: number and width are exchanged. There are "
            "num_heads = {num_heads} heads of width D = C / num_heads = {D}. (`x.split(n)` takes "
            "the width of a piece, `x.chunk(n)` their number.)",
        ),
        Mistake(
            "transposed before the cut",
            lambda x, num_heads: x.mT.reshape(len(x), num_heads, x.shape[1], -1),
            "You transpose x to (B, C, T) and then cut it to the shape you need: entry {index} "
            "holds {holds}, and should hold {should}. A reshape to sizes that fit is not a "
            "transpose. First cut C into (H, D), then exchange axes.",
        ),
        Mistake(
            "heads in front of the batch",
            lambda x, num_heads: torch.stack(x.chunk(num_heads, dim=-1)),
            "Your heads stand in front of the batch, (H, B, T, D). The course's layout is "
            "(B, H, T, D), as torch's own attention has it. `torch.stack(..., dim=1)` puts the new "
            "axis there.",
        ),
        Mistake(
            "a tuple of heads",
            lambda x, num_heads: x.chunk(num_heads, dim=-1),
            "The pieces are right, and they are a tuple of {num_heads} tensors. One tensor with an "
            "axis for the heads is asked for: `torch.stack(pieces, dim=1)`, or cut by `view` and "
            "`transpose`, which copies nothing.",
        ),
    ),
)


def _heads(B: int, H: int, T: int, D: int) -> dict[str, torch.Tensor]:
    """Heads as attention leaves them: in their own memory, head by head."""
    return {"heads": _split(_labelled(B, T, H * D), H).contiguous()}


MERGE_HEADS = Exercise(
    title="Merge the heads",
    function="merge",
    difficulty=1,
    minutes=5,
    reference=_merge,
    probes=(_heads(2, 3, 5, 7), _heads(3, 2, 7, 5), _heads(2, 3, 3, 5)),
    parts=("x",),
    facts=lambda inputs, got: _facts(inputs["heads"], _merge(**inputs), got),
    tolerance=_TOLERANCE,
    praise="Split, then merge gives x back. Here the memory has to be copied: a token's channels, "
    "which the heads kept apart, must lie side by side again.",
    mistakes=(
        Mistake(
            "not transposed back",
            lambda heads: heads.reshape(heads.shape[0], heads.shape[2], -1),
            "Your shape is right and the tokens are mixed: entry {index} holds {holds}, and should "
            "hold {should}. The heads lie in memory head by head: `transpose(1, 2)` first, then "
            "the reshape.",
        ),
        Mistake(
            "view of what does not lie in order",
            lambda heads: heads.transpose(1, 2).view(heads.shape[0], heads.shape[2], -1),
            "The plan is right, and `view` cannot do it: after the transpose a token's channels no "
            "longer lie side by side in memory, and a view moves nothing. `reshape` copies where "
            "it has to; so does `.contiguous().view(...)`.",
        ),
        Mistake(
            "heads still apart",
            lambda heads: heads.transpose(1, 2),
            "You return {shape}: the tokens are in front again, and the heads still apart. Join "
            "the last two axes, {H} heads of width {D}, to C = {C}.",
        ),
        Mistake(
            "channels interleaved",
            lambda heads: heads.permute(0, 2, 3, 1).flatten(start_dim=2),
            "Channel by channel you take one number from each head: entry {index} holds {holds}, "
            "and should hold {should}. Head 0's {D} channels come first, then head 1's: the last "
            "axes are (H, D), not (D, H).",
        ),
        Mistake(
            "heads below each other",
            lambda heads: heads.flatten(start_dim=1, end_dim=2),
            "You return {shape}: the heads stand below each other, as if they were more tokens. "
            "They stand side by side, {H}·{D} = {C} channels for each token.",
        ),
        Mistake(
            "heads added",
            lambda heads: heads.sum(dim=1),
            "You add the heads up, to width {D}. Each head keeps its own channels, {H}·{D} = {C} "
            "in all; W_O mixes them afterwards.",
        ),
    ),
)
