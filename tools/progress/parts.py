"""Which parts of the reader's GPT are in `my_gpt.py`, and whether each still passes its check.

    python -m tools.progress.parts                   of my_course
    python -m tools.progress.parts FOLDER            of another folder of copies

The file is run, as an import would. The exit status is 1 where something in it does not pass.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from course_utils.teaching.parts import PartsError, my_parts
from lectures.parts import judge_part, parts_of_the_course
from tools.editions.my_course import MY_COURSE


def main(arguments: list[str]) -> int:
    """Print a line for each part; return the exit status."""
    folder = Path(*arguments[:1] or [MY_COURSE])
    sys.path.insert(0, str(folder.resolve()))  # as in a notebook there: for modules beside the file
    try:
        mine = my_parts(folder)
    except PartsError as error:
        print(f"{folder / 'my_gpt.py'}: {error}")
        return 1
    print(f"Your GPT, in {folder / 'my_gpt.py'} (as a map: `collect_parts()` in lecture 06)\n")
    failed = False
    for lecture, exercise in parts_of_the_course():
        state, message = judge_part(exercise, mine)
        print(f"{exercise.kept_as:14} lecture {lecture.number}   {state}")
        if message:
            print(textwrap.indent(textwrap.fill(message, 96), "    "))
        failed |= bool(message)
    return int(failed)


if __name__ == "__main__":
    # A file or a pipe on Windows gets an encoding that has no √ and no −.
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    sys.exit(main(sys.argv[1:]))
