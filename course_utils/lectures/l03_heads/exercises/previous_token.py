"""Exercise 4 of lecture 03: find the head that attends to the previous token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.verdict import Verdict

__all__ = ["PREVIOUS_TOKEN", "check_previous_token_head"]


def _head(T: int, *, shift: int = 0, share: float = 0.0, first: float = 0.0) -> torch.Tensor:
    """Weights (T, T): ``share`` on the key ``shift`` places on, ``first`` on key 0, rest even."""
    pattern = torch.zeros(T, T)
    rows = torch.arange(T)
    inside = (rows + shift >= 0) & (rows + shift < T)
    pattern[rows[inside], (rows + shift)[inside]] += share
    pattern[:, 0] += first
    return pattern + (1 - pattern.sum(dim=-1, keepdim=True)) / T


def _one_row(head: torch.Tensor, row: int, key: int, share: float) -> torch.Tensor:
    """The same head with one row that reads one key almost alone."""
    head = head.clone()
    head[row] = (1 - share) / (len(head) - 1)
    head[row, key] = share
    return head


def _encoder(T: int) -> torch.Tensor:
    """Three layers of five heads, each of which a wrong way to look picks out; (2, 1) is right."""
    even = _head(T)
    previous = _head(T, shift=-1, share=0.55)
    return torch.stack(
        [
            torch.stack(heads)
            for heads in (
                # Right of the previous token: the best of this layer, and the next token.
                (even, _head(T, shift=-1, share=0.3), _head(T, shift=1, share=0.9), even, even),
                # A layer of good heads, of which none is the best.
                (
                    _head(T, shift=-1, share=0.35),
                    _one_row(_head(T, shift=-1, share=0.35), 0, T - 1, 0.98),
                    _one_row(_head(T, shift=-1, share=0.2), 3, 2, 0.99),
                    _head(T, shift=-1, share=0.38),
                    _head(T, first=0.8),
                ),
                # The winner's row 0 reads itself, and one of its rows reads elsewhere.
                (
                    _head(T, share=0.9),
                    _one_row(_one_row(previous, 0, 0, 0.9), 4, 0, 0.5),
                    _head(T, shift=-2, share=0.9),
                    even,
                    even,
                ),
            )
        ]
    )


def _decoder(T: int) -> torch.Tensor:
    """Two layers of seven heads under a causal mask; (0, 5) is right."""
    heads = [_head(T)] * 14
    heads[2] = _one_row(_head(T, shift=-1, share=0.3), 3, 2, 0.95)
    heads[4], heads[5] = _head(T, shift=-1, share=0.4), _head(T, shift=-1, share=0.6)
    heads[8], heads[11], heads[13] = (
        _head(T, share=0.9),
        _head(T, first=0.9),
        _head(T, shift=-2, share=0.8),
    )
    masked = torch.stack(heads).tril()
    return (masked / masked.sum(dim=-1, keepdim=True)).reshape(2, 7, T, T)


def _at(weights, shift):
    """The mean weight (L, H) on the key ``shift`` places on, over the rows that have one."""
    return weights.diagonal(offset=shift, dim1=-2, dim2=-1).mean(dim=-1)


def _best(scores):
    """Layer and head of the largest score."""
    layer, head = torch.unravel_index(scores.argmax(), scores.shape)
    return int(layer), int(head)


def _previous_token_head(weights):
    return _best(_at(weights, -1))


def _flat(weights):
    return int(_at(weights, -1).argmax())


def _wrapped(weights):
    """Row 0 reads the key at -1, which is the last one."""
    rows = torch.arange(weights.shape[-1])
    return _best(weights[..., rows, rows - 1].mean(dim=-1))


def _counted(weights):
    return _best((weights.argmax(dim=-1) == torch.arange(weights.shape[-1]) - 1).sum(dim=-1))


def _apart(weights):
    scores = _at(weights, -1)
    return int(scores.mean(dim=1).argmax()), int(scores.mean(dim=0).argmax())


def _layer_first(weights):
    scores = _at(weights, -1)
    layer = int(scores.mean(dim=1).argmax())
    return layer, int(scores[layer].argmax())


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """What the head that was given reads, beside the right one."""
    weights = inputs["weights"]
    L, H, T, _ = weights.shape
    best = _previous_token_head(weights)
    facts: dict[str, Any] = {"L": L, "H": H, "T": T, "best": float(_at(weights, -1)[best])}
    facts["right"] = f"layer {best[0]}, head {best[1]}"
    if isinstance(got, tuple | list) and len(got) == 2:
        layer, head = int(got[0]), int(got[1])
        facts["named"] = f"layer {layer}, head {head}"
        if layer < L and head < H:
            own = weights[layer, head]
            facts |= {"previous": float(_at(own, -1)), "itself": float(_at(own, 0))}
            facts |= {"following": float(_at(own, 1)), "before_last": float(_at(own, -2))}
            facts |= {"first": float(own[:, 0].mean()), "top": float(own.diagonal(-1).max())}
            facts |= {"wrapped": float(own[0, -1])}
    return facts


_READS = (
    "You gave {named}. On the previous token it puts {previous} on average, {right} puts {best}. "
)

PREVIOUS_TOKEN = Exercise(
    title="Find the head that attends to the previous token",
    difficulty=2,
    minutes=8,
    reference=_previous_token_head,
    probes=({"weights": _encoder(7)}, {"weights": _decoder(5)}, {"weights": _encoder(11)}),
    parts=("layer", "head"),
    facts=_facts,
    praise="The sub-diagonal's mean, layer by layer and head by head. Now ask MiniLM.",
    mistakes=(
        Mistake(
            "the next token",
            lambda weights: _best(_at(weights, 1)),
            _READS + "Yours reads the *next* one, with {following}. A row is a query t, a column a "
            "key: the previous token is at `[t, t - 1]`, `diagonal(offset=-1)`.",
        ),
        Mistake(
            "the token itself",
            lambda weights: _best(_at(weights, 0)),
            _READS + "Yours reads the token itself, with {itself}: that is the diagonal. The "
            "previous token is one below it, `diagonal(offset=-1)`.",
        ),
        Mistake(
            "the token before the previous",
            lambda weights: _best(_at(weights, -2)),
            _READS + "Yours reads the token two places back, with {before_last}: `t - 1` is meant, "
            "offset −1.",
        ),
        Mistake(
            "the first token",
            lambda weights: _best(weights[..., 0].mean(dim=-1)),
            _READS + "Yours reads the first token, with {first} on average, as many heads do. The "
            "previous token is another column in every row.",
        ),
        Mistake(
            "one row alone",
            lambda weights: _best(weights.diagonal(offset=-1, dim1=-2, dim2=-1).amax(dim=-1)),
            _READS + "In one row yours puts {top} there, the largest single weight. Take the mean "
            "over the rows: one place is an anecdote.",
        ),
        Mistake(
            "row 0 wraps around",
            _wrapped,
            _READS + "The first token has no previous one. In row 0 you read column −1, which is "
            "the last: {wrapped} in your head. Begin at row 1.",
        ),
        Mistake(
            "counts the rows",
            _counted,
            _READS + "You count the rows whose largest weight is there, however large. The mean "
            "weight is asked for.",
        ),
        Mistake(
            "the place in the flattened table",
            _flat,
            "You gave {got}, the place in the flattened table of {L}·{H} heads, which is what "
            "`argmax` returns. Layer and head are `divmod({got}, {H})`, or `torch.unravel_index`.",
        ),
        Mistake(
            "divided by the number of layers",
            lambda weights: divmod(_flat(weights), weights.shape[0]),
            "You gave {named}: the flat place, divided by the number of layers, {L}. A layer holds "
            "{H} heads: divide by {H}.",
        ),
        Mistake(
            "head and layer exchanged",
            lambda weights: _previous_token_head(weights)[::-1],
            "You gave {named}, and {right} is right: the two are exchanged. The first axis counts "
            "layers: `return layer, head`.",
        ),
        Mistake(
            "layer and head chosen apart",
            _apart,
            _READS + "You choose the layer that is best over its heads, and the head that is best "
            "over the layers. That place may be no good head itself: compare all {L}·{H}.",
        ),
        Mistake(
            "the best head of the best layer",
            _layer_first,
            _READS + "You first choose the layer with the best mean over its heads. The best head "
            "may be in another: compare all {L}·{H}.",
        ),
        Mistake(
            "the first layer alone",
            lambda weights: (0, int(_at(weights, -1)[0].argmax())),
            _READS + "You look at layer 0 alone, and there are {L}.",
        ),
        Mistake(
            "the last layer alone",
            lambda weights: (len(weights) - 1, int(_at(weights, -1)[-1].argmax())),
            _READS + "You look at the last layer alone, and there are {L}.",
        ),
        Mistake(
            "a table of means",
            lambda weights: _at(weights, -1),
            "The means are right, one for each of {L}·{H} heads. Asked for is where the largest "
            "is: `argmax`, then layer and head from the flat place.",
        ),
    ),
)


def check_previous_token_head(previous_token_head: Any) -> Verdict:
    """Judge ``previous_token_head(weights)``: the (layer, head) that reads the previous token.

    ``weights`` (L, H, T, T) holds the attention weights of one text. Asked for is the head with
    the largest mean of ``weights[layer, head, t, t - 1]`` over t = 1 … T − 1.

    >>> check_previous_token_head(lambda weights: (0, 0)).passed
    False
    """
    return PREVIOUS_TOKEN.check(previous_token_head)
