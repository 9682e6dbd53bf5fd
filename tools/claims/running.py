"""Run claims side by side in processes, and keep what each group of seeds gave."""

from __future__ import annotations

import ast
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import NoReturn

from tqdm import tqdm

from course_utils.files import write_whole
from course_utils.teaching.claims import Claim, Numbers, Replication, Setting, Statement
from lectures import Lecture
from tools.claims.cells import sources_of
from tools.claims.measuring import (
    AS_STATED,
    ClaimError,
    check_numbers,
    check_seeds_apart,
    claims_named,
    claims_of,
    measure,
    settings_of,
    what_runs,
)
from tools.ending import end_with_parent
from tools.notebook_file import LECTURES

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "claims"
GROUP = 6  # seeds at a time: more are faster side by side, fewer lose less when interrupted
# What a claim says of its numbers, which decides no run.
WORDS = {"sentence", "holds", "at_stake", "effect", "unit", "rival", "settings", "control", "quick"}
NumbersOfClaims = dict[str, list[Numbers]]  # by claim, for each seed


@dataclass(frozen=True)
class Job:
    """Claims of one lecture that share their runs, at one setting, on some seeds."""

    stem: str
    names: tuple[str, ...]
    setting: Setting
    seeds: tuple[int, ...]

    @property
    def path(self) -> Path:
        """Where its numbers are kept: another file after a change of the code."""
        lecture, claims = claims_named(self.stem, self.names)
        package = ROOT / lecture.package.replace(".", "/")
        beside = {"explorers", "teaching"}
        core = {p for p in (ROOT / "course_utils").rglob("*.py") if not beside & {*p.parts}}
        files = {*core, *package.glob("experiments.py"), *package.rglob("experiments/*.py")}
        code = [code_of(path) for path in sorted(files)]
        code.append(code_of(package / "claims.py", self.names))
        for claim in claims:
            if isinstance(claim, Claim):
                code.append(str(sources_of(LECTURES / f"{self.stem}.ipynb", claim.cells)))
        state = hashlib.sha256(f"{code} {self.setting} {self.seeds}".encode()).hexdigest()[:16]
        return KEPT / f"{self.names[0]}-{self.seeds[0]}-{state}.json"

    def run(self) -> NumbersOfClaims:
        """Run it, in a process of its own."""
        os.environ["TQDM_DISABLE"] = "1"
        _, claims = claims_named(self.stem, self.names)
        if self.setting == AS_STATED:
            check_seeds_apart(self.stem, claims, self.seeds[0], self.seeds[0] + 1)
        found = measure(self.stem, claims, self.seeds, self.setting)
        for claim in claims:
            for numbers in found[claim.name]:
                check_numbers(claim, numbers)
        return found

    def kept(self) -> NumbersOfClaims:
        """Return what an earlier run has kept of it; nothing if that is not whole."""
        _, claims = claims_named(self.stem, self.names)
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
            for claim in claims:
                for numbers in found[claim.name]:
                    check_numbers(claim, numbers)
            whole = all(len(found[name]) == len(self.seeds) for name in self.names)
        except (OSError, ValueError, TypeError, LookupError, AttributeError, ClaimError):
            return {}
        return found if whole else {}


def code_of(path: Path, names: Sequence[str] = ()) -> str:
    """Return a file's code without its comments, and of its claims what runs for these."""
    return _code_of(path, path.stat().st_mtime_ns, tuple(names))


@cache
def _code_of(path: Path, _: int, names: tuple[str, ...]) -> str:
    """Read the file again where it was saved since."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and {"name", "sentence"} <= {k.arg for k in call.keywords}:
            [name] = [k.value for k in call.keywords if k.arg == "name"]
            mine = isinstance(name, ast.Constant) and name.value in names
            call.keywords = [k for k in call.keywords if mine and k.arg not in WORDS]
    return ast.dump(tree)


def jobs_of(lecture: Lecture, seeds: Sequence[int]) -> Iterator[Job]:
    """Yield what is to be run for a lecture's claims."""
    shared: dict[tuple, list[Statement]] = {}
    for claim in claims_of(lecture):
        shared.setdefault(what_runs(claim), []).append(claim)
    for claims in shared.values():
        settings = {each.name: each for claim in claims for each in settings_of(claim)}
        for setting in settings.values():
            names = tuple(claim.name for claim in claims if setting in settings_of(claim))
            tried = seeds if setting == AS_STATED else seeds[: setting.seeds]
            for start in range(0, len(tried), GROUP):
                yield Job(lecture.stem, names, setting, tuple(tried[start : start + GROUP]))


def run_all(lectures: Sequence[Lecture], seeds: Sequence[int]) -> dict[str, Replication]:
    """Run every claim of these lectures on these seeds, or take what an earlier run has kept."""
    KEPT.mkdir(parents=True, exist_ok=True)
    jobs = [job for lecture in lectures for job in jobs_of(lecture, seeds)]
    run_jobs([job for job in jobs if not job.kept()], len(jobs))
    numbers: dict[str, dict[str, list[Numbers]]] = {}
    for job in jobs:
        found = job.kept() or unusable(job)
        for name in job.names:
            numbers.setdefault(name, {}).setdefault(job.setting.name, []).extend(found[name])
    return {
        claim.name: summed_up(claim, seeds, numbers[claim.name])
        for lecture in lectures
        for claim in claims_of(lecture)
    }


def unusable(job: Job) -> NoReturn:
    """Say which file must go: claims that share a run must find their numbers in it."""
    raise ClaimError(f"{', '.join(job.names)}: no numbers in {job.path}: delete that file")


def run_jobs(jobs: Sequence[Job], total: int) -> None:
    """Run the jobs that are missing of `total`, one on each processor; keep each as it ends."""
    with (
        ProcessPoolExecutor(
            os.cpu_count(), mp_context=get_context("spawn"), initializer=end_with_parent
        ) as workers,
        tqdm(total=total, initial=total - len(jobs), unit="group") as bar,
    ):
        paths = [job.path for job in jobs]  # of the code as it is before any of them runs
        running = {
            workers.submit(job.run): (job, path) for job, path in zip(jobs, paths, strict=True)
        }
        try:
            for done in as_completed(running):
                keep(*running[done], done.result())
                bar.update()
        except BaseException as error:
            if not isinstance(error, Exception):  # told to stop: at once, not after these groups
                for worker in active_children():
                    worker.terminate()
            workers.shutdown(cancel_futures=True)
            raise
        finally:
            for done, (job, path) in running.items():
                if done.done() and not (done.cancelled() or done.exception() or path.exists()):
                    keep(job, path, done.result())


def keep(job: Job, path: Path, found: NumbersOfClaims) -> None:
    """Keep what a job gave; it may be of other code where it was edited meanwhile."""
    if path != job.path:
        raise ClaimError(
            f"{', '.join(job.names)}: its code was edited while it ran: run the same command again."
        )
    write_whole(path, json.dumps(found).encode())


def summed_up(
    claim: Statement, seeds: Sequence[int], numbers: dict[str, list[Numbers]]
) -> Replication:
    """Return the record of a claim from what each seed gave at each setting."""
    holds = {name: [claim.judge(each) for each in found] for name, found in numbers.items()}
    stated = numbers[AS_STATED.name]
    control = getattr(claim, "control", "")
    return Replication(
        budget=claim.budget,  # pyright: ignore[reportAttributeAccessIssue]
        seeds=[*seeds],
        holds=holds.pop(AS_STATED.name),
        effect=[rounded(each[claim.effect]) for each in stated],
        rival=[rounded(each[claim.rival]) for each in stated] if claim.rival else [],
        control=holds.pop(control.name) if isinstance(control, Setting) else [],
        settings=holds,
    )


def rounded(number: float) -> float:
    """Four digits, which is more than a table shows."""
    return float(f"{number:.4g}")
