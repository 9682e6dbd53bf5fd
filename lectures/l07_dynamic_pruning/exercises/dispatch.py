"""Exercise 1: hand each expert the tokens that chose it, and no others.

First with room for all, so that what is wrong with the dispatch itself is told first; then with
experts that have room for a few tokens (Shazeer et al. 2017, section 3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from course_utils.shapes import Float
from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import Tolerance, observe
from course_utils.teaching.watched import watched

# Of five experts, the third unused, two for each token; of four experts three.
_CHOSEN = [[0, 3], [3, 1], [0, 1], [3, 0], [1, 3], [4, 3], [1, 0]]
_CHOSEN_OF_FOUR = [[2, 0, 1], [0, 2, 3], [1, 0, 2], [3, 2, 1], [2, 1, 0]]


class _Expert:
    """An expert that counts: a map of rows (n, C), and how many it was given in each call."""

    def __init__(self, number: int, width: int) -> None:
        wave = torch.sin(torch.arange(width * width) * 2.1 + 1.3 * number)
        self.weight = wave.reshape(width, width)
        self.calls: list[int] = []

    def __call__(self, x: Float[Tensor, "*n C"]) -> Float[Tensor, "*n C"]:
        self.calls.append(x.numel() // len(self.weight))
        return torch.tanh(x @ self.weight)


def _probe(
    N: int, C: int, chosen: list[list[int]], num_experts: int, room: int, phase: float
) -> Mapping[str, Any]:
    x = torch.sin(torch.arange(N * C) * 1.7 + phase).reshape(N, C)
    # They do not sum to 1: not every model's do, and a sum of 1 would hide some mistakes.
    gates = 0.5 + 0.4 * torch.cos(torch.arange(N * len(chosen[0])) * 1.3 + phase)
    return {
        "x": x,
        "chosen": torch.tensor(chosen),
        "gates": gates.reshape(N, -1),
        "experts": [_Expert(number, C) for number in range(num_experts)],
        "room": room,
    }


def _probes(rooms: tuple[int, int]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    return (
        _probe(7, 5, _CHOSEN, num_experts=5, room=rooms[0], phase=0.4),
        _probe(5, 7, _CHOSEN_OF_FOUR, num_experts=4, room=rooms[1], phase=1.1),
    )


def _with_rows_and_calls(out: Any, *inputs: Any) -> tuple[Any, Tensor, int]:
    """The output, the rows that each expert computed, and how many calls were beyond k."""
    _, chosen, _, experts, _ = inputs
    rows = torch.tensor([float(sum(expert.calls)) for expert in experts])
    calls = max(sum(n > 0 for n in expert.calls) for expert in experts)
    return out, rows, max(0, calls - chosen.shape[1])


def _dispatch(
    x,
    chosen,
    gates,
    experts,
    room,
    *,
    weigh: Callable[..., Any] = lambda gates, token, place: gates[token, place, None],
    add: Callable[..., Any] = lambda out, token, y: out.index_add_(0, token, y),
    keep: Callable[..., Any] = lambda token, place, gates, room: slice(room),
):
    """A dispatch that is right but for what is given.

    ``weigh`` gives the gates of an expert's tokens, ``add`` puts its rows into the output, and
    ``keep`` says which of its choices find room.
    """
    out = torch.zeros_like(x)
    for number, expert in enumerate(experts):
        token, place = torch.where(chosen == number)
        kept = keep(token, place, gates, room)
        token, place = token[kept], place[kept]
        if len(token):
            add(out, token, weigh(gates, token, place) * expert(x[token]))
    return out


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """Sizes, loads, and the token whose output is furthest off."""
    x, chosen, _, experts, _ = inputs.values()
    (N, C), k = x.shape, chosen.shape[1]
    load = torch.bincount(chosen.flatten(), minlength=len(experts))
    full = int(load.argmax())
    facts: dict[str, Any] = {"N": N, "C": C, "k": k, "choices": N * k, "load": int(load[0])}
    facts |= {"full": full, "asked": int(load[full])}
    if isinstance(got, tuple):
        out, rows, beyond = got
        facts |= {"computed": float(rows.sum()), "rows": float(rows[0]), "calls": beyond + k}
        facts["computed_full"] = float(rows[full])
        right = observe(_dispatch, inputs).value
        if isinstance(out, Tensor) and out.shape == right.shape:
            worst = divmod(int((out - right).abs().argmax()), C)
            facts |= {"token": worst[0], "gave": float(out[worst]), "want": float(right[worst])}
            facts["of_token"] = ", ".join(str(e) for e in chosen[worst[0]].tolist())
    return facts


# How a message begins that shows one number of the output.
_AT = "For token {token}, which chose experts {of_token}, one number is {gave}, expected {want}. "

DISPATCH = Exercise(
    title="Dispatch the tokens",
    difficulty=2,
    minutes=15,
    function="dispatch",
    reference=_dispatch,
    watch=partial(watched, look=_with_rows_and_calls),
    probes=_probes(rooms=(14, 15)),
    parts=("out", "rows of each expert", "calls beyond k"),
    facts=_facts,
    tolerance=Tolerance(relative=1e-4, absolute=1e-5),
    praise="Each expert computed those that chose it and found room, all at once, and nothing "
    "else: N·k rows at most, however many experts there are. Who found no room is left to the "
    "residual.",
)


@DISPATCH.mistake()
def all_experts_on_all_tokens(x, chosen, gates, experts, room):
    """The output is right, and {computed} rows were computed where {choices} were chosen: every
    expert ran on all {N} tokens, expert 0 on {rows} where {load} chose it. Pick its tokens first,
    `x[token]`, then call it."""
    share = torch.zeros(len(x), len(experts)).scatter_(1, chosen, gates)  # (N, E)
    return sum(share[:, e, None] * expert(x) for e, expert in enumerate(experts))


@DISPATCH.mistake()
def all_tokens_in_each_place(x, chosen, gates, experts, room):
    """The output is right, and {computed} rows were computed where {choices} were chosen: for each
    of the {k} columns of `chosen`, every expert ran on all {N} tokens. Pick its tokens first,
    `x[token]`, then call it."""
    columns = zip(chosen.split(1, dim=1), gates.split(1, dim=1), strict=True)
    return sum(all_experts_on_all_tokens(x, *column, experts, room) for column in columns)


@DISPATCH.mistake(part=2)
def token_by_token(x, chosen, gates, experts, room):
    """Only chosen tokens are computed, and one at a time: one expert was called {calls} times, once
    for each of its tokens. A matrix product of many rows at once is what makes experts fast: gather
    its tokens, and call it once."""
    out = torch.zeros_like(x)
    for token in range(len(x)):
        for place, number in enumerate(chosen[token].tolist()):
            out[token] += gates[token, place] * experts[number](x[token])
    return out


@DISPATCH.mistake(begins=_AT)
def no_gates(*inputs):
    """The experts' outputs are added as they are. Each counts by its gate,
    `gates[token, place, None]`."""
    return _dispatch(*inputs, weigh=lambda gates, token, place: 1.0)


@DISPATCH.mistake(begins=_AT)
def gates_divided_by_their_sum(x, chosen, gates, experts, room):
    """You make a token's gates sum to 1. Some models do, but that is the router's task, and it is
    done: take the gates as they are."""
    return _dispatch(x, chosen, gates / gates.sum(dim=1, keepdim=True), experts, room)


@DISPATCH.mistake(begins=_AT)
def x_added(x, *others):
    """You begin with x and add to it, as a block's residual does. Here only the experts' outputs
    are asked for: begin with zeros."""
    return x + _dispatch(x, *others)


@DISPATCH.mistake(begins=_AT)
def the_last_expert_wins(*inputs):
    """Of a token's {k} experts only the last one called is left: it overwrites what the others
    gave. Add: `out[token] += …` within the loop, or `index_add_`. (A single `out[token] += …` with
    a token twice in the index writes it once.)"""
    return _dispatch(*inputs, add=lambda out, token, y: out.index_copy_(0, token, y))


@DISPATCH.mistake(begins=_AT)
def first_choice_alone(x, chosen, gates, experts, room):
    """You send each token to its first expert alone: {computed} rows instead of {choices}. `chosen`
    has {k} columns."""
    return _dispatch(x, chosen[:, :1], gates[:, :1], experts, room)


@DISPATCH.mistake(begins=_AT)
def gates_on_the_inputs(x, chosen, gates, experts, room):
    """You multiply what the expert reads by the gate. An expert is not linear, so a scaled input
    does not give a scaled output: the gate goes on what it gives."""
    out = torch.zeros_like(x)
    for number, expert in enumerate(experts):
        token, place = torch.where(chosen == number)
        out.index_add_(0, token, expert(gates[token, place, None] * x[token]))
    return out


@DISPATCH.mistake()
def gates_of_the_expert(x, chosen, gates, experts, room):
    """You look up a gate by the number of its expert, `gates[token, number]`. `gates` has {k}
    columns, one for each choice, not for each expert: `torch.where(chosen == number)` gives the
    token and the column."""
    for number in range(len(experts)):
        token, _ = torch.where(chosen == number)
        gates[token, number]


# Of `out[token] + y` and `gates[token, place] * y` torch says the same.
@DISPATCH.mistake()
def one_axis_on_the_left(*inputs):
    """A tensor with one axis, (n,), meets the expert's output with two, (n, {C}), and torch lines
    up the last axes. Is it the gates? Make them a column, `gates[token, place, None]`. Is it `out`?
    It has the shape of x."""
    return _dispatch(*inputs, weigh=lambda gates, token, place: gates[token, place])


@DISPATCH.mistake()
def one_axis_on_the_right(x, chosen, gates, experts, room):
    """The expert's output has two axes, (n, {C}), and what comes after it has one, (n,); torch
    lines up the last axes. Are those the gates? Make them a column, `gates[token, place, None]`."""
    token, place = torch.where(chosen == 0)
    return experts[0](x[token]) * gates[token, place]


WITH_LITTLE_ROOM = DISPATCH.stage(probes=_probes(rooms=(3, 1)))


@WITH_LITTLE_ROOM.mistake()
def no_limit(*inputs):
    """Right where there is room for all. Expert {full} has room for {room}, was chosen {asked}
    times, and computed {computed_full} rows. Of those that chose an expert only the first `room`
    are computed, the others add nothing."""
    return _dispatch(*inputs, keep=lambda token, place, gates, room: slice(None))


@WITH_LITTLE_ROOM.mistake()
def cut_after_the_expert(*inputs):
    """The output is right, but expert {full} has room for {room} and computed {computed_full} rows:
    you drop the others when they are computed. Cut `token` and `place` to `room` first, then call
    the expert."""
    room = inputs[-1]

    def add(out, token, y):
        out.index_add_(0, token[:room], y[:room])

    return _dispatch(*inputs, add=add, keep=lambda *_: slice(None))


@WITH_LITTLE_ROOM.mistake()
def room_in_each_place(x, chosen, gates, experts, room):
    """Expert {full} has room for {room} and computed {computed_full} rows. You go through the
    columns of `chosen` one by one, and in each an expert has all of its room again. It has it once,
    for all columns together."""
    columns = zip(chosen.split(1, dim=1), gates.split(1, dim=1), strict=True)
    return sum(_dispatch(x, *column, experts, room) for column in columns)


@WITH_LITTLE_ROOM.mistake()
def one_too_many(*inputs):
    """Expert {full} has room for {room} and computed {computed_full} rows: one too many, as `<=`
    counts from 0."""
    return _dispatch(*inputs, keep=lambda token, place, gates, room: slice(room + 1))


@WITH_LITTLE_ROOM.mistake(begins=_AT)
def the_largest_gates_first(*inputs):
    """Where an expert is full you keep those with the largest gates. That is done, too (V-MoE,
    2021); but a later token may then push an earlier one out. Here the first {room} in the order of
    the tokens are kept."""

    def largest(token, place, gates, room):
        return gates[token, place].argsort(descending=True)[:room]

    return _dispatch(*inputs, keep=largest)


@WITH_LITTLE_ROOM.mistake(begins=_AT)
def first_choices_first(*inputs):
    """You serve all first choices before any second one, as GShard does. A later token's first
    choice then pushes an earlier token's second out. Here they come in the order of the tokens."""

    def first(token, place, gates, room):
        return place.argsort(stable=True)[:room]

    return _dispatch(*inputs, keep=first)
