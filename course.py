"""Every command of the course, on any system: `python3 course.py lab`, `py course.py lab`.

The Makefile calls this file. It needs Python alone, and it runs even on Pythons that are too old
for the rest, so that they get a sentence and not a SyntaxError. The work is in tools/setup/.
"""

import os
import shutil
import subprocess
import sys

TESTED = ((3, 11), (3, 12), (3, 13))


def tested_python():
    """Return a Python on the PATH that the course is tested with, or None."""
    probe = f"import sys; sys.exit(sys.version_info[:2] not in {TESTED})"
    for major, minor in reversed(TESTED):
        found = shutil.which(f"python{major}.{minor}")
        if found and subprocess.call([found, "-c", probe], stderr=subprocess.DEVNULL) == 0:
            return found
    return None


def main():
    """Run the command with a Python that can."""
    here = sys.version_info[:2]
    if here not in TESTED:
        better = tested_python()
        if better:
            sys.exit(subprocess.call([better, os.path.abspath(__file__), *sys.argv[1:]]))
        version = f"{here[0]}.{here[1]}"
        if here < TESTED[0]:
            sys.exit(
                f"This is Python {version}; the course needs Python 3.11, 3.12 or 3.13: "
                "install one, then run the same command again."
            )
        print(f"Note: Python {version} is newer than those the course is tested with.")
    from tools.setup.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
