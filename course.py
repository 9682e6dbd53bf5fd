"""Every command of the course, on any system: `python3 course.py lab`, `py course.py lab`.

The Makefile calls this file. It needs Python alone, and it runs even on Pythons that are too old
for the rest, Python 2 too, so that they get a sentence and not a SyntaxError. The work is in
tools/setup/.
"""

# ruff: noqa: RUF005, UP031
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTED = ((3, 11), (3, 12), (3, 13))


def tested_python():
    """Return a Python on the PATH that the course is tested with, or None."""
    probe = "import sys; sys.exit(sys.version_info[:2] not in %r)" % (TESTED,)
    with open(os.devnull, "w") as nowhere:
        for version in reversed(TESTED):
            name = "python%d.%d" % version
            try:
                if subprocess.call([name, "-c", probe], stderr=nowhere) == 0:
                    return name
            except OSError:  # there is none
                pass
    return None


def main():
    """Run the command with a Python that can."""
    here = tuple(sys.version_info[:2])
    if here not in TESTED:
        better = tested_python()
        if better:
            command = [better, os.path.abspath(__file__)] + sys.argv[1:]
            if os.name == "nt":  # where a program cannot take another's place
                sys.exit(subprocess.call(command))
            os.execvp(better, command)
        if here < TESTED[0]:
            sys.exit(
                "This is Python %d.%d; the course needs Python 3.11, 3.12 or 3.13: "
                "install one, then run the same command again." % here
            )
        print("Note: Python %d.%d is newer than those the course is tested with." % here)
    # What other programs need there, such as an old package, is not for this one.
    theirs = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [folder for folder in sys.path if folder not in theirs or folder in ("", HERE)]
    from tools.setup.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
