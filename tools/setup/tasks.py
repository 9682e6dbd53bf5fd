"""What the commands run once the environment is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable

from lectures import Lecture
from tools.ending import run_to_its_end
from tools.files import SavedMeanwhileError, write_back

from .environment import MINILM, begun, remove
from .lab import find_lecture
from .place import ROOT, CommandError, Place, say

CONSTRAINTS_HEADER = """\
# The versions that the course is tested with, one set for Python 3.11 to 3.13 on every system.
# `python3 course.py constraints` writes them; with `--upgrade` it takes the newest that fit.
# Constraints install nothing: they say which version, where something is installed.
"""
LEFT_BEHIND = (".pytest_cache", ".ruff_cache", ".hypothesis", "build", "dist")


def run(place: Place, *arguments: str) -> int:
    """Run the environment's Python in the course's folder and return its exit status."""
    command = [str(place.python), *arguments]
    return run_to_its_end(command, cwd=place.root, env=place.activated())


def module(name: str) -> Callable[[Place, list[str]], int]:
    """Return a command that runs a module of the course."""
    return lambda place, arguments: run(place, "-m", name, *arguments)


site = module("tools.site.build")
outputs = module("tools.editions.outputs")
parts = module("tools.progress.parts")
gpt2 = module("tools.scripts.fetch_gpt2")
pdf = module("tools.presenting.pdf")


def pytest_arguments(arguments: list[str]) -> list[str]:
    """Return how Python is to run pytest.

    Without a file or folder among `arguments`, pytest takes pyproject's `testpaths`. `loadfile`
    keeps the cells of one notebook, and the tests of one file, on one worker; it would hand out the
    files with the most tests first, but those that take longest have few, and conftest.py puts
    them first.
    """
    return ["-m", "pytest", "--nbval", "--nbval-current-env", *_workers(), *arguments]


def _workers() -> list[str]:
    """Return the options that spread the files with tests over the cores."""
    workers = str(min(max(os.cpu_count() or 1, 2), 4))
    return ["-n", workers, "--dist", "loadfile", "--no-loadscope-reorder"]


def test(place: Place, arguments: list[str]) -> int:
    """Run the tests, the examples in docstrings and every notebook; or a lecture's; or some."""
    wanted = os.environ.get("LECTURE", "")
    if arguments and re.fullmatch(r"\d+[a-z]?", arguments[0]):
        wanted, *arguments = arguments
    if wanted:
        arguments = [*lecture_tests(find_lecture(wanted)), *arguments]
    return run(place, *pytest_arguments(arguments))


def lecture_tests(lecture: Lecture) -> list[str]:
    """Return what pytest runs for one lecture: its folder, its notebook, what all lectures pass."""
    shared = ROOT / "tests" / "lectures"
    own = shared / f"l{lecture.stem}"
    return [
        *(str(path) for path in (own, *sorted(shared.glob("test_*.py"))) if path.exists()),
        f"notebooks/{lecture.stem}.ipynb",
        *("-k", f"{lecture.stem} or [{lecture.number}-"),
    ]


def test_all(place: Place, arguments: list[str]) -> int:
    """Run the slow tests too, then the browser's and the hub's; all run, whichever fails."""
    here = run(place, *pytest_arguments(["-m", "not browser and not hub and not gpu", *arguments]))
    return max(here, test_browser(place, ["-m", "browser"]), test_hub(place, []))


def test_browser(place: Place, arguments: list[str]) -> int:
    """Drive the real JupyterLab in Chromium, one for each worker."""
    quick = ("-m", "browser and not slow")
    return run(place, "-m", "pytest", "tests/browser", *_workers(), *quick, *arguments)


def test_hub(place: Place, arguments: list[str]) -> int:
    """Start JupyterHub here, with its proxy, and let two students work in it."""
    hub = place.root / "deploy" / "jupyterhub"
    npm = [str(place.scripts / "npm"), "ci", "--prefix", str(hub), "--no-audit", "--no-fund"]
    if status := run_to_its_end(npm, cwd=hub, env=place.activated()):
        raise CommandError(f"npm could not install the hub's proxy (status {status}): see above.")
    return run(place, "-m", "pytest", "tests/tools/hub", "-m", "hub", *arguments)


def test_colab(place: Place, arguments: list[str]) -> int:
    """Run every lecture, explorer and quiz in an environment with Colab's packages."""
    there = Place(place.root / "build" / "colab-env")
    editions = place.root / "tools" / "editions"
    pins = (place.root / "constraints.txt").read_text(encoding="utf-8")
    torch = next(line for line in pins.splitlines() if line.startswith("torch=="))
    index = os.environ.get("TORCH_INDEX_URL")
    pip = [str(there.python), "-I", "-m", "pip", "install", "-q"]
    for command in (
        [str(place.python), "-m", "venv", "--clear", str(there.venv)],
        [*pip, torch, *(["--index-url", index] if index else [])],
        [*pip, torch, "-r", str(editions / "colab-packages.txt")],
        [*pip, "--no-deps", str(place.root), MINILM],
    ):
        if status := run_to_its_end(command, cwd=place.root):
            return status
    copies = place.root / "build" / "colab"
    made = ["-m", "tools.editions.colab", "--repository", "owner/name", "--ref", "v0"]
    run(place, *made, "--out", str(copies))
    tried = [str(there.python), "-m", "tools.editions.try_lectures", str(copies)]
    return run_to_its_end(tried, cwd=place.root)


def timing(place: Place, arguments: list[str]) -> int:
    """Say whether a lecture's slides fit its minutes."""
    lecture = [os.environ["LECTURE"]] if os.environ.get("LECTURE") else []
    return run(place, "-m", "tools.presenting.timing", *lecture, *arguments)


def claims(place: Place, arguments: list[str]) -> int:
    """Run the lectures' claims on fresh seeds and say how often each held."""
    lecture = [find_lecture(wanted).number] if (wanted := os.environ.get("LECTURE")) else []
    seeds = ["--seeds", os.environ["SEEDS"]] if os.environ.get("SEEDS") else []
    return run(place, "-m", "tools.claims", *lecture, *seeds, *arguments)


def lint(place: Place, arguments: list[str]) -> int:
    """Check style, formatting, types and which module may import which; all speak before it ends.

    `arguments` are files for the first three: imports are a matter of the whole.
    """
    checks = (("ruff", "check"), ("ruff", "format", "--check"), ("pyright",))
    statuses = [run(place, "-m", *check, *arguments) for check in checks]
    contracts = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"
    return max(*statuses, run(place, "-c", contracts))


def bench(place: Place, arguments: list[str]) -> int:
    """Run every benchmark and print what it measures."""
    scripts = sorted((place.root / "benchmarks").glob("[a-z]*.py"))
    return max(run(place, "-m", f"benchmarks.{script.stem}", *arguments) for script in scripts)


def doctor(place: Place, arguments: list[str]) -> int:
    """Say what works here; without an environment, ask the Python that runs this."""
    python = place.python if place.python.exists() else sys.executable
    command = [str(python), "-m", "tools.doctor", *arguments]
    return run_to_its_end(command, cwd=place.root, env=place.activated())


def constraints(place: Place, arguments: list[str]) -> int:
    """Ask uv for versions that suit every Python and system of the course, and write them down."""
    kept = place.root / "constraints.txt"
    compiled = ["-m", "uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate", *arguments]
    # A version that only a later 3.11 takes would stop set-up on a system's own, older one.
    everywhere = ["--universal", "--fork-strategy", "fewest", "--python-version", "3.11"]
    before = kept.read_bytes()
    new = place.venv / "constraints.txt"  # uv keeps to the versions that it finds there
    new.write_bytes(before)
    every = ["--all-extras", "pyproject.toml", "-o", str(new)]
    if status := run(place, *compiled, *everywhere, *every):
        return status
    minilm = subprocess.run(
        [str(place.python), *compiled, "--no-deps", "-"],
        input=MINILM,
        cwd=place.root,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    text = CONSTRAINTS_HEADER + new.read_text(encoding="utf-8") + minilm
    try:
        write_back(kept, before, text.encode())
    except SavedMeanwhileError as error:
        raise CommandError(str(error)) from None
    say(f"constraints.txt now pins {text.count('==')} versions.")
    return 0


def clean(place: Place, arguments: list[str]) -> int:
    """Remove the environment and what tools have left behind."""
    if begun(place):
        remove(place.venv)
    elif os.path.lexists(place.venv):
        say("The .venv there was not made by this set-up, and stays.")
    for folder in [place.root / name for name in LEFT_BEHIND]:
        shutil.rmtree(folder, ignore_errors=True)
    for folder in place.root.rglob("__pycache__"):
        shutil.rmtree(folder, ignore_errors=True)
    say("Removed what set-up and tools had made; the lectures are untouched.")
    return 0
