"""What the first exercise of lecture 07 is made of: experts that count, and faulty dispatches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from course_utils.shapes import Float
from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance, observe
from course_utils.teaching.watched import watched

__all__ = [
    "AT",
    "Expert",
    "dispatch_facts",
    "dispatch_stage",
    "dispatch_with",
    "faulty",
    "look_at_experts",
    "probe",
]

# How a message begins that shows one number of the output.
AT = "For token {token}, which chose experts {of_token}, one number is {gave}, expected {want}. "

# Of five experts, the third unused, two for each token; of four experts three.
_CHOSEN = [[0, 3], [3, 1], [0, 1], [3, 0], [1, 3], [4, 3], [1, 0]]
_CHOSEN_OF_FOUR = [[2, 0, 1], [0, 2, 3], [1, 0, 2], [3, 2, 1], [2, 1, 0]]


class Expert:
    """An expert that counts: a map of rows (n, C), and how many it was given in each call.

    >>> expert = Expert(number=0, width=3)
    >>> tuple(expert(torch.ones(5, 3)).shape), expert.calls
    ((5, 3), [5])
    """

    def __init__(self, number: int, width: int) -> None:
        wave = torch.sin(torch.arange(width * width) * 2.1 + 1.3 * number)
        self.weight = wave.reshape(width, width)
        self.calls: list[int] = []

    def __call__(self, x: Float[Tensor, "*n C"]) -> Float[Tensor, "*n C"]:
        """What this expert makes of each row."""
        self.calls.append(x.numel() // len(self.weight))
        return torch.tanh(x @ self.weight)


def probe(
    N: int, C: int, chosen: list[list[int]], num_experts: int, room: int, phase: float
) -> Mapping[str, Any]:
    """Tokens, their experts and gates, the experts, and how many tokens each has room for.

    >>> list(probe(2, 3, [[0], [1]], num_experts=2, room=1, phase=0.4))
    ['x', 'chosen', 'gates', 'experts', 'room']
    """
    x = torch.sin(torch.arange(N * C) * 1.7 + phase).reshape(N, C)
    # They do not sum to 1: not every model's do, and a sum of 1 would hide some mistakes.
    gates = 0.5 + 0.4 * torch.cos(torch.arange(N * len(chosen[0])) * 1.3 + phase)
    experts = [Expert(number, C) for number in range(num_experts)]
    return {
        "x": x,
        "chosen": torch.tensor(chosen),
        "gates": gates.reshape(N, -1),
        "experts": experts,
        "room": room,
    }


def look_at_experts(out: Any, *inputs: Any) -> tuple[Any, Tensor, int]:
    """The output, the rows that each expert computed, and how many calls were beyond k.

    >>> inputs = list(probe(2, 3, [[0], [0]], num_experts=2, room=2, phase=0.4).values())
    >>> look_at_experts(dispatch_with()(*inputs), *inputs)[1:]
    (tensor([2., 0.]), 0)
    """
    _, chosen, _, experts, _ = inputs
    rows = torch.tensor([float(sum(expert.calls)) for expert in experts])
    calls = max(sum(n > 0 for n in expert.calls) for expert in experts)
    return out, rows, max(0, calls - chosen.shape[1])


def _first_in_order(token: Tensor, place: Tensor, gates: Tensor, room: int) -> Any:
    return slice(room)


def dispatch_with(
    *,
    weigh: Callable[..., Any] = lambda gates, token, place, number: gates[token, place, None],
    give: Callable[..., Tensor] = lambda x, gate: x,
    weigh_output: bool = True,
    add: Callable[..., Any] = lambda out, token, y: out.index_add_(0, token, y),
    keep: Callable[..., Any] = _first_in_order,
    stop_at_unused: bool = False,
) -> Callable[..., Tensor]:
    """A dispatch that is right but for what is given.

    ``weigh`` gives the gates of an expert's tokens, ``give`` what the expert reads, ``add`` puts
    its rows into the output, and ``keep`` says which of its choices find room.

    >>> inputs = probe(2, 3, [[0], [1]], num_experts=2, room=1, phase=0.4).values()
    >>> tuple(dispatch_with()(*inputs).shape)
    (2, 3)
    """

    def dispatch(x, chosen, gates, experts, room):
        out = torch.zeros_like(x)
        for number, expert in enumerate(experts):
            token, place = torch.where(chosen == number)
            kept = keep(token, place, gates, room)
            token, place = token[kept], place[kept]
            if len(token) == 0 and stop_at_unused:
                break
            if len(token):
                gate = weigh(gates, token, place, number)
                y = expert(give(x[token], gate))
                add(out, token, gate * y if weigh_output else y)
        return out

    return dispatch


def faulty(name: str, answer: Callable[..., Any], message: str, part: int | None = None) -> Mistake:
    """A mistake whose experts are looked at.

    >>> faulty("gives x", lambda x, *others: x, "You return `x`.").name
    'gives x'
    """
    return Mistake(name, watched(answer, look_at_experts), message, part)


def dispatch_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """Sizes, loads, and the token whose output is furthest off.

    >>> facts = dispatch_facts(probe(2, 3, [[0], [0]], 2, room=1, phase=0.4), None)
    >>> facts["full"], facts["asked"], facts["due"]
    (0, 2, 1)
    """
    x, chosen, gates, experts, room = inputs.values()
    (N, C), k = x.shape, chosen.shape[1]
    load = torch.bincount(chosen.flatten(), minlength=len(experts))
    full = int(load.argmax())
    facts: dict[str, Any] = {"N": N, "C": C, "k": k, "choices": N * k, "load": int(load[0])}
    facts |= {"full": full, "asked": int(load[full]), "due": int(load.clamp(max=room).sum())}
    facts |= {"gates": float(gates[0].sum()), "unused": int((load == 0).int().argmax())}
    if isinstance(got, tuple):
        out, rows, beyond = got
        facts |= {"computed": float(rows.sum()), "rows": float(rows[0]), "calls": beyond + k}
        facts["computed_full"] = float(rows[full])
        right = observe(dispatch_with(), inputs).value
        if isinstance(out, Tensor) and out.shape == right.shape:
            worst = divmod(int((out - right).abs().argmax()), C)
            facts |= {"token": worst[0], "gave": float(out[worst]), "want": float(right[worst])}
            facts["of_token"] = ", ".join(str(e) for e in chosen[worst[0]].tolist())
    return facts


def dispatch_stage(rooms: tuple[int, int], mistakes: tuple[Mistake, ...]) -> Exercise:
    """The exercise with so much room in the experts of each of its two probes.

    >>> dispatch_stage((14, 15), ()).check(watched(dispatch_with(), look_at_experts)).passed
    True
    """
    return Exercise(
        title="Dispatch the tokens",
        difficulty=2,
        minutes=15,
        reference=watched(dispatch_with(), look_at_experts),
        probes=(
            probe(7, 5, _CHOSEN, num_experts=5, room=rooms[0], phase=0.4),
            probe(5, 7, _CHOSEN_OF_FOUR, num_experts=4, room=rooms[1], phase=1.1),
        ),
        parts=("out", "rows of each expert", "calls beyond k"),
        facts=dispatch_facts,
        tolerance=Tolerance(relative=1e-4, absolute=1e-5),
        praise="Each expert computed those that chose it and found room, all at once, and nothing "
        "else: N·k rows at most, however many experts there are. Who found no room is left to the "
        "residual.",
        mistakes=mistakes,
    )
