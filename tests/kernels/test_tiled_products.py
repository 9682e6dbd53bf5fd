"""How the tiled backend computes: in whose memory, in which precision, with whose settings."""

import subprocess
import sys

import pytest
import torch
from support_paths import multiply_by_onednn
from support_tiled import qkv, run
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils.kernels import tiled_products, tiled_schedule
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


@causal_or_not
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_no_tensor_of_matrix_size(causal, dtype):
    inputs = qkv(1801, 2011, B=1, H=2, G=1, dtype=dtype)
    matrix = 1801 * 2011
    limit = tiled_schedule._TILE
    assert limit < matrix / 3
    attend_tiled(*inputs, causal=causal, scale=0.3)  # a process's first call tries out products
    assert max(largest_made(attend_tiled, inputs, causal=causal)) <= limit
    assert min(largest_made(attend_reference, inputs, causal=causal)) >= matrix


def transposed(x):
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def expanded(x):
    return x[:, :1].expand_as(x)


@pytest.mark.parametrize("layout", [torch.Tensor.contiguous, transposed, expanded])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_groups_do_not_repeat_keys(layout, dtype):
    q, k, v = (layout(x) for x in qkv(3, 40009, B=2, H=22, G=2, D=8, dtype=dtype))
    repeated, own = 22 * 40009 * 8, 2 * 2 * 40009 * 8
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
from course_utils.kernels import onednn, tiled_products

def status(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field + ":")).split()[1])

torch.set_num_threads(2)
product = onednn._tried_product() if sys.argv[1] == "tiled with oneDNN" else None
tiled_products.faster_product = lambda device, dtype: product
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
    ("backend", "processes"),
    [("tiled", 1), pytest.param("tiled with oneDNN", 3, marks=pytest.mark.slow)],
)
def test_peak_memory_at_8192(backend, processes):
    shadow = torch.ones(2**28, dtype=torch.uint8)  # a large parent must hide nothing
    peaks = (peak_beyond_the_output(backend, 8192) for _ in range(processes))
    assert any(peak <= 16e6 for peak in peaks)
    matrix = 8 * 2048**2 * 4
    assert peak_beyond_the_output("reference", 2048) > matrix > 16e6
    assert shadow.nbytes > matrix


# Precision


@pytest.mark.parametrize("fast", [False, True])
def test_bfloat16_products_are_as_exact(monkeypatch, fast):
    """Both ways, whatever this processor has: within twice the error of the formula in torch."""
    monkeypatch.setattr(tiled_products, "_cpu_multiplies_bfloat16", lambda: fast)
    inputs = qkv(97, 601, D=24, dtype=torch.bfloat16)
    assert (tiled_products.TileProducts(inputs[0], 1.0).product_dtype == torch.bfloat16) == fast
    found = run(inputs)
    exact = run([x.double() for x in inputs])
    leaves = [x.detach().requires_grad_() for x in inputs]
    out, lse = attend_reference(*leaves, causal=True, scale=0.2)
    given = torch.linspace(-1, 1, out.numel()).view(out.shape).to(out.dtype)
    plain = out, lse, *torch.autograd.grad(out, leaves, given)
    for ours, theirs, truth, factor in zip(found, plain, exact, (2, 2, 3, 3, 3), strict=True):
        error = (ours.double() - truth).abs().max()
        assert error <= factor * (theirs.double() - truth).abs().max()


def test_other_dtypes_never_multiply_in_16_bits(monkeypatch):
    monkeypatch.setattr(tiled_products, "_cpu_multiplies_bfloat16", lambda: True)
    for dtype, wide in (
        (torch.float16, torch.float32),
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
    ):
        products = tiled_products.TileProducts(torch.zeros(1, dtype=dtype), 1.0)
        assert (products.product_dtype, products.accumulator_dtype) == (wide, wide)


@pytest.mark.parametrize(
    ("known", "fast"),
    [
        ({}, False),
        ({"architecture": "arm64"}, False),
        ({"cpu_name": "AMD EPYC", "avx512_bf16": False}, False),
        ({"cpu_name": "AMD EPYC", "avx512_bf16": True}, True),
        ({"cpu_name": "Intel Xeon", "avx512_bf16": True}, False),
        ({"cpu_name": "Intel Xeon", "avx512_bf16": True, "amx_bf16": True}, True),
    ],
)
def test_where_bfloat16_is_multiplied(monkeypatch, known, fast):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: known, raising=False)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    assert tiled_products.multiplies_bfloat16(torch.zeros(1, dtype=torch.bfloat16)) == fast


def test_unknown_processor_multiplies_float32(monkeypatch):
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert not tiled_products.multiplies_bfloat16(torch.zeros(1, dtype=torch.bfloat16))
    assert run(qkv(dtype=torch.bfloat16))[0].isfinite().all()


# `flags` sets all its flags, and torch warns of one that means nothing on this processor.
@pytest.mark.filterwarnings("ignore:TF32 acceleration on top of oneDNN")
def test_onednn_switched_off_by_the_user_stays_off(monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True}, raising=False)
    with torch.backends.mkldnn.flags(enabled=False):
        assert not tiled_products.multiplies_bfloat16(torch.zeros(1, dtype=torch.bfloat16))


@pytest.mark.parametrize("fast", [False, True])
def test_the_factor_is_in_the_scores_once(monkeypatch, fast):
    """In bfloat16 with the scores still wide: a query times 0.3 would be rounded again."""
    monkeypatch.setattr(tiled_products, "_cpu_multiplies_bfloat16", lambda: fast)
    q, k, _ = (x[0] for x in qkv(7, 11, H=2, G=2, D=8, dtype=torch.bfloat16))
    products = tiled_products.TileProducts(q, 0.3)
    q_tile = products.before * products.load(q)
    assert torch.equal(q_tile, q) == fast
    found = products.scores(q_tile, products.load(k).mT)
    assert found.dtype == torch.float32
    product = q @ k.mT if fast else q.float() @ k.float().mT
    assert torch.allclose(found, 0.3 * product.float(), rtol=1e-5)


@pytest.mark.usefixtures("products")
def test_one_key_has_weight_one():
    """Far from 0, where a weight would be off by 1e-4 if the lse were rounded once more."""
    q, k, v = qkv(1, 1, B=1, H=4, G=4, D=16, dtype=torch.float32)
    q = 3e3 * q
    out, lse, _, _, dv = run((q, k, v))
    assert torch.equal(out, v)
    assert torch.equal(dv, torch.linspace(-1, 1, out.numel()).view(out.shape))
    assert torch.allclose(lse, (0.2 * q @ k.mT).squeeze(-1), rtol=1e-6)
    assert lse.abs().max() > 1e3


@pytest.mark.usefixtures("products")
def test_reused_memory_does_not_show():
    inputs = qkv(7, 11, dtype=torch.float32)
    plain = run(inputs)
    torch.use_deterministic_algorithms(True)  # fills memory with NaN where it is made
    try:
        filled = run(inputs)
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.equal(a, b) for a, b in zip(plain, filled, strict=True))


# Settings


def settings():
    return (
        torch.get_num_threads(),
        torch.get_num_interop_threads(),
        torch.get_float32_matmul_precision(),
        torch.backends.mkldnn.enabled,
        torch.backends.mkldnn.matmul.fp32_precision,
        torch.backends.cuda.matmul.allow_tf32,
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        torch.get_rng_state().tolist(),
    )


@pytest.fixture(params=["torch's products", "oneDNN's products"])
def products(request, monkeypatch):
    """Either product for float32, whatever this processor has."""
    if request.param == "oneDNN's products":
        multiply_by_onednn(monkeypatch)
    else:
        monkeypatch.setattr(tiled_products, "faster_product", lambda device, dtype: None)


@pytest.mark.usefixtures("products")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_settings_are_left_alone(dtype):
    inputs = qkv(83, 131, dtype=dtype)
    before = settings()
    first, second = run(inputs), run(inputs)
    assert settings() == before
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.usefixtures("products")
def test_autocast_changes_nothing():
    inputs = qkv(83, 131, dtype=torch.float32)
    plain = run(inputs)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cast = run(inputs)
    assert all(torch.equal(a, b) for a, b in zip(plain, cast, strict=True))
