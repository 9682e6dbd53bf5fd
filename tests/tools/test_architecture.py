"""What a user's Python loads. Which way imports run is checked by `make lint` (import-linter)."""

import ast
import graphlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernels.support_fresh import FreshPython

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in ("course_utils", "lectures")
    for path in (ROOT / package).rglob("*.py")
)

LOADED = "import sys\nprint(*sys.modules)"


@pytest.fixture(scope="module")
def run_python():
    """Run code in a Python that has torch alone, as a user's: no test has imported anything yet."""
    with FreshPython() as fresh:

        def run(code: str) -> str:
            done = fresh(f"import warnings\nwarnings.simplefilter('error')\n{code}")
            assert done.returncode == 0, done.stderr
            return done.stdout.strip()

        yield run


def test_the_package_is_light():
    code = f"import course_utils\nimport lectures\n{LOADED}"
    command = [sys.executable, "-W", "error", "-c", code]
    loaded = set(subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout.split())
    assert not loaded & {"torch", "numpy", "matplotlib", "ipywidgets"}
    assert {name for name in loaded if name.startswith("lectures")} == {"lectures"}


def test_the_core_draws_nothing(run_python):
    code = f"from course_utils import attention, masks, layers, kernels, models\n{LOADED}"
    loaded = set(run_python(code).split())
    assert "course_utils.layers" in loaded
    assert not loaded & {"matplotlib", "ipywidgets", "IPython", "transformers", "triton"}


def test_show_loads_only_what_it_needs(run_python):
    loaded = run_python(f"from course_utils.explorers import show\n{LOADED}").split()
    ours = {name for name in loaded if name.split(".")[0] in ("course_utils", "lectures")}
    assert len(ours) <= 15, sorted(ours)


def test_everything_imports_without_the_optional_packages_and_without_pyplot(run_python):
    # The kernels need Triton at import; whoever wants them asks who starts them.
    modules = [name for name in MODULES if not name.endswith(".tiled_triton")]
    # None in sys.modules makes an import fail as if the package were not installed.
    code = f"""
import importlib, sys
for absent in ("jaxtyping", "beartype", "triton", "transformers", "scipy"):
    sys.modules[absent] = None
for name in {modules}:
    importlib.import_module(name)
assert "matplotlib.pyplot" not in sys.modules
print(len({modules}))
"""
    assert run_python(code) == str(len(modules))


def imported(path, modules):
    """What a module imports of ours: at the top, late, or for its types alone."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            inside = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in modules else node.module for name in inside)


def test_no_modules_import_in_a_circle():
    files = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for package in ("course_utils", "lectures", "tools")
        for path in (ROOT / package).rglob("*.py")
    }
    graph = {name: {*imported(path, files)} & {*files} - {name} for name, path in files.items()}
    assert sum(map(len, graph.values())) > 500
    graphlib.TopologicalSorter(graph).prepare()  # raises what is in a circle


def test_lectures_code_has_no_ceremony():
    """It is private: no sections for arguments, and no examples, which nobody would run."""
    ceremony = re.compile(r"^ *(?:Args|Returns):$|>>> ", re.MULTILINE)
    files = (ROOT / "lectures").rglob("*.py")
    assert [path.name for path in files if ceremony.search(path.read_text("utf-8"))] == []
