"""Blocks shared by threads: the same results, nothing left behind, errors and interrupts heard."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode

from course_utils.kernels import flash_attend
from course_utils.kernels import share as module
from course_utils.kernels.share import share, threads_worth_it
from course_utils.kernels.tiled_schedule import TileSchedule


@pytest.fixture
def three_threads(monkeypatch):
    """Every attention on a CPU is shared by three threads."""
    before = torch.get_num_threads()
    monkeypatch.setattr(module, "_WORTH_IT", 1)
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def inputs(B, H, G, T, S, D=5, seed=0, **options):
    generator = torch.Generator().manual_seed(seed)
    shapes = (B, H, T, D), (B, G, S, D), (B, G, S, D)
    return [torch.randn(shape, generator=generator, **options) for shape in shapes]


# Fewer heads than threads, more; groups; batches; queries that may attend to nothing.
SIZES = [(1, 1, 1, 7, 11), (1, 7, 7, 613, 613), (3, 6, 2, 11, 7), (2, 3, 1, 1031, 13)]


def solved(q, k, v, causal, backend):
    """Output, lse and gradients, where every entry of each counts differently."""
    q, k, v = (x.detach().clone().requires_grad_() for x in (q, k, v))
    out, lse = flash_attend(q, k, v, causal=causal, backend=backend, return_lse=True)
    lse = lse.where(lse.isfinite(), 0)
    weights = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)
    (out * weights).sum().add(lse.sum()).backward()
    return out.detach(), lse.detach(), q.grad, k.grad, v.grad


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_results_and_gradients_are_those_of_the_formula(three_threads, sizes, causal):
    given = inputs(*sizes)
    ours = solved(*given, causal, "tiled")
    true = solved(*(x.double() for x in given), causal, "reference")
    for mine, exact in zip(ours, true, strict=True):
        # Sums of a thousand products of order 1, in float32: 1000 ** 0.5 * 6e-8, with room for 10.
        torch.testing.assert_close(mine.double(), exact, rtol=2e-5, atol=2e-5)


def test_the_same_again_bit_for_bit(three_threads):
    given = inputs(1, 7, 7, 613, 613)
    first, *others = (solved(*given, True, "tiled") for _ in range(5))
    for again in others:
        assert all(map(torch.equal, first, again))


@pytest.mark.parametrize("sizes", SIZES)
def test_no_two_parts_of_the_backward_pass_share_a_key(sizes):
    """Two threads that add to the same gradient would lose some of it, now and then."""
    q, k, _ = inputs(*sizes)
    schedule = TileSchedule(q, k, causal=True, backward=True, threads=3)
    pairs = [(b, g) for part in schedule.blocks_of_heads() for b in part.batch for g in part.kv]
    assert sorted(pairs) == [(b, g) for b in range(k.shape[0]) for g in range(k.shape[1])]


class TestWhatIsLeft:
    def test_number_of_threads(self, three_threads):
        flash_attend(*inputs(1, 7, 7, 11, 13))
        assert torch.get_num_threads() == 3

    def test_in_inference_mode(self, three_threads):
        with torch.inference_mode():
            out = flash_attend(*inputs(1, 7, 7, 11, 13))
            assert out.is_inference()

    def test_after_a_fork(self, three_threads):
        given = inputs(1, 7, 7, 11, 13)
        expected = flash_attend(*given)
        if not hasattr(os, "fork"):
            pytest.skip("this system does not fork")
        child = os.fork()
        if child == 0:
            os._exit(0 if torch.equal(flash_attend(*given), expected) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    def test_many_callers_at_once(self, three_threads):
        given = [inputs(1, 3, 3, 101, 103, seed=seed) for seed in range(24)]
        expected = [flash_attend(*each, backend="reference") for each in given]
        with ThreadPoolExecutor(8) as callers:
            found = list(callers.map(lambda each: flash_attend(*each), given))
        for mine, theirs in zip(found, expected, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-5)


class TestErrors:
    @pytest.mark.parametrize("who", ["caller", "helper"])
    @pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
    def test_one_ends_all(self, who, kind):
        caller, met, done = threading.current_thread(), threading.Barrier(2, timeout=30), []

        def work(parts):
            for part in parts:
                if part < 2:
                    met.wait()  # each of the two has one part
                    if (threading.current_thread() is caller) == (who == "caller"):
                        raise kind("stop")
                    continue
                done.append(part)

        with pytest.raises(kind, match="stop"):
            share(work, range(10**6), threads=2)
        assert len(done) < 10**6 - 2  # the other one has heard of it


class TestWhoShares:
    def test_large_on_a_cpu(self, three_threads):
        q, k, _ = inputs(1, 1, 1, 7, 11)
        assert threads_worth_it(q, k) == 3
        assert threads_worth_it(torch.nn.Parameter(q), k) == 3

    def test_little_work(self):
        q, k, _ = inputs(1, 1, 1, 7, 11)
        assert threads_worth_it(q, k) == 1

    def test_watched(self, three_threads):
        q, k, _ = inputs(1, 1, 1, 7, 11)
        with FlopCounterMode(display=False):
            assert threads_worth_it(q, k) == 1
        with FakeTensorMode() as mode:
            assert threads_worth_it(mode.from_tensor(q), k) == 1
        assert threads_worth_it(mode.from_tensor(q), k) == 1

    def test_elsewhere(self, three_threads):
        q, k = torch.empty(1, 1, 7, 5, device="meta"), torch.empty(1, 1, 11, 5, device="meta")
        assert threads_worth_it(q, k) == 1

    def test_compiled(self, fresh_python):
        """Traced, it is one thread's work."""
        code = (
            "import torch; from course_utils.kernels import flash_attend, share\n"
            "share._WORTH_IT = 1\n"
            "x = torch.randn(1, 3, 601, 5)\n"
            "compiled = torch.compile(flash_attend, backend='eager')\n"
            "ours = flash_attend(x, x, x, causal=True)\n"
            "torch.testing.assert_close(compiled(x, x, x, causal=True), ours)\n"
        )
        done = fresh_python(code, OMP_NUM_THREADS="3")
        assert done.returncode == 0, done.stderr
