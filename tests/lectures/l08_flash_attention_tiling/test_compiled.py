"""The lecture's own kernels, compiled for GPUs that are not here: none spills a byte."""

import ast
import json

import pytest

pytest.importorskip("triton", reason="Triton is made for Linux")

from tests.kernels.support_fresh import FreshPython
from tests.teaching.support_exercises import solution
from tools.notebook_file import lecture_file, read_cells

STEPS = ("steps-add", "steps-rows", "steps-tile", "steps-dot", "steps-flash-run", "steps-flash")
# With which constants the lecture launches them; `flash` also with tiles of 64, in 16 bits.
SIZES = {
    "add": [("fp32", {"BLOCK": 64})],
    "softmax_rows": [("fp32", {"BLOCK": 256})],
    "transpose": [("fp32", {"BLOCK": 16})],
    "all_scores": [("fp32", {"BLOCK": 32, "D": 64})],
}
for attention in ("flash", "causal_flash"):
    SIZES[attention] = [(dtype, {"BLOCK": 32, "D": 64}) for dtype in ("fp32", "fp16")]
    SIZES[attention] += [("fp16", {"BLOCK": 64, "D": 64})]
COMPILE = """
import json, re, subprocess, sys, tempfile
from pathlib import Path
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

sys.path.insert(0, FOLDER)
import kernels

CUOBJDUMP = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
for name, cases in SIZES.items():
    kernel = getattr(kernels, name)
    for dtype, constants in cases:
        signature, attributes = {}, {}
        for place, argument in enumerate(kernel.arg_names):
            kind = "constexpr" if argument in constants else "i32"
            if argument.endswith("_ptr"):
                kind, attributes[(place,)] = f"*{dtype}", [["tt.divisibility", 16]]
            signature[argument] = "fp32" if argument == "scale" else kind
        source = ASTSource(kernel, signature, constants, attributes)
        compiled = triton.compile(source, target=GPUTarget("cuda", TARGET, 32))
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            Path(file.name).write_bytes(compiled.asm["cubin"])
            command = [CUOBJDUMP, "-res-usage", file.name]
            said = subprocess.run(command, capture_output=True, text=True)
        registers, stack = re.search(r"REG:(\\d+) STACK:(\\d+)", said.stdout + said.stderr).groups()
        print(json.dumps([name, dtype, constants["BLOCK"], int(registers), int(stack)]))
"""


def kernels_of_the_lecture():
    cells = {cell.id: cell.source for cell in read_cells(lecture_file("08"))}
    sources = [*(cells[step] for step in STEPS), solution("08", "causal_flash")[0]]
    made = [
        ast.unparse(node)
        for source in sources
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
    ]
    return "\n\n".join(["import triton\nimport triton.language as tl", *made]) + "\n"


SLOW = [pytest.param(target, marks=pytest.mark.slow) for target in (80, 100)]


@pytest.mark.parametrize("target", [90, *SLOW])
def test_no_kernel_spills(tmp_path, target):
    (tmp_path / "kernels.py").write_text(kernels_of_the_lecture(), "utf-8")
    given = f"FOLDER, TARGET, SIZES = {str(tmp_path)!r}, {target}, {SIZES!r}\n"
    with FreshPython() as fresh:
        done = fresh(given + COMPILE)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == sum(map(len, SIZES.values()))
    assert [each for each in found if each[-1]] == []
    assert all(0 < registers < 255 for *_, registers, _ in found)
