"""Run the lectures' claims on fresh seeds and at other settings; keep how often each held.

    python -m tools.replicate [LECTURE] [--seeds 12] [--first 70000]

Claims run side by side, one on each processor, and each for a few seeds at a time. What is done is
kept in build/claims: when the run was interrupted, the same command goes on where it stopped.
Fewer than 12 seeds, or fewer than those recorded, are shown and not recorded.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import math
import os
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from functools import cache
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import NoReturn

from tqdm import tqdm

from course_utils.files import write_whole
from course_utils.lectures import COURSE, Lecture
from course_utils.teaching.claims import (
    HEADER,
    REPLICATIONS,
    Claim,
    DamagedError,
    Replication,
    Setting,
    rate,
    read_replications,
)
from course_utils.threads import one_thread
from course_utils.training import learning_rates_times
from tools.ending import end_with_parent, leave_in_order
from tools.files import exclusive
from tools.notebook_file import read_cells

ROOT = Path(__file__).resolve().parents[1]
KEPT, TABLE = ROOT / "build" / "claims", ROOT / "benchmarks" / "results" / "claims.md"
FIRST = 70_000  # seeds that nobody chose a threshold with
GROUP = 6  # seeds at a time: more are faster side by side, fewer lose less when interrupted
ENOUGH = 0.9
SEEDS = 12  # and fewer are not recorded
AS_STATED = Setting("as the lecture has it")
# What a lecture says behind a sentence: [[11 of 12; 4 of 6 at 3 × rate]](#place "claim").
SAID = re.compile(r"\[\[(\d+ of \d+[^\]]*)\]\]\(\S+ \"(\w+)\"\)")
TITLE = """\
# What this course claims, and how often it held

Each sentence rests on a trained or random run. `make claims` runs it again on 12 fresh seeds, and
no threshold was chosen with them. It also runs the first six at settings that the author did not
choose: a third of the learning rate, three times the learning rate, more steps, another size. A
claim that holds on every seed and fails at another setting is a claim about that setting.

- The interval covers only the seeds. It says nothing about other settings, data or sizes.
- Claims of one lecture use the same seeds, so their rows are not independent.
- A run that had nothing to lose counts neither way.
- The rival is the number that a sceptic would compare the effect with, in the same unit.
"""


class ClaimError(Exception):
    """A claim cannot be judged; the message says why."""


def claims_of(lecture: Lecture) -> tuple[Claim, ...]:
    """Return the claims of a lecture."""
    module = lecture.module("claims")
    return module.CLAIMS if module else ()


def measure(
    claim: Claim, seeds: Sequence[int], budget: int, setting: Setting = AS_STATED
) -> list[dict[str, float]]:
    """Return the numbers of each seed, the same however many threads torch may use."""
    with one_thread(), learning_rates_times(setting.rate):
        found = claim.run(seeds, budget * setting.budget, **setting.arguments)
    return [{name: float(number) for name, number in each.items()} for each in found]


def check_numbers(claim: Claim, numbers: dict[str, float]) -> None:
    """Check that a run measured what the claim names.

    Raises:
        ClaimError: if a name is missing, or a number is NaN or infinite.
    """
    if missing := {claim.effect, claim.rival or claim.effect} - numbers.keys():
        raise ClaimError(f"{claim.name}: {missing} is not among {sorted(numbers)}")
    if odd := [name for name, number in numbers.items() if not math.isfinite(number)]:
        raise ClaimError(f"{claim.name}: {odd} is no finite number")


def check_seeds_apart(claim: Claim, a: int, b: int) -> None:
    """Check at the quick budget that a run depends on its own seed, and on nothing else.

    Raises:
        ClaimError: if it does not.
    """
    [alone], [again] = (measure(claim, [a], claim.quick) for _ in range(2))
    check_numbers(claim, alone)
    if alone != again:
        raise ClaimError(f"{claim.name}: seed {a} gave {alone}, and run again {again}")
    other, beside = measure(claim, [b, a], claim.quick)
    # Side by side, sums are made in another order: more than rounding would be a leak.
    if any(abs(alone[key] - beside[key]) > 1e-3 * max(1, abs(alone[key])) for key in alone):
        raise ClaimError(f"{claim.name}: seed {a} gave {alone} alone, and {beside} beside seed {b}")
    if alone == other:
        raise ClaimError(f"{claim.name}: seeds {a} and {b} both gave {alone}: no seed is used")


def said_rates(lecture: Lecture) -> dict[str, str]:
    """Return what the lecture says of how often each of its claims held."""
    path = ROOT / "notebooks" / f"{lecture.stem}.ipynb"
    prose = "\n".join(cell.source for cell in read_cells(path) if cell.kind == "markdown")
    return {name: said for said, name in SAID.findall(prose)}


def is_right(said: str, found: Replication) -> bool:
    """Whether a lecture says what was measured: ``11 of 12; 4 of 6 at 3 × rate``."""
    held, *elsewhere = said.split("; ")
    parts = [re.split(" at | with ", each, maxsplit=1) for each in elsewhere]
    return held == found.rate and all(
        name in found.settings and part == rate(found.settings[name]) for part, name in parts
    )


def verdict(claim: Claim, found: Replication, said: str) -> str:
    """Return what is wrong with saying so after these runs; "" if nothing."""
    if not said:
        return f"{claim.name}: its lecture does not say how often it held"
    stated, out_of = map(int, said.partition(";")[0].split(" of "))
    if found.held >= ENOUGH * found.tried or stated < ENOUGH * out_of:
        return ""
    return f"{claim.name} held in {found.rate} runs, and its lecture says {said}"


def claim_named(stem: str, name: str) -> tuple[Lecture, Claim]:
    """Return a claim, and its lecture."""
    lecture = next(lecture for lecture in COURSE if lecture.stem == stem)
    return lecture, next(claim for claim in claims_of(lecture) if claim.name == name)


def run_group(stem: str, name: str, seeds: list[int], setting: Setting) -> list[dict[str, float]]:
    """Run some seeds of one claim at one setting, in a process of its own."""
    os.environ["TQDM_DISABLE"] = "1"
    _, claim = claim_named(stem, name)
    if setting == AS_STATED:
        check_seeds_apart(claim, seeds[0], seeds[0] + 1)
    found = measure(claim, seeds, claim.budget, setting)
    for numbers in found:
        check_numbers(claim, numbers)
    return found


def kept_file(lecture: Lecture, claim: Claim, seeds: list[int], setting: Setting) -> Path:
    """Return where the numbers of these seeds are kept: another file after a change of the code."""
    package = ROOT / lecture.package.replace(".", "/")
    beside = {"lectures", "explorers", "teaching"}
    core = [p for p in (ROOT / "course_utils").rglob("*.py") if not beside & {*p.parts}]
    files = [
        package / "claims.py",
        *package.glob("experiments.py"),
        *package.rglob("experiments/*.py"),
    ]
    code = "".join(what_runs(path) for path in sorted({*core, *files}))
    state = hashlib.sha256(f"{code} {claim.budget} {seeds} {setting}".encode()).hexdigest()[:16]
    return KEPT / f"{claim.run.__name__}-{seeds[0]}-{state}.json"  # claims may share a run


def what_runs(path: Path) -> str:
    """Return a file's code without its comments, and without what claims say of their numbers."""
    return _what_runs(path, path.stat().st_mtime_ns)


@cache
def _what_runs(path: Path, _: int) -> str:
    """Read the file again where it was saved since."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for call in ast.walk(tree):
        if isinstance(call, ast.Call):
            words = ("sentence", "holds", "at_stake", "effect", "unit", "rival", "settings")
            call.keywords = [each for each in call.keywords if each.arg not in words]
    return ast.dump(tree)


def run_all(lectures: Sequence[Lecture], seeds: list[int]) -> dict[str, Replication]:
    """Run every claim of these lectures on these seeds, or take what an earlier run has kept."""
    KEPT.mkdir(parents=True, exist_ok=True)
    groups = [seeds[start : start + GROUP] for start in range(0, len(seeds), GROUP)]
    parts = [
        (lecture, claim, setting, group, kept_file(lecture, claim, group, setting))
        for lecture in lectures
        for claim in claims_of(lecture)
        for setting in (AS_STATED, *claim.settings)
        for group in (groups if setting == AS_STATED else groups[:1])
    ]
    missing = {
        path: (lecture.stem, claim.name, group, setting)
        for lecture, claim, setting, group, path in parts
        if not kept(path, claim, len(group))
    }
    run_jobs(missing, len({path for *_, path in parts}))
    numbers: dict[str, dict[str, list[dict[str, float]]]] = {}
    for _, claim, setting, group, path in parts:
        found = numbers.setdefault(claim.name, {}).setdefault(setting.name, [])
        found += kept(path, claim, len(group)) or unusable(path, claim)
    return {
        claim.name: summed_up(claim, seeds, numbers[claim.name])
        for lecture in lectures
        for claim in claims_of(lecture)
    }


def kept(path: Path, claim: Claim, count: int) -> list[dict[str, float]]:
    """Return the numbers of `count` seeds that an earlier run has kept; none if it kept no such."""
    try:
        numbers = json.loads(path.read_text(encoding="utf-8"))
        for each in numbers:
            check_numbers(claim, each)
    except (FileNotFoundError, ValueError, TypeError, AttributeError, ClaimError):
        return []
    return numbers if len(numbers) == count else []


def unusable(path: Path, claim: Claim) -> NoReturn:
    """Say which file must go: claims that share a run must find their numbers in it."""
    raise ClaimError(f"{claim.name}: its numbers are not in {path}: delete that file")


def run_jobs(jobs: dict[Path, tuple[str, str, list[int], Setting]], total: int) -> None:
    """Run the jobs that are missing of `total`, one on each processor; keep each as it ends."""
    with (
        ProcessPoolExecutor(
            os.cpu_count(), mp_context=get_context("spawn"), initializer=end_with_parent
        ) as workers,
        tqdm(total=total, initial=total - len(jobs), unit="group") as bar,
    ):
        running = {workers.submit(run_group, *job): path for path, job in jobs.items()}
        try:
            for job in as_completed(running):
                keep(running[job], job.result(), *jobs[running[job]])
                bar.update()
        except BaseException as error:
            if not isinstance(error, Exception):  # told to stop: at once, not after these groups
                for worker in active_children():
                    worker.terminate()
            workers.shutdown(cancel_futures=True)
            raise
        finally:
            for job, path in running.items():
                if job.done() and not (job.cancelled() or job.exception() or path.exists()):
                    keep(path, job.result(), *jobs[path])


def keep(
    path: Path, numbers: list[dict[str, float]], stem: str, name: str, seeds: list[int], at: Setting
) -> None:
    """Keep the numbers of some seeds; they may be of other code where it was edited meanwhile."""
    if path != kept_file(*claim_named(stem, name), seeds, at):
        raise ClaimError(f"{name}: its code was edited while it ran: run the same command again.")
    write_whole(path, json.dumps(numbers).encode())


def summed_up(
    claim: Claim, seeds: list[int], numbers: dict[str, list[dict[str, float]]]
) -> Replication:
    """Return the record of a claim from what each seed gave at each setting."""
    holds = {name: [claim.judge(each) for each in found] for name, found in numbers.items()}
    stated = numbers[AS_STATED.name]
    return Replication(
        budget=claim.budget,
        seeds=seeds,
        holds=holds.pop(AS_STATED.name),
        effect=[rounded(each[claim.effect]) for each in stated],
        rival=[rounded(each[claim.rival]) for each in stated] if claim.rival else [],
        settings=holds,
    )


def rounded(number: float) -> float:
    """Four digits, which is more than a table shows."""
    return float(f"{number:.4g}")


def record(replications: dict[str, Replication]) -> None:
    """Keep what was measured, in the lectures' order, and write the page that people read.

    What was measured on more seeds stays.
    """
    names = [claim.name for lecture in COURSE for claim in claims_of(lecture)]
    with exclusive(KEPT / ".lock", "Waiting for another run to record its claims ..."):
        read_replications.cache_clear()
        known = dict(read_replications(REPLICATIONS))
        for name, found in replications.items():
            if len(found.seeds) >= max(SEEDS, len(known[name].seeds) if name in known else 0):
                known[name] = found
            else:
                print(f"{name}: {len(found.seeds)} seeds are too few to be recorded")
        known = {name: known[name] for name in names if name in known}
        lines = [f" {json.dumps(name)}: {json.dumps(asdict(known[name]))}" for name in known]
        write_whole(REPLICATIONS, ("{\n" + ",\n".join(lines) + "\n}\n").encode())
        write_whole(TABLE, table(known).encode())
        read_replications.cache_clear()


def table(replications: dict[str, Replication]) -> str:
    """Return the claims of all lectures as a page."""
    parts = [TITLE]
    for lecture in COURSE:
        if claims := [claim for claim in claims_of(lecture) if claim.name in replications]:
            rows = [replications[claim.name].row(claim) for claim in claims]
            title = f"## {lecture.number:02} · {lecture.title}\n"
            seeds = replications[claims[0].name].seeds
            where = f"Seeds {seeds[0]} to {seeds[-1]}; elsewhere the first six.\n"
            parts.append("\n".join([title, where, HEADER, *rows, ""]))
    return "\n".join(parts)


def at_least_one(text: str) -> int:
    """Read a number of seeds."""
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"there must be at least one, got {text}")
    return int(text)


def main(arguments: list[str]) -> int:
    """Run what is asked for; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    numbers = [lecture.number for lecture in COURSE]
    parser.add_argument("lecture", nargs="?", type=int, choices=numbers, help="all without it")
    parser.add_argument("--seeds", type=at_least_one, default=SEEDS, help="runs of each claim")
    parser.add_argument("--first", type=int, default=FIRST, help="the first of the seeds")
    chosen = parser.parse_args(arguments)
    lectures = [each for each in COURSE if chosen.lecture in (None, each.number)]
    seeds = list(range(chosen.first, chosen.first + chosen.seeds))
    leave_in_order()
    try:
        replications = run_all(lectures, seeds)
        record(replications)
    except (ClaimError, DamagedError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("What was measured is kept: the same command continues from there.")
        return 130
    wrong = []
    for lecture in lectures:
        said = said_rates(lecture)
        for claim in claims_of(lecture):
            found = replications[claim.name]
            elsewhere = (f"{name}: {rate(holds)}" for name, holds in found.settings.items())
            print(f"{found.rate:>8}  {claim.name} ({', '.join(elsewhere)})")
            wrong.append(verdict(claim, found, said.get(claim.name, "")))
    print(*filter(None, wrong), sep="\n", file=sys.stderr)
    return int(any(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
