"""The search for the fastest tiles: what it changes, what it keeps, what it leaves out."""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("triton", reason="Triton is not installed")

from benchmarks import tiles
from benchmarks.tiles import FUSED, IN_USE, Variant
from course_utils.kernels import tiled_triton
from course_utils.kernels.configurations import ORDER, Configuration, tiles_for
from tools.setup.place import ROOT

OTHER = Configuration(64, 32, warps=2, stages=5)  # nobody's
WIDTHS = (64, 128)


def in_use():
    return {(kernel, D): tiles_for(kernel, "wgmma", 16, D) for kernel in ORDER for D in WIDTHS}


@pytest.mark.parametrize("kernel", ORDER)
def test_a_variant_changes_one_kernel_at_one_width_and_puts_it_back(kernel):
    before = in_use()
    with Variant(kernel, OTHER).applied(128):
        assert in_use() == before | {(kernel, 128): OTHER}
    assert in_use() == before


def test_rounding_is_put_back():
    before = tiled_triton.ROUNDING.copy()
    with FUSED.applied(64):
        assert dict(tiled_triton.ROUNDING) != before
    assert dict(tiled_triton.ROUNDING) == before


def test_the_fastest_of_each_kernel_and_what_has_no_tiles_go_on():
    """The clock says a variant's place in the list, counted down: the last is the fastest."""
    variants = [v for v in tiles.candidates() if "backward" in v.passes]

    def countdown(job):
        return [float(len(variants) - variants.index(job))]

    kept = tiles.finalists({v: v for v in variants}, countdown)
    assert kept[:2] == [IN_USE, FUSED] and len(kept) == 2 + 2 * tiles.FINALISTS
    last = [v for v in variants if v.kernel == "backward_keys"][-1]
    assert last in kept and variants[2] not in kept


SMALL = """
import sys
from unittest.mock import patch
from benchmarks import tiles
from benchmarks._cases import Case
from course_utils.kernels import flash_attend

def half_wrong(q, k, v, *, causal, backend):
    wide = tiles.configurations.FIXED["wgmma", 16, 64][0] == (128, 64, 4, 2)
    return flash_attend(q, k, v, causal=causal or wide, backend=backend)

case = Case(67, 64, False, dtype="float32", B=1, H=2, G=1, rivals=())
with (
    patch.object(tiles, "cases", lambda length: [case]),
    patch.object(tiles, "BLOCKS", (64, 128)),
    patch.object(tiles, "WARPS", (4,)),
    patch.object(tiles, "ROUNDS", 3),
    patch.object(tiles, "flash_attend", half_wrong),
):
    sys.exit(tiles.main(["--device", "cpu", "--seconds", "0", "--out", sys.argv[1]]))
"""


def test_a_wrong_variant_gets_no_figure_and_the_others_do(tmp_path):
    variables = os.environ | {"TRITON_INTERPRET": "1"}
    command = [sys.executable, "-c", SMALL, str(tmp_path)]
    done = subprocess.run(command, env=variables, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "tiles-gpu.json").read_text(encoding="utf-8"))
    (left_out,) = result["left_out"]
    assert "forward 128x64, 4 warps, 2 stages" in left_out and "wrong: off by" in left_out
    by_pass = {what: [r for r in result["rows"] if r["what"] == what] for what in tiles.PASSES}
    assert len(by_pass["forward"]) == 2 + tiles.FINALISTS
    assert len(by_pass["backward"]) == 2 + 2 * tiles.FINALISTS
    for rows in (by_pass["forward"], by_pass["backward"]):
        (mine,) = [row for row in rows if row["variant"] == IN_USE.name]
        assert mine["takes_times"] == [1.0, 1.0, 1.0]
