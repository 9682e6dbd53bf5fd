"""A new lecture, between two others: a copy of `_template`, its notebook, a line in COURSE."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NEEDED = (
    "course_utils", "lectures", "tools", "tests", "benchmarks", "conftest.py", "pyproject.toml",
    "docs", "README.md",
)  # fmt: skip
LINE = '    Lecture("08b", "temperature", "Temperature", "How sharp is a softmax?", 10),\n'
BEFORE = "        _KERNELS,\n    ),\n"
# One process for both: most of its time goes to imports.
RUN_AND_PLAN = """
import sys
from tools.editions import outputs
from tools.presenting import timing
sys.exit(outputs.main(sys.argv[1:]) or timing.main(["8b"]))
"""
IGNORED = shutil.ignore_patterns("node_modules", "_build")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A copy of the course with one lecture more, and what was said of it."""
    folder = tmp_path_factory.mktemp("course")
    for name in NEEDED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name, **({"ignore": IGNORED} if copy is shutil.copytree else {}))
    lectures, notebooks = folder / "lectures", folder / "notebooks"
    shutil.copytree(ROOT / "notebooks", notebooks, ignore=IGNORED)
    shutil.copytree(lectures / "_template", lectures / "l08b_temperature")
    notebook = notebooks / "08b_temperature.ipynb"
    (lectures / "l08b_temperature" / "notebook.ipynb").rename(notebook)
    for file, old, new in (
        (notebook, "# 09 · How", "# 08b · How"),
        (lectures / "l08b_temperature" / "teaching.md", "# 09 · How", "# 08b · How"),
        (notebook, "lectures._template import", "lectures.l08b_temperature import"),
        (lectures / "__init__.py", BEFORE, BEFORE + LINE),
    ):
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1
        file.write_text(text.replace(old, new), encoding="utf-8")
    return folder, run(folder, "-c", RUN_AND_PLAN, str(notebook))


@pytest.fixture
def course(made):
    return made[0]


def run(folder, *arguments):
    """Run Python there, without a browser: pictures of explorers are for the browser's tests."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "CHROMIUM": str(folder / "none")}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_what_make_test_runs_for_it_passes(course):
    ask = "import json; from tools.setup import lab, tasks; "
    ask += "print(json.dumps(tasks.pytest_arguments(tasks.lecture_tests(lab.find_lecture('08b')))))"
    arguments = json.loads(run(course, "-c", ask))
    assert arguments[:2] == ["-m", "pytest"]
    said = run(course, *arguments)
    passed = int(said.rpartition(" passed")[0].split()[-1])
    assert passed > 50 and "failed" not in said


@pytest.mark.slow
def test_what_all_lectures_share_still_passes(course):
    files = (
        "lectures/test_corrections.py",
        "lectures/test_notebook_lint.py",
        "tools/test_claims.py",
    )
    names = "every_row or lecture_of_the_course or lists or table or own_name"
    said = run(course, "-m", "pytest", "-q", "-k", names, *(f"tests/{file}" for file in files))
    assert " passed" in said and "failed" not in said


def test_its_slides_are_planned(made):
    _, said = made
    assert "It fits: the plan takes 10 of 10 minutes." in said
    assert "[1] nearly one word" in said and "A softmax with a temperature (gentle, 3 min)" in said


def test_readme_lists_it(course):
    page = (course / "README.md").read_text("utf-8")
    assert '<a href="notebooks/08b_temperature.ipynb"><b>08b · Temperature</b></a>' in page


@pytest.mark.slow
def test_it_has_a_page(course):
    run(course, "-m", "tools.site.build", "--out", str(course / "build"))
    page = (course / "build/html/lectures/08b_temperature.html").read_text(encoding="utf-8")
    assert 'class="course-live"' in page and "How sharp is a softmax?" in page
