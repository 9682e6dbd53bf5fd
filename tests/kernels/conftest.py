"""Where the kernel tests run, and on which backends. Enough by itself (`--confcutdir`) on a bare
machine with a GPU: it needs pytest and torch alone.
"""

import importlib.util
import os
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
import torch

# Shared with the other tests, and there even without the root's conftest.py.
_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent)]

HAS_GPU = torch.cuda.is_available()
if not HAS_GPU:
    # Triton reads this when it is imported, so it has to be there before the first test file is.
    os.environ.setdefault("TRITON_INTERPRET", "1")

INTERPRETED = os.environ.get("TRITON_INTERPRET", "0") not in ("", "0")
needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="Triton is not installed"
)


def pytest_configure(config):
    # Where the course's pyproject.toml is not read.
    config.addinivalue_line("markers", "slow: what make test leaves to make test-all")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leave most of what the interpreter computes to ``make test-all``; keep this shard's part."""
    if INTERPRETED:
        mark_slow([item for item in items if _HERE in item.path.parents])
    keep_shard(config, items)


def mark_slow(items):
    """Of each test that Triton's interpreter runs, keep a sample; the rest is slow."""
    from support_problems import is_telling  # not before the interpreter was asked for

    tests = defaultdict(list)
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        if item.path.name == "test_triton.py" or params.get("backend") == "triton":
            tests[item.nodeid.partition("[")[0]].append((item, params))
    for cases in tests.values():
        sample = [item for item, params in cases if is_telling(params)] or [cases[0][0]]
        for item, _ in cases:
            if item not in sample:
                item.add_marker("slow")


def keep_shard(config, items):
    """With SHARD=i/n in the environment, keep the i-th (from 0) of n parts of the tests.

    The parts together are all tests, each once. What Triton compiles comes first: it takes longest.
    """
    if not (asked := os.environ.get("SHARD")):
        return
    index, _, count = asked.partition("/")
    if not (index.isdecimal() and count.isdecimal() and int(index) < int(count)):
        raise pytest.UsageError(f"SHARD must be i/n with 0 <= i < n, got {asked!r}")
    items.sort(key=lambda item: "triton" not in item.nodeid)
    kept = items[int(index) :: int(count)]
    kept_ids = set(map(id, kept))
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept_ids])
    items[:] = kept


@pytest.fixture(autouse=True)
def same_random_numbers():
    """Every test starts from the same seed, whatever ran before it."""
    torch.manual_seed(0)


@pytest.fixture(scope="session", autouse=True)
def products_add_in_one_order():
    """Let ``a @ b`` and ``b.T @ a.T`` be equal in the interpreter, to the last bit.

    The backward kernels compute the forward pass's scores again, transposed. The units of a GPU add
    up a product's terms in one order either way. NumPy's matrix library need not: with OpenBLAS's
    kernels for processors without AVX-512, one float32 score in five differs, and of scores of
    1e18 the last bit is worth more than exp can take.
    """
    with pytest.MonkeyPatch.context() as changed:
        if INTERPRETED and importlib.util.find_spec("triton") is not None:
            import numpy as np
            from triton.runtime import interpreter

            def create_dot(builder, a, b, total, input_precision, max_num_imprecise_acc):
                product = np.einsum("ik,kj->ij", a.data, b.data, dtype=total.data.dtype)
                return interpreter.TensorHandle(product + total.data, total.dtype.scalar)

            changed.setattr(interpreter.InterpreterBuilder, "create_dot", create_dot)
        yield


@pytest.fixture(scope="session", autouse=True)
def language_patched_once():
    """Spare half of the interpreter's time.

    It puts its own functions in the place of Triton's when a kernel starts, and once more whenever
    the kernel calls a helper, for which it goes through all of `triton.language`. For helpers from
    the kernel's own file, which see the same names, the second time changes nothing.

    It also computes, for each sum and product of integers, whether 32 bits hold it, and then drops
    the answer unless its option `debug` is set: `device_assert` returns at once.
    """
    with pytest.MonkeyPatch.context() as changed:
        if INTERPRETED and importlib.util.find_spec("triton") is not None:
            from triton.runtime import interpreter

            patch_and_call = interpreter.InterpretedFunction.__call__

            def call(helper, *arguments, **constants):
                if helper.fn.__module__ != "course_utils.kernels.tiled_triton":
                    return patch_and_call(helper, *arguments, **constants)
                return helper.rewrite()(*arguments, **constants)

            changed.setattr(interpreter.InterpretedFunction, "__call__", call)

            builder = interpreter.interpreter_builder
            heard = replace(builder.options, sanitize_overflow=builder.options.debug)
            changed.setattr(builder, "options", heard)
        yield


TILED = ["tiled", "tiled, fast", "tiled, fast with oneDNN"]
BACKENDS = [pytest.param("triton", marks=needs_triton), *TILED, "reference"]


@pytest.fixture(params=BACKENDS)
def backend(request, monkeypatch) -> str:
    """Each backend of `flash_attend` that can compute here, one of them in three ways."""
    if request.param not in TILED:
        return request.param
    if HAS_GPU and request.param != "tiled":
        pytest.skip("only the CPU has other ways, and these tests run on the GPU")
    from support_paths import take_path  # not before the interpreter was asked for

    take_path(monkeypatch, request.param)
    return "tiled"


@pytest.fixture
def attend(backend):
    """`flash_attend` on that backend, as the backends themselves are: it gives (out, lse)."""
    from support_checks import through  # not before the interpreter was asked for

    return through(backend)


@pytest.fixture(scope="session")
def fresh_python():
    """Runs code in a Python that has imported torch alone, TRITON_INTERPRET as told or not set."""
    from support_fresh import FreshPython

    with FreshPython() as fresh:
        yield fresh


@pytest.fixture(scope="session")
def device() -> torch.device:
    """Where every backend of this run computes: the GPU, if there is one and Triton compiles."""
    return torch.device("cuda" if HAS_GPU and not INTERPRETED else "cpu")


@pytest.fixture(scope="session")
def interpreted() -> bool:
    """Whether Triton's interpreter runs the kernels: slowly, so keep the sizes small."""
    return INTERPRETED
