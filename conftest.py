"""What every test run shares: unit tests, doctests and the kernels that run the lectures.

It lies at the root, not under tests/, so that `pytest --nbval notebooks/01_scaling.ipynb` alone
is as strict as the whole suite.
"""

import gc
import importlib.util
import os
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from jaxtyping import install_import_hook  # noqa: E402  (the tree has to be importable first)

from tests import (  # noqa: E402
    support_annotations,  # noqa: F401  (the hook below looks it up by name)
    support_figures,
    support_offline,
    support_order,
)
from tools.ending import SIGNALS  # noqa: E402

# Before anything imports the course: from here on, annotations with shapes are enforced.
_annotations = install_import_hook(
    ["course_utils", "lectures"], "tests.support_annotations.check_after"
).hook
_checked = _annotations.should_instrument
# Triton reads the source and the globals of a kernel, and a wrapped one has those of the wrapper.
# The checks are called at every step of a model: wrapped, they would take most of the tests' time.
_PLAIN = (".tiled_triton", ".checks")
_annotations.should_instrument = lambda module: not module.endswith(_PLAIN) and _checked(module)

# Sphinx reads these; `make test` does without it.
collect_ignore = [f"tools/site/{name}.py" for name in ("conf", "docstrings", "mathematics")]
if os.name == "nt":  # a hub needs the accounts of a Unix
    collect_ignore.append("tests/tools/hub")
# Their examples, which pytest would import them for, are for those who have Triton.
if not importlib.util.find_spec("triton"):
    collect_ignore += [f"course_utils/kernels/{name}.py" for name in ("tiled_triton", "inspect")]

# Inherited by every kernel and subprocess that a test starts.
os.environ["TQDM_DISABLE"] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["PYTHONHASHSEED"] = "0"
# The code under test is this tree's, whichever copy is installed.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
)
# Triton reads this when it is first imported, which may be by any test.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")
# Two workers share two cores; more threads than cores only make them wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_configure(config):
    """Refuse the network here and in every kernel started from here."""
    support_offline.refuse_network()
    worker = hasattr(config, "workerinput")  # whose folder goes with that of the first process
    if not worker:
        for number in SIGNALS:
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, signal.default_int_handler)  # as Ctrl-C, which cleans up
    within = os.environ["IPYTHONDIR"] if worker else None
    folder = tempfile.mkdtemp(prefix="course-ipython-", dir=within)
    support_offline.write_ipython_startup(Path(folder))
    os.environ["IPYTHONDIR"] = folder
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    if config.getoption("nbval", default=False):
        # The first import of the font list on a machine builds a cache and says so on stderr,
        # which would fail the first lecture that draws.
        import matplotlib.font_manager  # noqa: F401


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Hand out the slow files first: a worker takes whole files, and two share the tests."""
    items[:] = support_order.slowest_first(items)


def pytest_collection_finish():
    """Keep the collector from walking again and again through what was imported: a fifth faster."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def same_random_numbers():
    """Every test starts from the same seeds, whatever ran before it."""
    random.seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


@pytest.fixture(autouse=True)
def no_pyplot_figures():
    """Fail a test that leaves a pyplot figure behind: nobody would ever close it."""
    yield
    left = support_figures.left_open()
    assert not left, f"pyplot figures left open: {left}"


@pytest.fixture(scope="session")
def minilm():
    """The real model; imported here, so that a run without it does not wait for torch."""
    from course_utils.models import load_minilm

    return load_minilm()


@pytest.fixture(scope="session")
def folder():
    """Where the real model's files are."""
    from course_utils.data.minilm_files import find_minilm

    return find_minilm()
