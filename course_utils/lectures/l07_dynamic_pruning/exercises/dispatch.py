"""Exercise 1 of lecture 07: hand each expert the tokens that chose it, and no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from course_utils.lectures.l07_dynamic_pruning.exercises.dispatch_capacity import ROOM
from course_utils.lectures.l07_dynamic_pruning.exercises.dispatch_experts import (
    AT,
    dispatch_stage,
    dispatch_with,
    faulty,
    look_at_experts,
)
from course_utils.teaching.stages import check_in_turn
from course_utils.teaching.verdict import Verdict
from course_utils.teaching.watched import watched

__all__ = ["DISPATCH", "check_dispatch"]


def _weighing(weigh: Callable[..., Any]) -> Callable[..., Any]:
    return dispatch_with(weigh=weigh)


def _assign(out, token, y):
    out[token] = y


def _all_on_all(x, chosen, gates, experts, room):
    share = torch.zeros(len(x), len(experts)).scatter_(1, chosen, gates)  # (N, E)
    return sum(share[:, e, None] * expert(x) for e, expert in enumerate(experts))


def _all_on_all_in_each_place(x, chosen, gates, experts, room):
    out = torch.zeros_like(x)
    for place in range(chosen.shape[1]):
        everything = torch.stack([expert(x) for expert in experts])  # (E, N, C)
        out += gates[:, place, None] * everything[chosen[:, place], torch.arange(len(x))]
    return out


def _one_by_one(x, chosen, gates, experts, room):
    out = torch.zeros_like(x)
    for token in range(len(x)):
        for place, number in enumerate(chosen[token].tolist()):
            out[token] += gates[token, place] * experts[number](x[token])
    return out


def _first_choice_alone(x, chosen, gates, experts, room):
    return dispatch_with()(x, chosen[:, :1], gates[:, :1], experts, room)


def _in_the_experts_order(x, chosen, gates, experts, room):
    parts = []
    for number, expert in enumerate(experts):
        token, place = torch.where(chosen == number)
        parts.append(gates[token, place, None] * expert(x[token]))
    return torch.cat(parts)


def _token_and_place_exchanged(x, chosen, gates, experts, room):
    for number in range(len(experts)):
        place, token = torch.where(chosen == number)
        gates[token, place]


def _refused(gates_of: Callable[..., Any], *, left: bool) -> Callable[..., Any]:
    """Gates that do not fit the expert's rows, on the left of the product or on its right."""

    def dispatch(x, chosen, gates, experts, room):
        for number, expert in enumerate(experts):
            token, place = torch.where(chosen == number)
            gate, y = gates_of(gates, token, place), expert(x[token])
            _ = gate * y if left else y * gate

    return dispatch


def _not_a_column(gates, token, place):
    return gates[token, place]


def _all_of_the_token(gates, token, place):
    return gates[token]


# First with room for all, so that what is wrong with the dispatch itself is told first.
DISPATCH = dispatch_stage(
    rooms=(14, 15),
    mistakes=(
        faulty(
            "all experts on all tokens",
            _all_on_all,
            "The output is right, and {computed} rows were computed where {choices} were chosen: "
            "every expert ran on all {N} tokens, expert 0 on {rows} where {load} chose it. Pick "
            "its tokens first, `x[token]`, then call it.",
        ),
        faulty(
            "all experts on all tokens, in each place",
            _all_on_all_in_each_place,
            "The output is right, and {computed} rows were computed where {choices} were chosen: "
            "every expert ran on all {N} tokens, {k} times over. Find the tokens of an expert "
            "first, `torch.where(chosen == number)`, and give it those.",
        ),
        faulty(
            "no gates",
            _weighing(lambda gates, token, place, number: 1.0),
            AT + "The experts' outputs are added as they are. Each counts by its gate, "
            "`gates[token, place]`.",
        ),
        faulty(
            "the mean",
            _weighing(lambda gates, token, place, number: 1 / gates.shape[1]),
            AT + "You take the mean of the {k} experts. Each counts by its own gate.",
        ),
        faulty(
            "the last expert wins",
            dispatch_with(add=_assign),
            AT + "Of a token's {k} experts only the last one called is left: it overwrites what "
            "the others gave. Add: `out[token] += …` within the loop, or `index_add_`. (A single "
            "`out[token] += …` with a token twice in the index writes it once.)",
        ),
        faulty(
            "first choice alone",
            _first_choice_alone,
            AT + "You send each token to its first expert alone: {computed} rows instead of "
            "{choices}. `chosen` has {k} columns.",
        ),
        faulty(
            "the first gate for all",
            _weighing(lambda gates, token, place, number: gates[token, :1]),
            AT + "Every expert's output is multiplied by the token's first gate. The gate stands "
            "where the expert stands: `gates[token, place]`.",
        ),
        faulty(
            "gates from the other end",
            _weighing(lambda gates, token, place, number: gates[token, -1 - place, None]),
            AT + "The gates are in the wrong order: the first choice gets the last gate. "
            "`gates[n, j]` belongs to `chosen[n, j]`.",
        ),
        faulty(
            "gates by the expert's number",
            _weighing(lambda g, token, place, number: g[token, number % g.shape[1], None]),
            AT + "You take the gate by the expert's number. Column j of `gates` belongs to column "
            "j of `chosen`, whichever expert stands there.",
        ),
        faulty(
            "gates of the first rows",
            _weighing(lambda gates, token, place, number: gates[: len(token), 0, None]),
            AT + "You take the gates from the top, whichever tokens came. They belong to those "
            "tokens: `gates[token, place]`.",
        ),
        faulty(
            "softmax over the gates again",
            _weighing(lambda g, token, place, number: g.softmax(dim=1)[token, place, None]),
            AT + "You put the gates through another softmax. They are given as they shall be "
            "used; those of token 0 sum to {gates}.",
        ),
        faulty(
            "gates normalised",
            _weighing(
                lambda g, token, place, number: (g / g.sum(dim=1, keepdim=True))[token, place, None]
            ),
            AT + "You divide the gates by their sum. They are given as they shall be used; those "
            "of token 0 sum to {gates}.",
        ),
        faulty(
            "the gates' sum",
            _weighing(lambda gates, token, place, number: gates[token].sum(dim=1, keepdim=True)),
            AT + "You multiply each expert's output by the sum of all the token's gates. Its own "
            "is `gates[token, place]`.",
        ),
        faulty(
            "gates on the inputs",
            dispatch_with(give=lambda x, gate: gate * x, weigh_output=False),
            AT + "You multiply what the expert reads by the gate. An expert is not linear, so a "
            "scaled input does not give a scaled output: the gate goes on what it gives.",
        ),
        faulty(
            "gates on inputs and outputs",
            dispatch_with(give=lambda x, gate: gate * x),
            AT + "The gate is multiplied in twice: on what the expert reads and on what it gives. "
            "It belongs to the output alone.",
        ),
        faulty(
            "stops at an unused expert",
            dispatch_with(stop_at_unused=True),
            AT + "No token chose expert {unused}, and those after it were not called: `break` or "
            "`return` where `continue` is meant.",
        ),
        faulty(
            "the input added",
            lambda x, *others: x + dispatch_with()(x, *others),
            AT + "You add `x` itself. The residual is added by the block around this layer.",
        ),
        faulty(
            "in the experts' order",
            _in_the_experts_order,
            "You return {choices} rows, one for each choice, in the experts' order. The rows of "
            "one token are to be added, and stand where the token stood: "
            "`out.index_add_(0, token, y)` with `out` (N, C).",
        ),
        faulty(
            "token and place exchanged",
            _token_and_place_exchanged,
            "`torch.where(chosen == number)` gives rows first: `token, place`, in this order. You "
            "use the tokens' numbers, up to {N}, for the {k} places.",
        ),
        faulty(
            "gates not a column",
            _refused(_not_a_column, left=True),
            "Your gates have one axis, (n,), the expert's output has two, (n, {C}); torch lines up "
            "the last axes. Make it a column: `gates[token, place, None] * y`.",
        ),
        faulty(
            "gates not a column, on the right",
            _refused(_not_a_column, left=False),
            "The expert's output has two axes, (n, {C}), your gates one, (n,); torch lines up the "
            "last axes. Make it a column: `y * gates[token, place, None]`.",
        ),
        faulty(
            "all gates of a token",
            _refused(_all_of_the_token, left=True),
            "`gates[token]` are all {k} gates of each token, (n, {k}); the output is (n, {C}). "
            "The expert's own is one number for each token: `gates[token, place, None] * y`.",
        ),
        faulty(
            "all gates of a token, on the right",
            _refused(_all_of_the_token, left=False),
            "The output is (n, {C}), and `gates[token]` are all {k} gates of each token, (n, {k}). "
            "The expert's own is one number for each token: `y * gates[token, place, None]`.",
        ),
        faulty(
            "token by token",
            _one_by_one,
            "Only chosen tokens are computed, and one at a time: one expert was called {calls} "
            "times, once for each of its tokens. A matrix product of many rows at once is what "
            "makes experts fast: gather its tokens, and call it once.",
            part=2,
        ),
    ),
)


def check_dispatch(dispatch: Any) -> Verdict:
    """Judge ``dispatch(x, chosen, gates, experts, room)``, returning (N, C).

    x (N, C) are tokens, ``chosen`` (N, k) the numbers of each token's experts, ``gates`` (N, k)
    what their outputs are multiplied by, ``experts`` a list of functions from (n, C) to (n, C).
    ``out[n]`` is the sum over j of ``gates[n, j] * experts[chosen[n, j]](x[n])``, and no expert
    computes a token that has not chosen it (Shazeer et al. 2017, section 3.1). Of those that have,
    the first ``room`` in the order of the tokens are computed; the others add nothing. The check
    counts the rows that each expert is given, and its calls: more than k for one are too many.

    >>> check_dispatch(lambda x, chosen, gates, experts, room: x).passed
    False
    """
    return check_in_turn(watched(dispatch, look_at_experts), DISPATCH, ROOM)
