"""Run the lectures' claims on fresh seeds, and keep how often each held.

    python -m tools.claims [LECTURE] [--seeds 12] [--first 1000]

Claims run side by side, one on each processor, and each for a few seeds at a time. What is done is
kept in build/claims: when the run was interrupted, the same command goes on where it stopped.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import math
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from functools import cache
from multiprocessing import get_context
from pathlib import Path

from tqdm import tqdm

from course_utils.lectures import COURSE, Lecture
from course_utils.teaching.claims import HEADER, RECORDS, Claim, Record, read_records
from course_utils.threads import one_thread

ROOT = Path(__file__).resolve().parents[1]
KEPT, TABLE = ROOT / "build" / "claims", ROOT / "benchmarks" / "results" / "claims.md"
FIRST = 70_000  # seeds that nobody chose a threshold with
GROUP = 6  # seeds at a time: more are faster side by side, fewer lose less when interrupted
ENOUGH = 0.9
TITLE = """\
# What this course claims, and how often it held

Each sentence rests on a trained or random run. It was run again on seeds that nobody had seen when
it was written; `make claims` does so. Where it held in fewer than 9 of 10 runs, it says how often.
The last column has the number that a sceptic would ask for.
"""


class ClaimError(Exception):
    """A claim cannot be judged; the message says why."""


def claims_of(lecture: Lecture) -> tuple[Claim, ...]:
    """Return the claims of a lecture."""
    module = lecture.module("claims")
    return module.CLAIMS if module else ()


def measure(claim: Claim, seeds: Sequence[int], budget: int) -> list[dict[str, float]]:
    """Return the numbers of each seed, the same however many threads torch may use."""
    with one_thread():
        found = claim.run(seeds, budget)
    return [{name: float(number) for name, number in each.items()} for each in found]


def check_numbers(claim: Claim, numbers: dict[str, float]) -> None:
    """Check that a run measured what the claim names.

    Raises:
        ClaimError: if a name is missing, or a number is NaN or infinite.
    """
    if missing := {claim.effect, claim.baseline} - numbers.keys():
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


def verdict(claim: Claim, record: Record) -> str:
    """Return what is wrong with stating the claim after these runs; "" if nothing."""
    if claim.states_its_rate or record.held >= ENOUGH * record.tried:
        return ""
    return f"{claim.name} held in {record.held} of {record.tried} runs, and does not say so"


def run_group(stem: str, name: str, seeds: list[int]) -> list[dict[str, float]]:
    """Run some seeds of one claim, in a process of its own."""
    os.environ["TQDM_DISABLE"] = "1"
    lecture = next(lecture for lecture in COURSE if lecture.stem == stem)
    claim = next(claim for claim in claims_of(lecture) if claim.name == name)
    check_seeds_apart(claim, seeds[0], seeds[0] + 1)
    return measure(claim, seeds, claim.budget)


def kept_file(lecture: Lecture, claim: Claim, seeds: list[int]) -> Path:
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
    state = hashlib.sha256(f"{code} {claim.budget} {seeds}".encode()).hexdigest()[:16]
    return KEPT / f"{claim.name}-{seeds[0]}-{state}.json"


@cache
def what_runs(path: Path) -> str:
    """Return a file's code without its comments, and without what claims say of their numbers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for call in ast.walk(tree):
        if isinstance(call, ast.Call):
            words = ("sentence", "holds", "effect", "baseline")
            call.keywords = [each for each in call.keywords if each.arg not in words]
    return ast.dump(tree)


def run_all(lectures: Sequence[Lecture], seeds: list[int]) -> dict[str, Record]:
    """Run every claim of these lectures on these seeds, or take what an earlier run has kept."""
    KEPT.mkdir(parents=True, exist_ok=True)
    groups = [seeds[start : start + GROUP] for start in range(0, len(seeds), GROUP)]
    claims = [(lecture, claim) for lecture in lectures for claim in claims_of(lecture)]
    jobs = {
        kept_file(lecture, claim, group): (lecture.stem, claim.name, group)
        for lecture, claim in claims
        for group in groups
    }
    run_jobs(jobs)
    records = {}
    for lecture, claim in claims:
        kept = [kept_file(lecture, claim, group) for group in groups]
        numbers = [each for path in kept for each in json.loads(path.read_text(encoding="utf-8"))]
        records[claim.name] = summed_up(claim, seeds, numbers)
    return records


def run_jobs(jobs: dict[Path, tuple[str, str, list[int]]]) -> None:
    """Run what is not kept yet, one job on each processor, and keep each as it ends."""
    missing = [path for path in jobs if not path.exists()]
    with (
        ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as workers,
        tqdm(total=len(jobs), initial=len(jobs) - len(missing), unit="group") as bar,
    ):
        running = {workers.submit(run_group, *jobs[path]): path for path in missing}
        try:
            for job in as_completed(running):
                running[job].write_text(json.dumps(job.result()), encoding="utf-8")
                bar.update()
        except BaseException:
            workers.shutdown(cancel_futures=True)
            raise


def summed_up(claim: Claim, seeds: list[int], numbers: list[dict[str, float]]) -> Record:
    """Return the record of a claim from what each seed gave."""
    return Record(
        budget=claim.budget,
        seeds=seeds,
        holds=[bool(claim.holds(each)) for each in numbers],
        effect=[float(f"{each[claim.effect]:.4g}") for each in numbers],
        baseline=[float(f"{each[claim.baseline]:.4g}") for each in numbers],
    )


def write_records(records: dict[str, Record]) -> None:
    """Keep the records, in the lectures' order, and the table that people read."""
    every = [(lecture, claim) for lecture in COURSE for claim in claims_of(lecture)]
    known = {**(read_records() if RECORDS.exists() else {}), **records}
    known = {claim.name: known[claim.name] for _, claim in every if claim.name in known}
    lines = [f" {json.dumps(name)}: {json.dumps(asdict(known[name]))}" for name in known]
    RECORDS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    TABLE.write_text(table(known), encoding="utf-8")


def table(records: dict[str, Record]) -> str:
    """Return the claims of all lectures as a page."""
    parts = [TITLE]
    for lecture in COURSE:
        if claims := [claim for claim in claims_of(lecture) if claim.name in records]:
            rows = [records[claim.name].row(claim) for claim in claims]
            title = f"## {lecture.number:02} · {lecture.title}\n"
            parts.append("\n".join([title, HEADER, *rows, ""]))
    return "\n".join(parts)


def main(arguments: list[str]) -> int:
    """Run what is asked for; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("lecture", nargs="?", type=int, help="its number; all without it")
    parser.add_argument("--seeds", type=int, default=12, help="how many runs each claim gets")
    parser.add_argument("--first", type=int, default=FIRST, help="the first of the seeds")
    chosen = parser.parse_args(arguments)
    lectures = [each for each in COURSE if chosen.lecture in (None, each.number)]
    seeds = list(range(chosen.first, chosen.first + chosen.seeds))
    try:
        records = run_all(lectures, seeds)
    except ClaimError as error:
        print(error, file=sys.stderr)
        return 1
    write_records(records)
    claims = [claim for lecture in lectures for claim in claims_of(lecture)]
    for claim in claims:
        print(f"{records[claim.name].held:3} of {len(seeds)}  {claim.name}")
    wrong = [line for claim in claims if (line := verdict(claim, records[claim.name]))]
    print(*wrong, sep="\n", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
