"""What a user's Python loads. Which way imports run is checked by `make lint` (import-linter)."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "course_utils").rglob("*.py")
)


def run_python(code: str) -> str:
    """Run code in a fresh Python, as a user's is: no test has imported anything yet."""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def loaded_after(statement: str) -> set[str]:
    return set(run_python(f"import sys\n{statement}\nprint(*sys.modules)").split())


def test_the_package_is_light():
    loaded = loaded_after("import course_utils\nimport course_utils.lectures")
    assert not loaded & {"torch", "numpy", "matplotlib", "ipywidgets"}
    assert {name for name in loaded if name.startswith("course_utils.lectures")} == {
        "course_utils.lectures"
    }


def test_the_core_draws_nothing():
    loaded = loaded_after("from course_utils import attention, masks, layers, kernels, models")
    assert "torch" in loaded
    assert not loaded & {"matplotlib", "ipywidgets", "IPython", "transformers", "triton"}


def test_show_loads_only_what_it_needs():
    loaded = loaded_after("from course_utils.explorers import show")
    ours = {name for name in loaded if name.split(".")[0] == "course_utils"}
    assert len(ours) <= 15, sorted(ours)


def test_everything_imports_without_the_optional_packages_and_without_pyplot():
    # The kernels and who starts them need Triton at import; whoever wants them asks the dispatch.
    modules = [name for name in MODULES if not name.endswith((".tiled_triton", ".launch"))]
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
