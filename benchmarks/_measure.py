"""Measure one case: check every rival, then time them side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from benchmarks._cases import Case
from benchmarks._check import checked_error, reason
from benchmarks._rivals import Attend, attend_with
from benchmarks._timing import Clock, Job, Lap, interleave, quartiles, ratio


@dataclass
class Entrant:
    """A rival that has passed the check, with its inputs."""

    attend: Attend
    inputs: tuple[Tensor, Tensor, Tensor]
    slope: Tensor
    error: float

    def forward(self, lap: Lap) -> Tensor:
        """What is timed: forward alone, without gradients."""
        return self.attend(*(x.detach() for x in self.inputs))

    def both(self, lap: Lap) -> object:
        """What is timed: forward, then backward, with a lap between."""
        out = self.attend(*self.inputs)
        lap()
        return torch.autograd.grad(out, self.inputs, self.slope)


def measure_case(case: Case, device: str, clock: Clock, pace: dict) -> dict[str, object]:
    """Return a case's results by rival, and for each rival left out the reason."""
    entrants: dict[str, Entrant] = {}
    left_out: dict[str, str] = {}
    for rival in case.rivals:
        try:
            entrants[rival] = enter(rival, case, device)
        except Exception as error:  # a rival that fails, of whatever, must not end the others
            left_out[rival] = reason(error)
    jobs: dict[tuple[str, str], Job] = {}
    for name, entrant in entrants.items():
        jobs |= {(name, "forward"): entrant.forward, (name, "both"): entrant.both}
    laps = interleave(jobs, clock, **pace)
    seconds = {name: by_pass(laps[name, "forward"], laps[name, "both"]) for name in entrants}
    results = {
        name: {
            "error": float(f"{entrant.error:.2g}"),
            "passes": {what: summary(name, what, seconds) for what in seconds[name]},
        }
        for name, entrant in entrants.items()
    }
    return {**case.shape, "results": results, "left_out": left_out}


def enter(rival: str, case: Case, device: str) -> Entrant:
    """Let a rival compute the case once; raise CannotRun where that is wrong.

    Every job has then run once, also the one without gradients, which is another plan and another
    compiled kernel: what a first call costs falls into no timed round.
    """
    shape = replace(case, G=case.H) if rival == "ours_mha" else case
    inputs, slope = shape.inputs(device, gradients=True), shape.slope(device)
    attend = attend_with(rival, shape, device)
    out = attend(*inputs)
    results = [out.detach(), *torch.autograd.grad(out, inputs, slope)]
    attend(*(x.detach() for x in inputs))
    error = checked_error(shape, device, results)  # waits for the device
    return Entrant(attend, inputs, slope, error)


def by_pass(forward: list[list[float]], both: list[list[float]]) -> dict[str, list[float]]:
    """Return the seconds of each round: forward alone, backward alone, and both in a row."""
    return {
        "forward": [lap for (lap,) in forward],
        "backward": [lap for _, lap in both],
        "both": [sum(laps) for laps in both],
    }


def summary(
    name: str, what: str, seconds: dict[str, dict[str, list[float]]]
) -> dict[str, list[float] | int]:
    """Return a rival's times in one pass, and how many times as long ours takes."""
    mine = seconds[name][what]
    found = {"ms": quartiles([1e3 * second for second in mine]), "rounds": len(mine)}
    if name != "ours" and "ours" in seconds:
        found["ours_takes_times"] = ratio(seconds["ours"][what], mine)
    return found
