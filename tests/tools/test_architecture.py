"""The shape of the code: which way imports run, who may use what, and what a function says.

Every rule is also given a planted violation, so that none can pass by seeing nothing.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools import support_architecture as rules

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = rules.read_sources(ROOT, "course_utils")
EVERYTHING = PACKAGE | rules.read_sources(ROOT, "tests", "scripts", "commands", "benchmarks")
SETUP = rules.read_sources(ROOT, "commands")
SETUP["course.py"] = (ROOT / "course.py").read_text(encoding="utf-8")

# Cards, widgets and files show themselves; an example would only repeat what the tests assert.
SHOWS_ITSELF = ("course_utils/viz/", "course_utils/teaching/", "tools/doctor.py")
COMPUTES = {path: text for path, text in PACKAGE.items() if not path.startswith(SHOWS_ITSELF)}


CHECKED = {
    rules.back_edges: PACKAGE,
    rules.cycles: PACKAGE,
    rules.strangers: PACKAGE,
    rules.drawing_models: PACKAGE,
    rules.not_torch_alone: PACKAGE,
    rules.not_standard_library: SETUP,
    rules.unpickling: PACKAGE,
    rules.long_files: EVERYTHING,
    rules.leftovers: EVERYTHING,
    rules.without_docstring: PACKAGE,
    rules.without_doctest: COMPUTES,
    rules.without_annotations: PACKAGE,
}
# For each rule what it must catch: a file, and lines added to it.
PLANTED = [
    (rules.back_edges, "course_utils/masks.py", "from course_utils.attention import attend"),
    (rules.back_edges, "course_utils/shapes.py", "def f():\n    from . import models"),
    (rules.back_edges, "course_utils/models/extra.py", "import course_utils.explorers"),
    (rules.back_edges, "course_utils/__init__.py", "from .shapes import AXES"),
    (rules.back_edges, "course_utils/novelty.py", ""),
    (rules.cycles, "course_utils/shapes.py", "from course_utils import masks"),
    (rules.strangers, "course_utils/layers/a.py", "import ipywidgets"),
    (rules.strangers, "course_utils/teaching/a.py", "from matplotlib import figure"),
    (rules.strangers, "course_utils/viz/a.py", "import matplotlib.pyplot as plt"),
    (rules.strangers, "course_utils/viz/a.py", "from matplotlib import pyplot"),
    (rules.strangers, "course_utils/kernels/tiled.py", "import triton.language as tl"),
    (rules.strangers, "course_utils/models/a.py", "def f():\n    import pickle"),
    (rules.strangers, "course_utils/models/a.py", "from urllib.request import urlopen"),
    (
        rules.drawing_models,
        "course_utils/explorers/draw.py",
        "from course_utils.models import MiniLM",
    ),
    (
        rules.drawing_models,
        "course_utils/explorers/__init__.py",
        "from course_utils import word_drift",
    ),
    (rules.drawing_models, "course_utils/viz/a.py", "def f():\n    from .. import models"),
    (rules.not_torch_alone, "course_utils/attention.py", "import numpy as np"),
    (rules.not_torch_alone, "course_utils/layers/a.py", "from scipy import special"),
    (rules.not_standard_library, "commands/a.py", "import packaging"),
    (rules.unpickling, "course_utils/models/a.py", "torch.load(path)"),
    (rules.unpickling, "course_utils/models/a.py", "np.load(path, allow_pickle=True)"),
    (rules.long_files, "course_utils/measure/costs.py", "x = 1\n" * 401),
    (rules.leftovers, "tests/test_a.py", "# TO" + "DO: later"),
    (rules.without_docstring, "course_utils/viz/a.py", "class Explorer: pass"),
    (rules.without_docstring, "course_utils/viz/a.py", "def draw(): pass"),
    (rules.without_doctest, "course_utils/measure/costs.py", 'def f():\n    """F."""'),
    (rules.without_doctest, "course_utils/kernels/tiled_triton.py", 'def f():\n    """F."""'),
    (rules.without_annotations, "course_utils/kernels/tiled_triton.py", "def f(x): ..."),
    (rules.without_annotations, "course_utils/viz/a.py", "def f(*, x) -> None: ..."),
    (rules.without_annotations, "course_utils/viz/a.py", "def f(x: int): ..."),
]


@pytest.mark.parametrize("rule", CHECKED, ids=lambda rule: rule.__name__)
def test_the_course_keeps_the_rule(rule):
    assert CHECKED[rule], "nothing to check"
    assert rule(CHECKED[rule]) == []


@pytest.mark.parametrize(("rule", "path", "added"), PLANTED)
def test_the_rule_catches_a_planted_violation(rule, path, added):
    sources = CHECKED[rule]
    with_violation = {**sources, path: sources.get(path, "") + "\n" + added + "\n"}
    assert len(rule(with_violation)) > len(rule(sources))


def test_every_rule_has_a_planted_violation():
    assert {rule for rule, _, _ in PLANTED} == set(CHECKED)


def test_only_a_lectures_own_explorers_may_draw_a_model():
    line = "from course_utils.models.minilm import Reading\n"
    assert (
        rules.drawing_models({"course_utils/lectures/l00_start_here/explorers/real_heads.py": line})
        == []
    )
    assert len(rules.drawing_models({"course_utils/viz/heads_0.py": line})) == 1
    assert line in PACKAGE["course_utils/lectures/l00_start_here/explorers/real_heads.py"]


def test_imports_are_read_wherever_they_stand():
    source = (
        "import a.b\nfrom c import d\nfrom . import e\nfrom .f import g\nfrom ..h import i\n"
        "if TYPE_CHECKING:\n    import never\nelse:\n    import j\n"
        "def function():\n    import k\n"
    )
    found = list(rules.imports("course_utils/viz/module.py", source))
    here = "course_utils.explorers"
    assert found == ["a.b", "c.d", f"{here}.e", f"{here}.f.g", "course_utils.h.i", "j", "k"]
    assert "k" not in rules.imports("course_utils/viz/module.py", source, lazy=False)


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


def loaded_after(statement: str, *watched: str) -> str:
    report = f"print(*[name for name in {watched} if name in sys.modules])"
    return run_python(f"import sys\n{statement}\n{report}")


def test_the_package_itself_is_light():
    assert loaded_after("import course_utils", "torch", "numpy", "matplotlib", "ipywidgets") == ""


def test_the_core_loads_nothing_that_draws():
    statement = "from course_utils import shapes, masks, attention, costs"
    assert loaded_after(statement, "torch") == "torch"
    assert loaded_after(statement, "matplotlib", "ipywidgets", "IPython", "transformers") == ""


def test_everything_imports_without_the_optional_packages_and_without_pyplot():
    modules = sorted({rules.module_name(path) for path in PACKAGE})
    # The kernels and who starts them need Triton at import; whoever wants them asks the dispatch.
    modules = [name for name in modules if not name.endswith((".tiled_triton", ".launch"))]
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
