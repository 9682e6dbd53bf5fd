"""Exercises 1 and 2 of lecture 03: split a tensor into heads, and merge them again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance
from course_utils.teaching.verdict import Verdict

__all__ = ["MERGE_HEADS", "SPLIT_HEADS", "check_merge_heads", "check_split_heads"]

# A number of a probe says where it comes from: 10,000·sentence + 100·token + channel.
_SENTENCE, _TOKEN = 10_000, 100
# Whole numbers: anything less than the right one is another token or channel.
_TOLERANCE = Tolerance(relative=0, absolute=0.5)


def _labelled(B: int, T: int, C: int) -> torch.Tensor:
    sentences, tokens = torch.arange(B) * _SENTENCE, torch.arange(T) * _TOKEN
    return (sentences[:, None, None] + tokens[:, None] + torch.arange(C)).float()


def _place(number: float) -> str:
    """Where a number of a probe comes from."""
    sentence, rest = divmod(round(number), _SENTENCE)
    token, channel = divmod(rest, _TOKEN)
    return f"channel {channel} of token {token}, sentence {sentence}"


def _split(x, num_heads):
    B, T, C = x.shape
    return x.view(B, T, num_heads, C // num_heads).transpose(1, 2)


def _first_difference(got: Any, expected: torch.Tensor) -> dict[str, Any]:
    """Sizes, and the first entry that holds another number than it should."""
    facts: dict[str, Any] = {"right_shape": str(tuple(expected.shape))}
    if not isinstance(got, torch.Tensor):
        return facts
    facts["shape"] = str(tuple(got.shape))
    if got.shape == expected.shape and not torch.equal(got, expected):
        index = tuple(int(i) for i in (got != expected).nonzero()[0])
        facts |= {"index": str(list(index)), "holds": _place(float(got[index]))}
        facts |= {"should": _place(float(expected[index]))}
    return facts


def _split_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    x, H = inputs["x"], inputs["num_heads"]
    B, T, C = x.shape
    return {"B": B, "T": T, "C": C, "D": C // H} | _first_difference(got, _split(x, H))


def _viewed(axes, moved, first=lambda x: x):
    """A split by one cut of the memory, into the axes that are named, and then a permutation."""

    def split_heads(x, num_heads):
        B, T, C = x.shape
        sizes = {"B": B, "T": T, "H": num_heads, "D": C // num_heads}
        return first(x).reshape([sizes[axis] for axis in axes]).permute(*moved)

    return split_heads


SPLIT_HEADS = Exercise(
    title="Split into heads",
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
    facts=_split_facts,
    tolerance=_TOLERANCE,
    praise="Head h has channels h·D to h·D + D − 1 of every token. No number moved: the transpose "
    "only changes how the same memory is read.",
    mistakes=(
        Mistake(
            "viewed as heads first",
            _viewed("BHTD", (0, 1, 2, 3)),
            "Your shape is right and the tokens are mixed: entry {index} holds {holds}, and should "
            "hold {should}. `view` cuts the memory in the order of its axes, and there the heads "
            "lie within a token: view as (B, T, H, D), then `transpose(1, 2)`.",
        ),
        Mistake(
            "not transposed",
            _viewed("BTHD", (0, 1, 2, 3)),
            "You return {shape}: each token is cut into heads, (B, T, H, D). Attention works on "
            "the last two axes: `transpose(1, 2)` puts the heads in front of the tokens.",
        ),
        Mistake(
            "channels dealt out",
            _viewed("BTDH", (0, 3, 1, 2)),
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
            "tokens last",
            _viewed("BTHD", (0, 2, 3, 1)),
            "Your heads have the shape (D, T): a token is a column. Within a head a token is a row "
            "of width D: (B, H, T, D).",
        ),
        Mistake(
            "transposed before the cut",
            _viewed("BHTD", (0, 1, 2, 3), first=lambda x: x.transpose(1, 2)),
            "You transpose x to (B, C, T) and then cut it to the shape you need: entry {index} "
            "holds {holds}, and should hold {should}. A reshape to sizes that fit is not a "
            "transpose. First cut C into (H, D), then exchange axes.",
        ),
        Mistake(
            "heads in front of the batch",
            _viewed("BTHD", (2, 0, 1, 3)),
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


def check_split_heads(split_heads: Any) -> Verdict:
    """Judge ``split_heads(x, num_heads)``: (B, T, C) to (B, H, T, D), D = C / num_heads.

    Head h gets channels h·D to h·D + D − 1 of every token.

    >>> check_split_heads(lambda x, H: x.unflatten(-1, (H, -1)).transpose(1, 2)).passed
    True
    """
    return SPLIT_HEADS.check(split_heads)


def _merge(heads):
    return heads.transpose(1, 2).flatten(start_dim=2)


def _merge_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    B, H, T, D = inputs["heads"].shape
    sizes = {"B": B, "H": H, "T": T, "D": D, "C": H * D}
    return sizes | _first_difference(got, _merge(inputs["heads"]))


def _heads(B: int, H: int, T: int, D: int) -> Mapping[str, torch.Tensor]:
    """Heads as attention leaves them: in their own memory, head by head."""
    return {"heads": _split(_labelled(B, T, H * D), H).contiguous()}


MERGE_HEADS = Exercise(
    title="Merge the heads",
    difficulty=1,
    minutes=5,
    reference=_merge,
    probes=(_heads(2, 3, 5, 7), _heads(3, 2, 7, 5), _heads(2, 3, 3, 5)),
    parts=("x",),
    facts=_merge_facts,
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
            "tokens and channels exchanged",
            lambda heads: heads.transpose(2, 3).reshape(heads.shape[0], heads.shape[2], -1),
            "You exchange tokens and channels within each head: entry {index} holds {holds}, and "
            "should hold {should}. It is heads and tokens that change places: `transpose(1, 2)`.",
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
        Mistake(
            "heads averaged",
            lambda heads: heads.mean(dim=1),
            "You average the heads, to width {D}. Each head keeps its own channels, {H}·{D} = {C} "
            "in all; W_O mixes them afterwards.",
        ),
    ),
)


def check_merge_heads(merge_heads: Any) -> Verdict:
    """Judge ``merge_heads(heads)``: (B, H, T, D) to (B, T, C), C = H·D, the inverse of the split.

    >>> check_merge_heads(lambda heads: heads.transpose(1, 2).flatten(2)).passed
    True
    """
    return MERGE_HEADS.check(merge_heads)
