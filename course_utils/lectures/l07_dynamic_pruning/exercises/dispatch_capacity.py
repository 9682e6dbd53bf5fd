"""The second stage of lecture 07's first exercise: experts that have room for a few tokens."""

from __future__ import annotations

import torch

from course_utils.lectures.l07_dynamic_pruning.exercises.dispatch_experts import (
    AT,
    dispatch_stage,
    dispatch_with,
    faulty,
)

__all__ = ["ROOM"]

ROOM = dispatch_stage(
    rooms=(3, 1),
    mistakes=(
        faulty(
            "no limit",
            dispatch_with(keep=lambda token, place, gates, room: slice(None)),
            "Right where there is room for all. Expert {full} has room for {room}, was chosen "
            "{asked} times, and computed {computed_full} rows. Of those that chose an expert only "
            "the first `room` are computed, the others add nothing.",
        ),
        faulty(
            "the last come first",
            dispatch_with(keep=lambda token, place, gates, room: slice(-room, None)),
            AT + "Where an expert is full you keep the last {room} that chose it. Whether a token "
            "is computed would then depend on those after it: the first {room} are kept.",
        ),
        faulty(
            "the largest gates first",
            dispatch_with(
                keep=lambda token, place, gates, room: gates[token, place].argsort(descending=True)[
                    :room
                ]
            ),
            AT + "Where an expert is full you keep those with the largest gates. That is done, "
            "too (V-MoE, 2021); but a later token may then push an earlier one out. Here the first "
            "{room} in the order of the tokens are kept.",
        ),
        faulty(
            "first choices first",
            dispatch_with(keep=lambda token, place, gates, room: place.argsort(stable=True)[:room]),
            AT + "You serve all first choices before any second one, as GShard does. A later "
            "token's first choice then pushes an earlier token's second out. Here they come in the "
            "order of the tokens.",
        ),
        faulty(
            "room in each place",
            dispatch_with(
                keep=lambda token, place, gates, room: torch.cat(
                    [torch.where(place == j)[0][:room] for j in range(gates.shape[1])]
                )
            ),
            "With room for {room} an expert computed up to {k} times as many: you give it that "
            "room for first choices, and again for second ones. It has room for {room} in all.",
        ),
        faulty(
            "one too many",
            dispatch_with(keep=lambda token, place, gates, room: slice(room + 1)),
            "Expert {full} has room for {room} and computed {computed_full} rows: one too many, "
            "as `<=` counts from 0.",
        ),
        faulty(
            "one too few",
            dispatch_with(keep=lambda token, place, gates, room: slice(room - 1)),
            "Expert {full} has room for {room}, was chosen {asked} times and computed "
            "{computed_full} rows: one too few. `token[:room]` are `room` tokens.",
        ),
        faulty(
            "full experts skipped",
            dispatch_with(
                keep=lambda token, place, gates, room: slice(room if len(token) <= room else 0)
            ),
            "Expert {full} has room for {room}, was chosen {asked} times and computed "
            "{computed_full} rows. Too many do not close an expert: the first {room} are computed.",
        ),
    ),
)
