"""Exercise 4 of lecture 03: find the head that attends to the previous token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from course_utils.teaching.exercise import Exercise


def _head(T: int, *, shift: int = 0, share: float = 0.0) -> torch.Tensor:
    """Weights (T, T): ``share`` on the key ``shift`` places on, the rest spread evenly."""
    pattern = torch.zeros(T, T)
    rows = torch.arange(T)
    inside = (rows + shift >= 0) & (rows + shift < T)
    pattern[rows[inside], (rows + shift)[inside]] += share
    return pattern + (1 - pattern.sum(dim=-1, keepdim=True)) / T


def _one_row(head: torch.Tensor, row: int, key: int, share: float) -> torch.Tensor:
    """The same head with one row that attends to one key almost alone."""
    head = head.clone()
    head[row] = (1 - share) / (len(head) - 1)
    head[row, key] = share
    return head


def _on_one_key(T: int, key: int, share: float) -> torch.Tensor:
    """A head of which every row puts ``share`` on the same key."""
    head = torch.full((T, T), (1 - share) / (T - 1))
    head[:, key] = share
    return head


def _encoder(T: int) -> torch.Tensor:
    """Three layers of five heads, each of which a wrong way to look picks out; (2, 1) is right."""
    even, previous = _head(T), _head(T, shift=-1, share=0.55)
    layers = (
        (
            _on_one_key(T, 0, 0.9),
            _head(T, shift=-1, share=0.3),
            _head(T, shift=1, share=0.9),
            _on_one_key(T, T - 2, 0.95),
            _on_one_key(T, T - 1, 0.95),
        ),
        # A layer of good heads, of which none is the best.
        (
            _head(T, shift=-1, share=0.35),
            _one_row(_head(T, shift=-1, share=0.35), 0, T - 1, 0.98),
            _one_row(_head(T, shift=-1, share=0.2), 3, 2, 0.99),
            _head(T, shift=-1, share=0.38),
            _head(T, shift=-1, share=0.3),
        ),
        # In the best head row 0 attends to itself, and row 4 to the first token. The next one is
        # better but for its last row, and the one after it in that row only.
        (
            _head(T, share=0.9),
            _one_row(_one_row(previous, 0, 0, 0.9), 4, 0, 0.5),
            _one_row(_head(T, shift=-1, share=0.53), T - 1, 0, 0.9),
            _one_row(even, T - 1, T - 2, 0.97),
            _head(T, shift=-1, share=0.4),
        ),
    )
    return torch.stack([torch.stack(heads) for heads in layers])


def _decoder(T: int) -> torch.Tensor:
    """Two layers of seven heads under a causal mask; (0, 5) is right."""
    heads = [_head(T)] * 14
    heads[2] = _one_row(_head(T, shift=-1, share=0.3), 3, 2, 0.95)
    heads[4], heads[5] = _head(T, shift=-1, share=0.4), _head(T, shift=-1, share=0.6)
    heads[8] = _head(T, share=0.9)
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


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """What the head that was given attends to, beside the right one."""
    weights = inputs["weights"]
    L, H = weights.shape[:2]
    best = _previous_token_head(weights)
    facts: dict[str, Any] = {"L": L, "H": H, "best": float(_at(weights, -1)[best])}
    facts["right"] = f"layer {best[0]}, head {best[1]}"
    if isinstance(got, tuple | list) and len(got) == 2:
        layer, head = int(got[0]), int(got[1])
        facts["named"] = f"layer {layer}, head {head}"
        if layer < L and head < H:
            own = weights[layer, head]
            facts |= {"previous": float(_at(own, -1)), "itself": float(_at(own, 0))}
            facts |= {"following": float(_at(own, 1)), "top": float(own.diagonal(-1).max())}
            facts["wrapped"] = float(own[0, -1])
    return facts


_WEIGHT = (
    "You gave {named}. On the previous token it puts {previous} on average, {right} puts {best}. "
)

PREVIOUS_TOKEN = Exercise(
    title="Find the head that attends to the previous token",
    function="previous_token_head",
    difficulty=2,
    minutes=8,
    reference=_previous_token_head,
    probes=({"weights": _encoder(7)}, {"weights": _decoder(5)}, {"weights": _encoder(11)}),
    parts=("layer", "head"),
    facts=_facts,
    praise="The sub-diagonal's mean, layer by layer and head by head. Now ask MiniLM.",
)


@PREVIOUS_TOKEN.mistake(begins=_WEIGHT)
def the_next_token(weights):
    """Yours attends to the *next* one, with {following}. A row is a query t, a column a key: the
    previous token is at `[t, t - 1]`, `offset=-1` in `diagonal`."""
    return _best(_at(weights, 1))


@PREVIOUS_TOKEN.mistake(begins=_WEIGHT)
def the_token_itself(weights):
    """Yours attends to the token itself, with {itself}: that is the diagonal. The previous token is
    one below it, `offset=-1` in `diagonal`."""
    return _best(_at(weights, 0))


@PREVIOUS_TOKEN.mistake(begins=_WEIGHT)
def one_row_alone(weights):
    """In one row yours puts {top} there, the largest single weight. Take the mean over the rows:
    one place is an anecdote."""
    return _best(weights.diagonal(offset=-1, dim1=-2, dim2=-1).amax(dim=-1))


@PREVIOUS_TOKEN.mistake(begins=_WEIGHT)
def the_last_row_alone(weights):
    """You look at the last row alone, `[-1, -2]`. Take the mean over all rows from 1 on: one place
    is an anecdote."""
    return _best(weights[..., -1, -2])


@PREVIOUS_TOKEN.mistake(begins=_WEIGHT)
def without_the_last_row(weights):
    """Your mean stops before the last row. t runs from 1 to T − 1, which is
    `range(1, T)`."""
    return _best(_at(weights[..., :-1, :-1], -1))


@PREVIOUS_TOKEN.mistake(begins=_WEIGHT)
def all_earlier_tokens(weights):
    """You add up all weights below the diagonal, so any earlier token counts. Only `[t, t - 1]` is
    asked for, the entries just below the diagonal."""
    return _best(weights.tril(-1).sum(dim=(-1, -2)))


@PREVIOUS_TOKEN.mistake(begins=_WEIGHT)
def the_whole_block(weights):
    """You take the mean of the whole block `[1:, :-1]`. Row t goes with column t − 1 only: of this
    block you need the diagonal."""
    return _best(weights[..., 1:, :-1].mean(dim=(-1, -2)))


@PREVIOUS_TOKEN.mistake(begins=_WEIGHT)
def row_0_wraps_around(weights):
    """The first token has no previous one. In row 0 you read column −1, which is the last:
    {wrapped} in your head. Begin at row 1."""
    rows = torch.arange(weights.shape[-1])  # row 0 takes the key at -1, the last one
    return _best(weights[..., rows, rows - 1].mean(dim=-1))


@PREVIOUS_TOKEN.mistake(begins=_WEIGHT)
def counts_the_rows(weights):
    """You count the rows whose largest weight is there, however large. The mean weight is asked
    for."""
    previous = torch.arange(weights.shape[-1]) - 1
    return _best((weights.argmax(dim=-1) == previous).sum(dim=-1))


@PREVIOUS_TOKEN.mistake()
def the_place_in_the_flattened_table(weights):
    """You gave {got}, the place in the flattened table of {L}·{H} heads, which is what `argmax`
    returns. Layer and head are `divmod({got}, {H})`, or `torch.unravel_index`."""
    return _flat(weights)


@PREVIOUS_TOKEN.mistake()
def divided_by_the_number_of_layers(weights):
    """You gave {named}: the flat place, divided by the number of layers, {L}. A layer holds {H}
    heads: divide by {H}."""
    return divmod(_flat(weights), weights.shape[0])


@PREVIOUS_TOKEN.mistake()
def divided_by_12(weights):
    """You gave {named}: the flat place, divided by 12. That is how many heads a layer of MiniLM
    has; here there are {H}. `weights.shape[1]` is always right."""
    return divmod(_flat(weights), 12)


@PREVIOUS_TOKEN.mistake()
def the_diagonal_of_layers_and_heads(weights):
    """`diagonal` takes the first two axes unless told otherwise, and here these are layers and
    heads. You need those of queries and keys: `dim1=-2, dim2=-1`."""
    place = int(weights.diagonal(offset=-1).mean(dim=-1).argmax())
    return divmod(place, weights.shape[1])


@PREVIOUS_TOKEN.mistake()
def head_and_layer_exchanged(weights):
    """You gave {named}, and {right} is right: the two are exchanged. The first axis counts layers:
    `return layer, head`."""
    return _previous_token_head(weights)[::-1]


@PREVIOUS_TOKEN.mistake(begins=_WEIGHT)
def the_best_head_of_the_best_layer(weights):
    """You first choose the layer with the best mean over its heads. The best head may be in
    another: compare all {L}·{H}."""
    scores = _at(weights, -1)
    layer = int(scores.mean(dim=1).argmax())
    return layer, int(scores[layer].argmax())


@PREVIOUS_TOKEN.mistake()
def a_table_of_means(weights):
    """The means are right, one for each of {L}·{H} heads. Asked for is where the largest is:
    `argmax`, then layer and head from the flat place."""
    return _at(weights, -1)
