"""Run the lectures' claims on fresh seeds and at other settings; keep how often each held.

    python -m tools.claims [LECTURE] [--seeds 12] [--first 70000]

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
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from functools import cache
from multiprocessing import get_context
from pathlib import Path

from tqdm import tqdm

from course_utils.lectures import COURSE, Lecture
from course_utils.teaching.claims import (
    HEADER,
    RECORDS,
    Claim,
    Record,
    Setting,
    rate,
    read_records,
)
from course_utils.threads import one_thread
from course_utils.training import learning_rates_times
from tools.notebook_file import read_cells

ROOT = Path(__file__).resolve().parents[1]
KEPT, TABLE = ROOT / "build" / "claims", ROOT / "benchmarks" / "results" / "claims.md"
FIRST = 70_000  # seeds that nobody chose a threshold with
GROUP = 6  # seeds at a time: more are faster side by side, fewer lose less when interrupted
ENOUGH = 0.9
AS_STATED = Setting("as the lecture has it")
# What a lecture says behind a sentence: [[11 of 12; 4 of 6 at 3 × rate]](#place "claim").
SAID = re.compile(r"\[\[(\d+ of \d+[^\]]*)\]\]\(\S+ \"(\w+)\"\)")
TITLE = """\
# What this course claims, and how often it held

Each sentence rests on a trained or random run. `make claims` runs it again on 12 fresh seeds, and
no threshold was chosen with them. It also runs the first six at settings that the author did not
choose: a third of the learning rate, three times the learning rate, more steps, another size. A
claim that holds on every seed and fails at another setting is a claim about that setting.

- The interval is for the seeds alone. It says nothing about other settings, data or sizes.
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


def is_right(said: str, record: Record) -> bool:
    """Whether a lecture says what was measured: ``11 of 12; 4 of 6 at 3 × rate``."""
    held, *elsewhere = said.split("; ")
    parts = [re.split(" at | with ", each, maxsplit=1) for each in elsewhere]
    return held == record.rate and all(
        name in record.settings and part == rate(record.settings[name]) for part, name in parts
    )


def verdict(claim: Claim, record: Record, said: str) -> str:
    """Return what is wrong with saying so after these runs; "" if nothing."""
    if not said:
        return f"{claim.name}: its lecture does not say how often it held"
    stated, out_of = map(int, said.partition(";")[0].split(" of "))
    if record.held >= ENOUGH * record.tried or stated < ENOUGH * out_of:
        return ""
    return f"{claim.name} held in {record.rate} runs, and its lecture says {said}"


def run_group(stem: str, name: str, seeds: list[int], setting: Setting) -> list[dict[str, float]]:
    """Run some seeds of one claim at one setting, in a process of its own."""
    os.environ["TQDM_DISABLE"] = "1"
    lecture = next(lecture for lecture in COURSE if lecture.stem == stem)
    claim = next(claim for claim in claims_of(lecture) if claim.name == name)
    if setting == AS_STATED:
        check_seeds_apart(claim, seeds[0], seeds[0] + 1)
    return measure(claim, seeds, claim.budget, setting)


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


@cache
def what_runs(path: Path) -> str:
    """Return a file's code without its comments, and without what claims say of their numbers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for call in ast.walk(tree):
        if isinstance(call, ast.Call):
            words = ("sentence", "holds", "at_stake", "effect", "unit", "rival", "settings")
            call.keywords = [each for each in call.keywords if each.arg not in words]
    return ast.dump(tree)


def run_all(lectures: Sequence[Lecture], seeds: list[int]) -> dict[str, Record]:
    """Run every claim of these lectures on these seeds, or take what an earlier run has kept."""
    KEPT.mkdir(parents=True, exist_ok=True)
    groups = [seeds[start : start + GROUP] for start in range(0, len(seeds), GROUP)]
    claims = [(lecture, claim) for lecture in lectures for claim in claims_of(lecture)]
    jobs, files = {}, {claim.name: {} for _, claim in claims}
    for lecture, claim in claims:
        for setting in (AS_STATED, *claim.settings):
            parts = groups if setting == AS_STATED else groups[:1]
            paths = [kept_file(lecture, claim, group, setting) for group in parts]
            files[claim.name][setting.name] = paths
            for path, group in zip(paths, parts, strict=True):
                jobs[path] = (lecture.stem, claim.name, group, setting)
    run_jobs(jobs)
    return {
        claim.name: summed_up(
            claim, seeds, {at: kept(paths) for at, paths in files[claim.name].items()}
        )
        for _, claim in claims
    }


def kept(paths: Sequence[Path]) -> list[dict[str, float]]:
    """Return the numbers of each seed from the files that hold them."""
    return [each for path in paths for each in json.loads(path.read_text(encoding="utf-8"))]


def run_jobs(jobs: dict[Path, tuple[str, str, list[int], Setting]]) -> None:
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


def summed_up(claim: Claim, seeds: list[int], numbers: dict[str, list[dict[str, float]]]) -> Record:
    """Return the record of a claim from what each seed gave at each setting."""
    holds = {name: [claim.judge(each) for each in found] for name, found in numbers.items()}
    stated = numbers[AS_STATED.name]
    return Record(
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
            seeds = records[claims[0].name].seeds
            where = f"Seeds {seeds[0]} to {seeds[-1]}; elsewhere the first six.\n"
            parts.append("\n".join([title, where, HEADER, *rows, ""]))
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
    wrong = []
    for lecture in lectures:
        said = said_rates(lecture)
        for claim in claims_of(lecture):
            record = records[claim.name]
            elsewhere = (f"{name}: {rate(holds)}" for name, holds in record.settings.items())
            print(f"{record.rate:>8}  {claim.name} ({', '.join(elsewhere)})")
            wrong.append(verdict(claim, record, said.get(claim.name, "")))
    print(*filter(None, wrong), sep="\n", file=sys.stderr)
    return any(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
