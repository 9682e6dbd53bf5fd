"""The goals, and whether the measurements meet them: the worst case decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


def place(case: dict) -> str:
    """Return what tells the cases of one goal apart."""
    layout = " split" if case.get("split") else ""
    return f"N {case['N']} {'causal' if case['causal'] else 'full'} {case['dtype']}{layout}"


def plain(least: int) -> Callable[[dict], bool]:
    """Eight heads of 64 in float32, from so many tokens on."""
    usual = (1, 8, 8, 64, "float32")
    return lambda c: c["N"] >= least and (c["B"], c["H"], c["G"], c["D"], c["dtype"]) == usual


def heavy(*widths: int) -> Callable[[dict], bool]:
    """4096 tokens and more, 64 heads and more of such a width, in 16 bits."""
    return lambda c: (
        c["N"] >= 4096 and c["B"] * c["H"] >= 64 and c["dtype"] != "float32" and c["D"] in widths
    )


class Goal(NamedTuple):
    """How many times as long ours may take as a rival, in one pass of the cases that `fits`."""

    text: str
    rival: str
    what: str
    bound: float
    fits: Callable[[dict], bool]

    def judge(self, cases: list[dict]) -> dict:
        """Return the worst case beside the bound; `met` is None where nothing was measured."""
        found = []
        for case in filter(self.fits, cases):
            measured = case["results"].get(self.rival, {"passes": {}})["passes"].get(self.what, {})
            if "ours_takes_times" in measured:
                found.append((measured["ours_takes_times"][0], place(case)))
        worst, where = max(found, default=(None, ""))
        met = None if worst is None else worst <= self.bound
        said = {"text": self.text, "bound": round(self.bound, 2), "worst": worst}
        return {**said, "where": where, "met": met}


GOALS = {
    "cpu": [
        Goal("forward over SDPA's, N ≥ 128", "sdpa", "forward", 1.05, plain(128)),
        Goal("forward+backward over SDPA's, N ≥ 1024", "sdpa", "both", 1.15, plain(1024)),
        Goal("forward over naive, N ≥ 2048", "naive", "forward", 1 / 3, plain(2048)),
        Goal("forward+backward over naive, N ≥ 2048", "naive", "both", 1 / 3, plain(2048)),
    ],
    "cuda": [
        Goal("forward D 64 over SDPA flash", "flash", "forward", 1 / 1.20, heavy(64)),
        Goal("forward D 64 over SDPA cuDNN", "cudnn", "forward", 1 / 0.95, heavy(64)),
        Goal("forward D 128 over SDPA flash", "flash", "forward", 1 / 1.25, heavy(128)),
        Goal("forward D 128 over SDPA cuDNN", "cudnn", "forward", 1 / 0.80, heavy(128)),
        Goal("backward D 64 over SDPA flash", "flash", "backward", 1 / 1.05, heavy(64)),
        Goal("backward D 128 over SDPA flash", "flash", "backward", 1 / 0.95, heavy(128)),
        # 2 % for noise: what rounds differ by is not known before it has been measured there.
        Goal("forward, grouped heads over H heads", "ours_mha", "forward", 1.02, heavy(64, 128)),
        Goal("backward, grouped heads over H heads", "ours_mha", "backward", 1.02, heavy(64, 128)),
    ],
}
