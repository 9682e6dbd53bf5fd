"""Which parts are in `my_gpt.py` and the files beside it, and whether each still passes its check.

    python -m tools.progress.parts                   of my_course
    python -m tools.progress.parts FOLDER            of another folder of copies

The files are run, as an import would. The exit status is 1 where something in one does not pass.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from course_utils.teaching.parts import FILE, PartsError, my_parts
from lectures.parts import judge_part, parts_of_the_course
from tools.editions.my_course import MY_COURSE


def main(arguments: list[str]) -> int:
    """Print a line for each part; return the exit status."""
    folder = Path(*arguments[:1] or [MY_COURSE])
    sys.path.insert(0, str(folder.resolve()))  # as in a notebook there: for modules beside the file
    heading = f"Your GPT, in {folder / FILE} (as a map: `collect_parts()` in lecture 06)"
    failed = _print_parts(folder, FILE, heading)
    for other in sorted({each.kept_in.name for _, each in parts_of_the_course(None)} - {FILE}):
        if (folder / other).is_file():
            failed |= _print_parts(folder, other, f"\nIn {folder / other}")
    return int(failed)


def _print_parts(folder: Path, file: str, heading: str) -> bool:
    """Print what a file keeps; return whether something is wrong with it."""
    try:
        mine = my_parts(folder, file)
    except PartsError as error:
        print(f"{folder / file}: {error}")
        return True
    print(f"{heading}\n")
    failed = False
    for lecture, exercise in parts_of_the_course(file):
        state, message = judge_part(exercise, mine)
        print(f"{exercise.kept_as:14} lecture {lecture.number}   {state}")
        if message:
            print(textwrap.indent(textwrap.fill(message, 96), "    "))
        failed |= bool(message)
    return failed


if __name__ == "__main__":
    # A file or a pipe on Windows gets an encoding that has no √ and no −.
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    sys.exit(main(sys.argv[1:]))
