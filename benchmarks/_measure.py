"""Measure one case: check every rival, then time them side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from benchmarks._cases import Case
from benchmarks._check import TOLERANCE, references, worst_error
from benchmarks._rivals import Attend, CannotRun, attend_with, passes, too_large
from benchmarks._timing import Clock, Job, Lap, Spread, interleave, ratio


@dataclass(frozen=True)
class Pace:
    """How long to measure: seconds a case, and between how many rounds."""

    seconds: float
    at_least: int
    at_most: int


@dataclass
class Entrant:
    """A rival that has passed the check, with its inputs."""

    attend: Attend
    inputs: tuple[Tensor, Tensor, Tensor]
    what: tuple[str, ...]
    error: float


def measure_case(
    case: Case, device: str, clock: Clock, pace: Pace, available: float
) -> dict[str, object]:
    """Return a case's results by rival, and for each rival left out the reason."""
    entrants: dict[str, Entrant] = {}
    left_out: dict[str, str] = {}
    expected: dict[int, list[list[Tensor]]] = {}
    for rival in case.rivals:
        shape = replace(case, G=case.H) if rival == "ours_mha" else case
        what = passes(rival, shape, available)
        try:
            if not what:
                raise CannotRun(too_large(shape, "forward"))
            entrants[rival] = enter(rival, shape, device, what, expected)
        except Exception as error:  # a rival that fails, of whatever, must not end the others
            left_out[rival] = reason(error)
    laps = interleave(
        {f"{name} {what}": job for name, e in entrants.items() for what, job in jobs(e).items()},
        clock,
        seconds=pace.seconds,
        at_least=pace.at_least,
        at_most=pace.at_most,
        coarse=tuple(f"naive {what}" for what in ("forward", "both")),
    )
    results = {name: summary(name, entrants, laps) for name in entrants}
    return {**case.shape, "results": results, "left_out": left_out}


def reason(error: Exception) -> str:
    """Return why something is left out, in one line."""
    first = [*str(error).strip().splitlines(), ""][0]
    return first if isinstance(error, CannotRun) else f"{type(error).__name__}: {first}"


def enter(
    rival: str,
    case: Case,
    device: str,
    what: tuple[str, ...],
    expected: dict[int, list[list[Tensor]]],
) -> Entrant:
    """Let a rival compute the case once; raise CannotRun where that is wrong.

    Every job has then run once, also the one without gradients, which is another plan and another
    compiled kernel: what a first call costs falls into no timed round.
    """
    inputs = case.inputs(device, gradients="both" in what)
    slope = slope_for(inputs[0])
    if case.G not in expected:
        expected[case.G] = references(case, list(case.inputs(device)), slope)
    attend = attend_with(rival, case, device)
    out = attend(*inputs)
    results = [out.detach()]
    if "both" in what:
        results += torch.autograd.grad(out, inputs, slope)
        attend(*(x.detach() for x in inputs))
    error = worst_error(case, results, expected[case.G])  # waits for the device
    if not error <= TOLERANCE[case.dtype]:
        raise CannotRun(f"wrong: off by {error:.1e}, allowed {TOLERANCE[case.dtype]:.0e}")
    return Entrant(attend, inputs, what, error)


def slope_for(q: Tensor) -> Tensor:
    """Return the gradient that is handed back: as random as the inputs, the same every time."""
    generator = torch.Generator(q.device).manual_seed(1)
    return torch.randn(q.shape, generator=generator, device=q.device).to(q.dtype)


def jobs(entrant: Entrant) -> dict[str, Job]:
    """Return what is timed: forward alone, and forward then backward with a lap between."""
    attend, inputs = entrant.attend, entrant.inputs
    plain = tuple(x.detach() for x in inputs)
    slope = slope_for(plain[0])

    def forward(lap: Lap) -> Tensor:
        return attend(*plain)

    def both(lap: Lap) -> object:
        out = attend(*inputs)
        lap()
        return torch.autograd.grad(out, inputs, slope)

    every: dict[str, Callable[[Lap], object]] = {"forward": forward, "both": both}
    return {what: every[what] for what in entrant.what}


def summary(
    name: str, entrants: dict[str, Entrant], laps: dict[str, list[list[float]]]
) -> dict[str, object]:
    """Return a rival's times, and how many times as long ours takes."""
    entrant = entrants[name]
    mine = seconds_by_pass(name, entrant, laps)
    ours = seconds_by_pass("ours", entrants["ours"], laps) if "ours" in entrants else {}
    passes = {}
    for what, seconds in mine.items():
        milliseconds = Spread.of([1e3 * s for s in seconds])
        passes[what] = {"ms": milliseconds.rounded, "rounds": len(seconds)}
        if what in ours and name != "ours":
            both = min(len(ours[what]), len(seconds))  # who sits out does so at the end
            passes[what]["ours_takes_times"] = ratio(ours[what][:both], seconds[:both]).rounded
    return {"error": float(f"{entrant.error:.2g}"), "passes": passes}


def seconds_by_pass(
    name: str, entrant: Entrant, laps: dict[str, list[list[float]]]
) -> dict[str, list[float]]:
    """Return the seconds of each round: forward alone, backward alone, and both in a row."""
    found = {"forward": [lap[0] for lap in laps[f"{name} forward"]]}
    if "both" in entrant.what:
        rounds = laps[f"{name} both"]
        found["backward"] = [backward for _, backward in rounds]
        found["both"] = [forward + backward for forward, backward in rounds]
    return found
