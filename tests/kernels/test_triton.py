"""What is particular to the Triton kernels: their tiles, addresses, and order.

`test_suite_*.py` holds them, like every backend, against the oracles.
"""

import pytest
import torch
from support_error import check_error
from support_oracle import Problem, Results, exact, solve
from support_problems import make_problem

pytest.importorskip("triton", reason="Triton is not installed")

from course_utils.kernels import launch, tiled_triton

TILES = [(16, 16), (16, 64), (64, 16), (32, 32), (128, 64)]
INTERPRETED = tiled_triton.INTERPRETED


def with_tiles(block_m: int, block_n: int):
    def attend(q, k, v, *, causal, scale):
        return launch.attend_triton(q, k, v, causal=causal, scale=scale, tiles=(block_m, block_n))

    return attend


@pytest.fixture
def started(monkeypatch):
    """Every start of a kernel, as (name, positional arguments, constants)."""
    calls = []

    class Recorder:
        def __init__(self, name, kernel):
            self.name, self.kernel = name, kernel

        def __getitem__(self, grid):
            def start(*arguments, **constants):
                calls.append((self.name, arguments, constants))
                return self.kernel[grid](*arguments, **constants)

            return start

    recorders = {name: Recorder(name, kernel) for name, kernel in tiled_triton.KERNELS.items()}
    monkeypatch.setattr(tiled_triton, "KERNELS", recorders)
    return calls


# Tiles


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tiles", TILES)
def test_every_tile_size_gives_the_same_attention(tiles, causal, device):
    lengths = 2 * tiles[0] + 5, 2 * tiles[1] + 3  # three tiles each way, the last cut off
    problem = make_problem(lengths, (1, 2, 1), 24, causal=causal, device=device)
    check_error(with_tiles(*tiles), problem)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("T", [1, 15, 16, 17, 33])
def test_tiles_that_are_cut_off_at_any_row(T, causal, device):
    for S in (1, 16, 17, 32):
        problem = make_problem((T, S), (1, 1, 1), 16, causal=causal, device=device, scale=0.3)
        assert_close_to_exact(with_tiles(16, 16), problem)


@pytest.mark.parametrize("width", [1, 3, 16, 17, 40, 80, 96, 128])
def test_head_widths_that_are_no_power_of_two(width, device):
    problem = make_problem((37, 41), (1, 2, 1), width, causal=True, device=device)
    assert_close_to_exact(with_tiles(32, 16), problem)


def assert_close_to_exact(attend, problem: Problem, allowed: float = 2e-5) -> None:
    """Hold a backend against plain torch in float64, in terms of the largest number.

    For problems so small that plain torch is often exact: 2e-5 is 170 roundings of float32.
    """
    mine, true = solve(attend, problem), exact(problem)
    for (name, one), (_, other) in zip(mine.items(), true.items(), strict=True):
        assert torch.equal(one.isfinite(), other.isfinite()), name
        seen = other.isfinite()
        size = max(1.0, other[seen].abs().max().item()) if seen.any() else 1.0
        assert ((one - other)[seen].abs() <= allowed * size).all(), name


def assert_same_bits(found: Results, expected: Results) -> None:
    for (name, one), (_, other) in zip(found.items(), expected.items(), strict=True):
        assert torch.equal(one, other), name


# Addresses


@pytest.mark.parametrize("axis", ["batch", "head"])
def test_offsets_beyond_32_bits(axis, device):
    """The third entry starts 2**31 numbers after the first."""
    try:
        memory = torch.empty(2**31 + 7 * 16, dtype=torch.float16, device=device)
    except RuntimeError as error:  # memory that is only reserved, hardly any of it touched
        pytest.skip(f"no room for 4 GiB: {error}")
    far = 2**30
    shape, strides = ((3, 1), (far, 16)) if axis == "batch" else ((1, 3), (16, far))
    q = memory.as_strided((*shape, 7, 16), (*strides, 16, 1))
    q.copy_(torch.randn(*shape, 7, 16))
    near = q.clone(memory_format=torch.contiguous_format)
    attend = with_tiles(16, 16)
    for one, other in zip(
        attend(q, q, q, causal=True, scale=1.0),
        attend(near, near, near, causal=True, scale=1.0),
        strict=True,
    ):
        assert torch.equal(one, other)


def test_rows_too_far_apart_are_copied(device, started):
    try:
        memory = torch.empty(2**31 + 16, dtype=torch.float16, device=device)
    except RuntimeError as error:
        pytest.skip(f"no room for 4 GiB: {error}")
    q = memory.as_strided((1, 1, 3, 16), (16, 16, 2**30, 1))
    q.copy_(torch.randn(1, 1, 3, 16))
    out, _ = with_tiles(16, 16)(q, q, q, causal=False, scale=1.0)
    near = q.clone(memory_format=torch.contiguous_format)
    assert torch.equal(out, with_tiles(16, 16)(near, near, near, causal=False, scale=1.0)[0])
    (_, arguments, _), *_ = started
    assert arguments[5][2] == 16  # the row stride of q that the kernel was told


def test_grouped_heads_are_not_copied(device, started):
    """Neither expanded nor copied: heads inside the sequence, as a model's projection has them."""
    q = torch.randn(2, 37, 6, 16, device=device).transpose(1, 2)
    k, v = (torch.randn(2, 41, 2, 16, device=device).transpose(1, 2) for _ in range(2))
    inputs = [x.requires_grad_() for x in (q, k, v)]
    out, _ = launch.attend_triton(*inputs, causal=True, scale=1.0)
    out.sum().backward()
    assert [name for name, _, _ in started] == ["forward", "backward_queries", "backward_keys"]
    for _, arguments, constants in started:
        assert constants["GROUP"] == 3
        for given, mine in zip(arguments, inputs, strict=False):
            assert given.data_ptr() == mine.data_ptr() and given.shape == mine.shape


# Order


def test_programs_cover_every_tile(device, monkeypatch):
    problem = make_problem((37, 41), (2, 2, 2), 16, causal=True, device=device)
    expected = solve(with_tiles(32, 32), problem)
    for heads_at_once in (1, 3, 100):
        monkeypatch.setattr(launch, "_heads_at_once", lambda heads, bytes_read, n=heads_at_once: n)
        assert_same_bits(solve(with_tiles(32, 32), problem), expected)


def test_no_dependence_on_program_order(device):
    """The same bits each time. Compiled, with enough programs to fill a GPU several times."""
    lengths, heads = ((67, 71), (1, 2, 1)) if INTERPRETED else ((1031, 1033), (4, 16, 4))
    problem = make_problem(lengths, heads, 64, dtype=torch.float16, causal=True, device=device)
    first = solve(launch.attend_triton, problem)
    for _ in range(2 if INTERPRETED else 20):
        assert_same_bits(solve(launch.attend_triton, problem), first)


# Which tiles


def test_what_the_kernels_refuse(device, monkeypatch):
    """Dtypes and widths are in test_dispatch.py."""
    good = torch.zeros(1, 1, 2, 16, device=device)
    assert launch.unsupported_reason(good) is None
    elsewhere = "meta" if device.type == "cpu" else "cpu"
    assert f"got {elsewhere}" in launch.unsupported_reason(good.to(elsewhere))
    monkeypatch.setattr(tiled_triton, "wants_interpreter", lambda: not INTERPRETED)
    assert "TRITON_INTERPRET must stay as it was" in launch.unsupported_reason(good)
