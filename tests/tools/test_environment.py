"""The files that describe the environment agree with each other and with the commands."""

import re
import subprocess
import sys
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from course_utils.lectures import COURSE
from tools.setup import cli, environment, tasks
from tools.setup.place import ROOT, Place

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TABLE = PROJECT["project"]
EXTRAS = TABLE["optional-dependencies"]
REQUIREMENTS = [
    Requirement(text) for group in (TABLE["dependencies"], *EXTRAS.values()) for text in group
]


PYTHONS = ("3.11.2", "3.12.0", "3.13.0")  # Debian 12's own comes first
SYSTEMS = {"linux": ("posix", "x86_64"), "darwin": ("posix", "arm64"), "win32": ("nt", "AMD64")}


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_constraints_pin_one_version_of_everything_within_its_range(python, system):
    os_name, machine = SYSTEMS[system]
    where = {"python_full_version": python, "python_version": python.rpartition(".")[0]}
    where |= {"sys_platform": system, "os_name": os_name, "platform_machine": machine}
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = {}
    for pin in (Requirement(line) for line in lines if not line.startswith("#")):
        if pin.marker is None or pin.marker.evaluate(where):
            assert pins.setdefault(canonicalize_name(pin.name), pin.specifier) is pin.specifier
    # Exact, and of no build such as torch's `+cpu`: they fit every system.
    exact = {name: re.fullmatch(r"==([0-9.]+(post\d+|b\d+)?)", str(pins[name])) for name in pins}
    assert [name for name, version in exact.items() if version is None] == []
    wanted = [r for r in REQUIREMENTS if r.marker is None or r.marker.evaluate(where)]
    versions = {r: exact[canonicalize_name(r.name)][1] for r in wanted}
    assert [
        str(r)
        for r, version in versions.items()
        if not r.specifier.contains(version, prereleases=True)
    ] == []


def test_conda_brings_the_same_python_and_torch():
    conda = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    packages = conda["dependencies"]
    assert "python=3.12" in packages, "repo2docker reads the version after a single ="
    assert SpecifierSet(TABLE["requires-python"]).contains("3.12")
    torch = next(text for text in packages if text.startswith("pytorch"))
    assert torch.removeprefix("pytorch-cpu") == environment.torch_range(ROOT).removeprefix("torch")


def test_every_command_is_a_make_target():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", "")
    targets = re.search(r"^COMMANDS := (.+)$", makefile, re.MULTILINE).group(1).split()
    assert targets == list(cli.COMMANDS)
    assert {extra for c in cli.COMMANDS.values() for extra in c.extras or ()} <= EXTRAS.keys()


@pytest.fixture
def ran(monkeypatch):
    """What the environment's Python was asked to run."""
    commands = []
    monkeypatch.delenv("LECTURE", raising=False)
    monkeypatch.setattr(tasks, "run", lambda place, *command: commands.append(command) or 0)
    return commands


@pytest.mark.slow
@pytest.mark.parametrize("lecture", COURSE[4:5], ids=lambda lecture: lecture.stem)
def test_one_lecture_is_its_folder_and_its_part_of_the_rest(lecture, ran):
    tasks.test(Place(), [str(lecture.number), "--collect-only", "-qq", "-n0"])
    [command] = ran
    answer = subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=ROOT)
    files = {line.partition("::")[0].rpartition(": ")[0] for line in answer.stdout.splitlines()}
    assert {
        f"notebooks/{lecture.stem}.ipynb",
        "tests/lectures/test_every_exercise.py",
        "tests/lectures/test_every_explorer.py",
        "tests/lectures/test_notebook_lint.py",
    } < files
    others = [other.stem for other in COURSE if other != lecture]
    assert [file for file in files if any(other in file for other in others)] == []


def workflows():
    """Return the workflows by file name."""
    files = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    return {file.name: yaml.safe_load(file.read_text(encoding="utf-8")) for file in files}


def test_workflows_may_only_read_and_pin_their_actions():
    for name, workflow in workflows().items():
        assert workflow["permissions"] == {"contents": "read"}, name
        for job in workflow["jobs"].values():
            # Only the branch of copies for Colab is written, at a release.
            assert ("permissions" in job) == (name == "colab.yml")
            used = [step["uses"] for step in job["steps"] if "uses" in step]
            unpinned = [one for one in used if not re.search(r"@[0-9a-f]{40}$", one)]
            assert unpinned == [], name
