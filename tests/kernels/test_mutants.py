"""Kernels broken on purpose: for each defect there is a test of the suite that notices it.

A mutant is the real source with a line changed. The test that has to fail is called here with the
mutant in the place of the backend; with an unchanged copy it has to pass.
"""

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
import test_suite_errors
import torch
from support_mutants import Edit, broken_copy

CPU = torch.device("cpu")
BACKENDS = {
    "tiled": ("tiled", "attend_tiled"),
    "fast": ("tiled", "attend_tiled"),
    "triton": ("launch", "attend_triton"),
}
# Sizes with several tiles of keys: the torch tiles are larger than those of the interpreter.
SEVERAL_TILES = {"tiled": (269, 1103), "fast": (269, 1103), "triton": (67, 300)}


@dataclass(frozen=True)
class Mutant:
    """A defect, how it comes about in the source of a backend, and the case that shows it."""

    backend: str
    defect: str
    edits: tuple[Edit, ...]
    case: dict = field(default_factory=dict)

    def noticed_by(self, attend: Callable) -> None:
        """The test of the error rule, on a case with several tiles of keys."""
        usual = {"lengths": SEVERAL_TILES[self.backend], "heads": (1, 2, 1), "width": 24}
        scale = 0.2 if self.backend == "fast" else 1.0  # its weights are bounded
        usual |= {"dtype": torch.float32, "causal": False, "scale": scale}
        test_suite_errors.test_error_beside_plain_torch(attend, CPU, usual | self.case)


SCHEDULE, TILED, FAST = "tiled_schedule.py", "tiled.py", "fast_cpu.py"
TRITON = "tiled_triton.py"
CAUSAL, LARGE = {"lengths": (113, 203), "causal": True}, {"causal": True}
OTHER_STRIDES = {"heads": (1, 2, 2), "layout": "mixed"}
MUTANTS = [
    Mutant("tiled", "the accumulator is not rescaled",
           (Edit(TILED, r"acc\.mul_\(alpha\)", "acc"),)),
    Mutant("triton", "the accumulator is not rescaled",
           (Edit(TRITON, r"acc \* alpha\[:, None\]", "acc"),)),
    Mutant("tiled", "l is not rescaled", (Edit(TILED, r"l \* alpha", "l"),)),
    Mutant("triton", "l is not rescaled", (Edit(TRITON, r"l \* alpha", "l"),)),
    Mutant("tiled", "causal is aligned at the top left",
           (Edit(SCHEDULE, r" \+ self\.S - self\.T", "", times=1),
            Edit(SCHEDULE, r"shift = self\.S - self\.T", "shift = 0"),
            Edit(SCHEDULE, r"max\(0, self\.T - self\.S\)", "0")), CAUSAL),
    Mutant("triton", "causal is aligned at the top left",
           (Edit(TRITON, r"shift = S - T if CAUSAL", "shift = 0 if CAUSAL", times=3),), CAUSAL),
    Mutant("tiled", "the tail of a causal tile is not masked",
           (Edit(TILED, r"\n +schedule\.mask_future_\(scores, rows, keys\)\n", "\n", times=2),),
           CAUSAL),
    Mutant("triton", "the tail behind the last key is not masked",
           (Edit(TRITON, r"tl\.minimum\(rows \+ shift, S - 1\)", "rows + shift", times=2),)),
    Mutant("tiled", "k is read with the strides of q",
           (Edit(TILED, r"for x in \(k, v\)",
                 "for x in (k.as_strided(k.shape, q_tile.unsqueeze(0).stride()), v)",
                 within="read_keys"),), OTHER_STRIDES),
    Mutant("triton", "k is read with the strides of q",
           (Edit(TRITON, r"v_ptr, k_strides\[2\]", "v_ptr, q_strides[2]", 2, "forward"),),
           OTHER_STRIDES),
    Mutant("tiled", "the scale is multiplied in twice",
           (Edit(TILED, r"\(scale \* LOG2_E\)", "(scale * scale * LOG2_E)", 1, "forward_tiles"),),
           {"scale": 0.7}),
    Mutant("triton", "the scale is multiplied in twice",
           (Edit(TRITON, r"s = (tl\.dot\(.*\))", r"s = \1 * scale_log2", within="read_keys"),),
           {"scale": 0.7}),
    Mutant("tiled", "what flows back through lse is lost",
           (Edit(TILED, r" - heads\.rows_of\(dlse, rows\)", ""),)),
    Mutant("fast", "what flows back through lse is lost",
           (Edit(FAST, r"\n +delta -= .*\n", "\n"),)),
    Mutant("fast", "weights of later keys stay",
           (Edit(FAST, r"\n +tiles\.drop_later\(weights, rows, at\)\n", "\n", times=2),), LARGE),
    Mutant("fast", "causal is aligned at the top left",
           (Edit(FAST, r" \+ self\.S - self\.T", "", times=2),), LARGE),
    Mutant("fast", "the scale is multiplied in twice",
           (Edit(FAST, r"\(scale \* LOG2_E\)", "(scale * scale * LOG2_E)", 1, "fast_forward"),)),
    Mutant("fast", "l is that of the last tile",
           (Edit(FAST, r"\bl\.add_\(", "l.copy_("),)),
    Mutant("triton", "what flows back through lse is lost",
           (Edit(TRITON, r", 1\) - dlse\n", ", 1)\n"),)),
]  # fmt: skip


def title(mutant: Mutant) -> str:
    return f"{mutant.backend}: {mutant.defect}"


@pytest.fixture(autouse=True)
def where_triton_is_interpreted(request, interpreted):
    """Broken kernels run on the CPU only: on a GPU they could read where nothing is."""
    if request.node.callspec.params["mutant"].backend == "triton":
        if importlib.util.find_spec("triton") is None:
            pytest.skip("Triton is not installed")
        if not interpreted:
            pytest.skip("Triton compiles here")


def attend_of(package, backend: str) -> Callable:
    module, name = BACKENDS[backend]
    fast_cpu = importlib.import_module(f"{package.__name__}.fast_cpu")
    fast_cpu.ENABLED, fast_cpu._WORTH_THREADS = backend == "fast", 0
    return getattr(importlib.import_module(f"{package.__name__}.{module}"), name)


@pytest.mark.parametrize("mutant", MUTANTS, ids=title)
def test_the_defect_is_noticed_by_the_suite(mutant, tmp_path):
    with broken_copy(tmp_path, ()) as package:
        mutant.noticed_by(attend_of(package, mutant.backend))
    with broken_copy(tmp_path, mutant.edits) as package:
        broken = attend_of(package, mutant.backend)
        with pytest.raises(AssertionError, match=r"error \S+, allowed"):
            mutant.noticed_by(broken)
