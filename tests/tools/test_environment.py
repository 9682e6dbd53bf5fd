"""The files that describe the environment agree with each other and with the commands."""

import json
import re
import subprocess
import sys
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from lectures import COURSE
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
    tasks.test(Place(), [lecture.number, "--collect-only", "-qq", "-n0"])
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


class Interrupted(BaseException):
    """The process is ended from outside."""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A course whose set-up makes `.venv` and installs nothing."""
    place = Place(tmp_path)
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    monkeypatch.setattr(environment, "install_all", lambda extras, place, again: None)
    done = subprocess.CompletedProcess([], 0, "", "")
    monkeypatch.setattr(environment.subprocess, "run", lambda *command, **options: done)
    monkeypatch.setattr(cli, "Place", lambda: place)
    return place


def own_folder(path):
    (path / "lib").mkdir(parents=True)
    (path / "lib" / "mine.py").write_text("mine")


def own_file(path):
    path.write_text("mine")  # as programs write that switch environments by a folder's name


def own_link(path):
    own_folder(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


@pytest.mark.parametrize("make", [own_folder, own_file, own_link])
def test_what_set_up_did_not_begin_is_put_aside(make, place, capsys):
    for number in ("", "2"):  # and again
        make(place.venv) if not number else own_file(place.venv)
        assert cli.run(["setup"]) == 0
        kept = place.root / f".venv.yours{number}"
        file = kept / "lib" / "mine.py" if kept.is_dir() else kept
        assert file.read_text() == "mine"
        assert f"is kept as {kept.name}" in capsys.readouterr().out
        assert environment.begun(place) and not place.venv.is_symlink()
        environment.remove(place.venv)


@pytest.mark.parametrize("cut_off", ["at the first program", "in pip"])
def test_what_set_up_began_is_made_anew(cut_off, place, monkeypatch, capsys):
    def stop(*arguments, **options):
        raise Interrupted

    with monkeypatch.context() as patch, pytest.raises(Interrupted):
        if cut_off == "in pip":
            patch.setattr(environment, "install_all", stop)
        else:
            patch.setattr(environment.subprocess, "run", stop)
        cli.run(["setup"])
    place.stamp.unlink(missing_ok=True)
    (place.venv / "half").touch()
    assert cli.run(["setup"]) == 0
    assert "a new one" in capsys.readouterr().out and not (place.venv / "half").exists()
    assert not [*place.root.glob(".venv.*s*")]


@pytest.mark.parametrize("fails", [False, True], ids=["made", "no new one"])
def test_a_moved_environment_goes_once_there_is_another(fails, place, monkeypatch):
    assert cli.run(["setup"]) == 0
    (place.venv / "old").touch()
    stamp = place.stamp.read_text().replace(str(place.root), "/where it was")
    place.stamp.write_text(stamp)

    def install(*arguments):
        if fails:
            raise environment.CommandError("no network")

    monkeypatch.setattr(environment, "install_all", install)
    assert cli.run(["setup"]) == fails
    assert (place.venv / "old").exists() == fails
    assert {path.name for path in place.root.glob(".venv*")} == {".venv", ".venv.lock"}


def test_a_link_to_another_disk_is_used_and_kept(place):
    other = place.root / "other disk"
    other.mkdir()
    place.venv.symlink_to(other)
    assert cli.run(["setup"]) == 0
    assert place.venv.is_symlink() and (other / "setup.log").exists()
    (other / "lib").mkdir()
    assert cli.run(["clean"]) == 0
    assert place.venv.is_symlink() and [*other.iterdir()] == []


def test_clean_leaves_what_set_up_did_not_begin(place, capsys):
    own_folder(place.venv)
    assert cli.run(["clean"]) == 0
    assert (place.venv / "lib" / "mine.py").exists()
    assert "was not made by this set-up, and stays" in capsys.readouterr().out


def dangling(place):
    place.venv.symlink_to("/media/a disk that is not there")
    return "which is not there"


def circle(place):
    place.venv.symlink_to(place.venv.name)
    return "which is not there"


def another_checkout_s(place):
    other = place.root / "other"
    (other / ".venv").mkdir(parents=True)
    (other / ".venv" / place.stamp.name).write_text(
        json.dumps({"root": str(other), "pins": "x", "extras": []})
    )
    place.venv.symlink_to(other / ".venv")
    return f"a link to the environment of {other}"


def lock_is_a_folder(place):
    place.lock.mkdir()
    return r"\.venv\.lock"


def no_pins(place):
    (place.root / "constraints.txt").unlink()
    return r"constraints\.txt"


def conflicts(place):
    (place.root / "pyproject.toml").write_text("<<<<<<< HEAD")
    return r"pyproject\.toml"


@pytest.mark.parametrize(
    "spoil", [dangling, circle, another_checkout_s, lock_is_a_folder, no_pins, conflicts]
)
def test_what_is_in_the_way_is_named_in_a_sentence(spoil, place, capsys):
    said = spoil(place)
    before = sorted(path.name for path in place.root.iterdir())
    assert cli.run(["setup"]) == 1
    assert re.search(said, capsys.readouterr().err)
    assert {*before} <= {path.name for path in place.root.iterdir()} <= {*before, ".venv.lock"}


@pytest.mark.parametrize("stamp", ["[]", "7", "null", "{}", '{"pins": "x"}', '"root"'])
def test_a_stamp_that_says_nothing_is_no_stamp(stamp, place):
    own_folder(place.venv)
    place.stamp.write_text(stamp)
    assert environment.read_stamp(place) == {} and not environment.is_ready(["lab"], place)


def workflows():
    """Return the workflows by file name."""
    files = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    return {file.name: yaml.safe_load(file.read_text(encoding="utf-8")) for file in files}


def test_workflows_may_only_read_and_pin_their_actions():
    for name, workflow in workflows().items():
        assert workflow["permissions"] == {"contents": "read"}, name
        for job in workflow["jobs"].values():
            # Two branches are written, of what was made: the copies for Colab, and the site.
            assert ("permissions" in job) == (name in ("colab.yml", "site.yml"))
            used = [step["uses"] for step in job["steps"] if "uses" in step]
            unpinned = [one for one in used if not re.search(r"@[0-9a-f]{40}$", one)]
            assert unpinned == [], name
