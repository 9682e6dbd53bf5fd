"""A copy of the course in miniature whose pip is a script: set-up in a second, without network."""

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

from tools.setup import environment, pins
from tools.setup.place import ROOT, Place

# What stands in for pip: it obeys the file `pip-obeys` and notes its arguments in `pip-said`.
FAKE_PIP = """
import json, os, pathlib, signal, sys
root, modules = pathlib.Path({root!r}), {modules!r}
if sys.argv[1:] == ["--version"]:
    sys.exit(0)
with (root / "pip-said").open("a") as said:
    said.write(json.dumps(sys.argv[1:]) + chr(10))
orders = root / "pip-obeys"
order = orders.read_text() if orders.exists() else ""
print("Collecting something")
if order == "no network":
    print("NewConnectionError: Failed to establish a new connection")
    sys.exit(1)
print("Installing collected packages: one, two", flush=True)
if order == "die":
    os._exit(9)
site = pathlib.Path(__file__).parent.parent
for name in modules:
    (site / name).mkdir(exist_ok=True)
    (site / name / "__init__.py").touch()
(site / "course.pth").write_text(str(root))
"""


def small_course(root: Path) -> Place:
    """Return a place with the real pyproject.toml and constraints.txt, and an empty package."""
    root.mkdir()
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, root)
    (root / "course_utils").mkdir()
    (root / "course_utils" / "__init__.py").touch()
    return Place(root)


def make_small_venv(place: Place, again: str) -> None:
    """Make a real environment without pip, and put the script in pip's place."""
    options = ["--without-pip", str(place.venv)]
    subprocess.run([sys.executable, "-m", "venv", *options], check=True)
    question = "import sysconfig; print(sysconfig.get_path('purelib'))"
    answer = subprocess.run(
        [place.python, "-c", question], capture_output=True, text=True, check=True
    )
    pip = Path(answer.stdout.strip()) / "pip"
    pip.mkdir()
    modules = sorted({m for level in pins.EXTRAS for m in pins.modules(place.root, level).values()})
    script = FAKE_PIP.format(root=str(place.root), modules=modules)
    (pip / "__main__.py").write_text(textwrap.dedent(script), encoding="utf-8")
    (pip / "__init__.py").touch()


def site_packages(place: Place) -> Path:
    """Return where the environment keeps its packages."""
    return next(place.venv.rglob("site-packages"))


def use_small_venvs(monkeypatch) -> None:
    """Let set-up make small environments for the length of a test."""
    monkeypatch.setattr(environment, "make_venv", make_small_venv)
    for name in ("TORCH_INDEX_URL", "COURSE_PINS"):
        monkeypatch.delenv(name, raising=False)
