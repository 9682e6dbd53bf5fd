"""How the tiled backend computes: in how much memory, and with whose settings left alone."""

import subprocess
import sys

import pytest
import torch
from support_paths import FAST, ONEDNN, PLAIN, take_path
from support_tiled import qkv, run
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils.kernels import fast_cpu, tiled_schedule
from course_utils.kernels.reference import attend_reference
from course_utils.kernels.tiled import attend_tiled

causal_or_not = pytest.mark.parametrize("causal", [False, True])


# Memory


class Largest(TorchDispatchMode):
    """Notes how many numbers the largest memory holds that an operation makes."""

    def __init__(self):
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        before = {x.untyped_storage().data_ptr() for x in args if isinstance(x, torch.Tensor)}
        result = function(*args, **(kwargs or {}))
        for x in result if isinstance(result, tuple | list) else (result,):
            if isinstance(x, torch.Tensor) and x.untyped_storage().data_ptr() not in before:
                size = x.untyped_storage().nbytes() // x.dtype.itemsize
                self.numbers = max(self.numbers, size)
        return result


def largest_made(attend, inputs, *, causal):
    """Return the largest memory made in the forward pass, and forward or backward."""
    inputs = [x.detach().requires_grad_() for x in inputs]
    with Largest() as largest:
        out, _ = attend(*inputs, causal=causal, scale=0.3)
        forward = largest.numbers
        torch.autograd.grad(out, inputs, torch.ones_like(out))
    return forward, largest.numbers


@pytest.fixture(params=[PLAIN, FAST, ONEDNN])
def watched(request, monkeypatch):
    """Each way of the tiled backend, with small tiles, and though somebody watches operators."""
    take_path(monkeypatch, request.param)
    monkeypatch.setattr(tiled_schedule, "_TILE", 2**15)
    monkeypatch.setattr(fast_cpu, "_get_current_dispatch_mode", lambda: None)
    fast_cpu._keep_freed_memory()  # what is done once is no part of it


@causal_or_not
@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_no_tensor_of_matrix_size(causal, dtype):
    inputs = qkv(401, 503, B=1, H=2, G=1, dtype=dtype)
    matrix = 401 * 503
    limit = tiled_schedule._TILE
    assert limit < matrix / 3
    assert max(largest_made(attend_tiled, inputs, causal=causal)) <= limit
    assert min(largest_made(attend_reference, inputs, causal=causal)) >= matrix


def transposed(x):
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def expanded(x):
    return x[:, :1].expand_as(x)


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("layout", [torch.Tensor.contiguous, transposed, expanded])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_groups_do_not_repeat_keys(layout, dtype):
    q, k, v = (layout(x) for x in qkv(3, 1031, B=2, H=22, G=2, D=8, dtype=dtype))
    repeated, own = 22 * 1031 * 8, 2 * 2 * 1031 * 8
    forward, backward = largest_made(attend_tiled, (q, k, v), causal=True)
    assert forward <= tiled_schedule._TILE < own < repeated
    assert backward == own  # the gradients of k and v
    repeat = lambda x: x.repeat_interleave(11, dim=1)  # noqa: E731
    wrong = lambda q, k, v, **more: attend_tiled(q, repeat(k), repeat(v), **more)  # noqa: E731
    assert largest_made(wrong, (q, k, v), causal=True)[0] >= repeated


# A fresh process prints by how many bytes its peak grows beyond the output. VmHWM is this program's
# own high-water mark; ru_maxrss would begin with that of the process that started it. The peak may
# lie above what is resident now, left by an import: that much is filled first, or it would hide as
# much of what the call takes.
PEAK = """
import sys
from pathlib import Path
import torch
from course_utils.kernels.reference import attend_reference
from course_utils.kernels.tiled import attend_tiled
from course_utils.kernels import fast_cpu

def status(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field + ":")).split()[1])

torch.set_num_threads(2)
fast_cpu.ENABLED = sys.argv[1] != "tiled"
fast_cpu.faster_by_onednn = lambda dtype: "oneDNN" in sys.argv[1]
attend = attend_reference if sys.argv[1] == "reference" else attend_tiled
inputs = [torch.randn(1, 8, int(sys.argv[2]), 64) for _ in range(3)]
attend(*(x[:, :, :64] for x in inputs), causal=True, scale=0.125)
ballast = b"\\1" * max(0, status("VmHWM") - status("VmRSS"))
before = status("VmHWM")
out, _ = attend(*inputs, causal=True, scale=0.125)
print(status("VmHWM") - before - out.nbytes)
"""


def peak_beyond_the_output(backend, N):
    """Return the bytes that a forward pass takes at most, in a process of its own."""
    command = [sys.executable, "-c", PEAK, backend, str(N)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(run.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
# oneDNN's results are new memory each time. Where freed pieces of it lie in the heap is chance, and
# can only add: there the least of three processes counts. (One in four takes more: 16 to 19 MB.)
@pytest.mark.parametrize(
    ("backend", "processes", "most"),
    [
        (FAST, 1, 16e6),
        pytest.param(PLAIN, 1, 32e6, marks=pytest.mark.slow),
        pytest.param(ONEDNN, 3, 16e6, marks=pytest.mark.slow),
    ],
)
def test_peak_memory(backend, processes, most):
    shadow = torch.ones(2**28, dtype=torch.uint8)  # a large parent must hide nothing
    peaks = (peak_beyond_the_output(backend, 4096) for _ in range(processes))
    assert any(peak <= most for peak in peaks)
    matrix = 8 * 2048**2 * 4
    assert peak_beyond_the_output("reference", 2048) > matrix > 4 * most
    assert shadow.nbytes > matrix


# Settings


def settings():
    return (
        torch.get_num_threads(),
        torch.get_float32_matmul_precision(),
        torch.backends.mkldnn.enabled,
        torch.backends.mkldnn.matmul.fp32_precision,
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        torch.get_rng_state().tolist(),
    )


@pytest.fixture(params=[PLAIN, FAST, ONEDNN])
def path(request, monkeypatch):
    """Each way of the tiled backend to compute."""
    take_path(monkeypatch, request.param)


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_settings_are_left_alone(dtype):
    inputs = qkv(83, 131, dtype=dtype)
    before = settings()
    first, second = run(inputs), run(inputs)
    assert settings() == before
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.usefixtures("path")
def test_reused_memory_does_not_show():
    inputs = qkv(7, 11, dtype=torch.float32)
    plain = run(inputs)
    torch.use_deterministic_algorithms(True)  # fills memory with NaN where it is made
    try:
        filled = run(inputs)
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.equal(a, b) for a, b in zip(plain, filled, strict=True))


@pytest.mark.usefixtures("path")
def test_one_key_has_weight_one():
    """Far from 0, where a weight would be off by 1e-4 if the lse were rounded once more."""
    q, k, v = qkv(1, 1, B=1, H=4, G=4, D=16, dtype=torch.float32)
    q = 3e3 * q
    out, lse, _, _, dv = run((q, k, v))
    assert torch.equal(out, v)
    assert torch.equal(dv, torch.linspace(-1, 1, out.numel()).view(out.shape))
    assert torch.allclose(lse, (0.2 * q @ k.mT).squeeze(-1), rtol=1e-6)
    assert lse.abs().max() > 1e3
