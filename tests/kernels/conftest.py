"""Where the kernel tests run, and on which backends. Enough by itself (`--confcutdir`) on a bare
machine with a GPU: it needs pytest and torch alone.
"""

import importlib.util
import os

import pytest
import torch

HAS_GPU = torch.cuda.is_available()
if not HAS_GPU:
    # Triton reads this when it is imported, so it has to be there before the first test file is.
    os.environ.setdefault("TRITON_INTERPRET", "1")

INTERPRETED = os.environ.get("TRITON_INTERPRET", "0") not in ("", "0")
needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="Triton is not installed"
)


@pytest.fixture(autouse=True)
def same_random_numbers():
    """Every test starts from the same seed, whatever ran before it."""
    torch.manual_seed(0)


@pytest.fixture(params=[pytest.param("triton", marks=needs_triton), "tiled", "reference"])
def backend(request) -> str:
    """Each backend of `flash_attend` that can compute here."""
    return request.param


@pytest.fixture
def attend(backend):
    """`flash_attend` on that backend, as the backends themselves are: it gives (out, lse)."""
    from support_checks import through  # not before the interpreter was asked for

    return through(backend)


@pytest.fixture(scope="session")
def device() -> torch.device:
    """Where every backend of this run computes: the GPU, if there is one and Triton compiles."""
    return torch.device("cuda" if HAS_GPU and not INTERPRETED else "cpu")


@pytest.fixture(scope="session")
def interpreted() -> bool:
    """Whether Triton's interpreter runs the kernels: slowly, so keep the sizes small."""
    return INTERPRETED
