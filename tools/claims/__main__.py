"""Run the lectures' claims on fresh seeds and at other settings; keep how often each held.

    python -m tools.claims [LECTURE ...] [--seeds 12] [--first 200000]

Claims run side by side, one on each processor, and each for a few seeds at a time. What is done is
kept in build/claims: when the run was interrupted, the same command goes on where it stopped.
Fewer than 12 seeds, or fewer than those recorded, are shown and not recorded.
"""

from __future__ import annotations

import argparse
import sys

from course_utils.teaching.claims import DamagedError, rate
from lectures import COURSE, find_lecture
from tools.claims.measuring import ClaimError, claims_of
from tools.claims.record import SEEDS, record, said_rates, verdict
from tools.claims.running import run_all
from tools.ending import leave_in_order

FIRST = 200_000  # seeds that nobody chose a threshold with


def at_least_one(text: str) -> int:
    """Read a number of seeds."""
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"there must be at least one, got {text}")
    return int(text)


def main(arguments: list[str]) -> int:
    """Run what is asked for; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("lectures", nargs="*", metavar="LECTURE", help="all without it")
    parser.add_argument("--seeds", type=at_least_one, default=SEEDS, help="runs of each claim")
    parser.add_argument("--first", type=int, default=FIRST, help="the first of the seeds")
    chosen = parser.parse_args(arguments)
    try:
        lectures = [find_lecture(each) for each in chosen.lectures] or COURSE
    except LookupError as error:
        parser.error(str(error.args[0]))
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
            without = [f"without what it is about: {rate(found.control)}"] * bool(found.control)
            elsewhere = "; ".join(filter(None, [found.elsewhere, *without]))
            print(f"{found.rate:>8}  {claim.name} ({elsewhere})")
            wrong.append(verdict(claim, found, said.get(claim.name, "")))
    print(*filter(None, wrong), sep="\n", file=sys.stderr)
    return int(any(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
