"""The fast form on the CPU: which inputs it takes, what it gives, who multiplies, its threads."""

import math
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from support_paths import FAST, ONEDNN, take_path
from support_tiled import qkv, run
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode

from course_utils.kernels import fast_cpu, flash_attend
from course_utils.kernels.fast_cpu import can_attend_fast, fast_forward
from course_utils.kernels.reference import attend_reference
from course_utils.threads import one_thread

LIMIT = fast_cpu._LARGEST_SCORE
CLOSE = {"rtol": 1e-11, "atol": 1e-11}
causal_or_not = pytest.mark.parametrize("causal", [False, True])


@pytest.fixture
def fast(monkeypatch):
    """The fast form, for any number of scores and with small tiles."""
    take_path(monkeypatch, FAST)
    return monkeypatch


@pytest.fixture
def threads(request, fast):
    """The fast form with as many threads as the test asks for, or three."""
    before = torch.get_num_threads()
    torch.set_num_threads(getattr(request, "param", 3))
    yield
    torch.set_num_threads(before)


def parallel(score, dtype=torch.float32, T=101, S=1009, D=5):
    """Inputs whose scores, in units of log 2, are `score` and `-score`: the bound is reached."""
    along = torch.nn.functional.normalize(torch.randn(D, dtype=torch.float64), dim=0)
    sign = lambda n: torch.randint(2, (1, 1, n, 1)) * 2.0 - 1  # noqa: E731
    size = math.sqrt(score * math.log(2))
    q, k = (size * sign(n) * along for n in (T, S))
    return q.to(dtype), k.to(dtype), torch.randn(1, 1, S, D).to(dtype)


# Which inputs it takes


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [1.0, -1.0])
def test_the_limit_is_on_the_largest_score(fast, dtype, scale):
    assert can_attend_fast(*parallel(0.99 * LIMIT, dtype), scale)
    assert not can_attend_fast(*parallel(1.01 * LIMIT, dtype), scale)


def test_one_score_above_the_limit_is_enough(fast):
    q, k, v = qkv(67, 103, D=16, dtype=torch.float32)
    largest = (q @ k.repeat_interleave(3, dim=1).mT).abs().amax() * fast_cpu.LOG2_E
    scale = float(1.001 * LIMIT / largest)  # one score is just above the limit
    assert not can_attend_fast(q, k, v, scale)
    assert can_attend_fast(q, k, v, scale / 8)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 2.0**61])
@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_is_not_finite_has_no_bound(fast, which, number, dtype):
    inputs = qkv(11, 13, dtype=dtype)
    assert can_attend_fast(*inputs, 0.2)
    inputs[which][1, -1, -1, -1] = number
    assert not can_attend_fast(*inputs, 0.2)


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("size", [2.0**-70, 0])
def test_lengths_that_underflow_have_no_bound(fast, which, size):
    inputs = qkv(11, 13, dtype=torch.float32)
    inputs[which].mul_(size)
    assert not can_attend_fast(*inputs, 0.2)


@pytest.mark.parametrize(
    ("sizes", "worth"),
    [
        ({"T": 128, "S": 128, "D": 64}, False),
        ({"T": 512, "S": 512, "D": 64}, True),
        ({"T": 64, "S": 2048, "H": 16, "G": 2, "D": 16}, True),  # of many query heads each
        ({"T": 16, "S": 16384, "H": 2, "D": 64}, False),  # looking at k takes as long
        ({"T": 0, "S": 5}, False),
        ({"T": 5, "S": 0}, False),
        ({"T": 5, "S": 5, "B": 0}, False),
    ],
)
def test_many_scores_are_worth_it(sizes, worth):
    q, k, v = qkv(**{"B": 1, "G": 2, "dtype": torch.float32, **sizes})
    with one_thread():
        assert can_attend_fast(q, k, v, 0.2 * q.shape[-1] ** -0.5) == worth


def test_not_where_switched_off_watched_or_elsewhere(fast):
    q, k, v = qkv(11, 13, dtype=torch.float32)
    assert can_attend_fast(torch.nn.Parameter(q), k, v, 0.2)
    assert not can_attend_fast(*(x.to("meta") for x in (q, k, v)), 0.2)
    with FlopCounterMode(display=False):
        assert not can_attend_fast(q, k, v, 0.2)
    with FakeTensorMode() as mode:
        fakes = [mode.from_tensor(x) for x in (q, k, v)]
    assert not can_attend_fast(*fakes, 0.2)
    mapped = torch.vmap(lambda x: x * can_attend_fast(x, x, x, 0.2))(torch.ones(2, *k.shape))
    assert (mapped == 0).all()
    fast.setattr(fast_cpu, "ENABLED", False)
    assert not can_attend_fast(q, k, v, 0.2)


def test_an_exported_layer_takes_any_scores(fast):
    class Layer(torch.nn.Module):
        def forward(self, x):
            return flash_attend(x, x, x, backend="tiled")

    x = torch.randn(1, 2, 11, 16)
    exported = torch.export.export(Layer(), (x,), strict=False).module()
    assert torch.allclose(exported(50 * x), Layer()(50 * x), atol=1e-5)


# What it gives


SIZES = [
    {"T": 97, "S": 203},
    {"T": 203, "S": 97, "B": 1},  # the first queries attend to nothing
    {"T": 131, "S": 131, "B": 1, "H": 7, "G": 7},
    {"T": 7, "S": 211, "H": 5, "G": 1},
]


@causal_or_not
@pytest.mark.parametrize("threads", [1, 3], indirect=True)
@pytest.mark.parametrize("sizes", SIZES)
def test_results_and_gradients_are_those_of_the_formula(threads, sizes, causal):
    """In float64, to the twelfth digit: several tiles each way, none of them full at the end."""
    inputs = qkv(**sizes)
    assert can_attend_fast(*inputs, 0.2)
    mine, true = run(inputs, causal=causal), run(inputs, causal=causal, attend=attend_reference)
    for name, one, other in zip(("out", "lse", "dq", "dk", "dv"), mine, true, strict=True):
        assert torch.allclose(one, other, **CLOSE), name


@pytest.mark.parametrize("size", [2.0**-59, 1.0, 2.0**57])
def test_error_at_the_limit(fast, size):
    """Weights of 2 ** 32 alone in one half of the rows, of 2 ** -32 in the other."""
    q, k, v = parallel(0.99 * LIMIT)
    inputs = q, k[:, :, :1].expand(1, 1, 500, 5), size * v[:, :, :500]
    assert can_attend_fast(*inputs, 1.0)
    truth = attend_reference(*(x.double() for x in inputs), causal=False, scale=1.0)
    plain = attend_reference(*inputs, causal=False, scale=1.0)
    out, lse_log2 = fast_forward(*inputs, causal=False, scale=1.0)
    for ours, theirs, exact in zip((out, lse_log2 / fast_cpu.LOG2_E), plain, truth, strict=True):
        floor = 4 * 2.0**-23 * exact.abs().max()  # plain torch may be exact by luck
        error, allowed = (ours.double() - exact).abs().max(), (theirs.double() - exact).abs().max()
        assert error <= 2 * allowed + floor


def test_small_values_and_small_weights(fast):
    """All weights are 2 ** -30: times such a value too small a number for float32."""
    x = torch.nn.functional.normalize(torch.ones(1, 1, 64, 8), dim=-1) * (30 * math.log(2)) ** 0.5
    v = 1e-37 * (1 + torch.rand(1, 1, 64, 8))
    assert not can_attend_fast(x, -x, v, 1.0)
    out, _ = fast_forward(x, -x, v, causal=False, scale=1.0)
    assert (out.double() / v.double().mean(dim=2, keepdim=True) - 1).abs().max() > 0.1


def test_beyond_the_limit_sums_overflow(fast):
    """So the limit does something, and what lies beyond it is computed with a maximum."""
    q, k, v = parallel(130.0)
    assert flash_attend(q, k, v, scale=1.0).isfinite().all()
    assert not fast_forward(q, k, v, causal=False, scale=1.0)[0].isfinite().all()


# Who multiplies


ZEN_5 = {"cpu_name": "AMD EPYC 9755", "avx512_f": True}


@pytest.fixture
def amd(monkeypatch):
    """A processor of the kind that gains, whatever this one is, and a product not yet tried."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: ZEN_5, raising=False)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: True)
    fast_cpu._onednn_multiplies.cache_clear()
    yield monkeypatch
    fast_cpu._onednn_multiplies.cache_clear()


@pytest.mark.parametrize(
    ("known", "faster"),
    [
        (ZEN_5, True),
        (None, False),  # a torch that cannot say
        ({"architecture": "arm64", "cpu_name": "Apple M3"}, False),
        ({"cpu_name": "Intel Xeon", "avx512_f": True}, False),
        ({"cpu_name": "AMD Ryzen 5 5600U", "avx512_f": False}, False),
    ],
)
# `flags` sets all its flags, and torch warns of one that means nothing on this processor.
@pytest.mark.filterwarnings("ignore:TF32 acceleration on top of oneDNN")
def test_where_onednn_multiplies(amd, known, faster):
    if known is None:
        amd.delattr(torch.cpu, "get_capabilities")
    else:
        amd.setattr(torch.cpu, "get_capabilities", lambda: known)
    assert fast_cpu.faster_by_onednn(torch.float32) == (faster and fast_cpu._onednn_multiplies())
    assert not fast_cpu.faster_by_onednn(torch.float64)
    with torch.backends.mkldnn.flags(enabled=False):
        assert not fast_cpu.faster_by_onednn(torch.float32)
    amd.setattr(torch.backends.mkl, "is_available", lambda: False)
    assert not fast_cpu.faster_by_onednn(torch.float32)


def missing(x, weight):
    raise AttributeError("'_OpNamespace' 'mkldnn' object has no attribute '_linear_pointwise'")


def of_other_arguments(x, weight):
    raise RuntimeError("mkldnn::_linear_pointwise() Expected a value of type 'str'")


@pytest.mark.parametrize("linear", [missing, of_other_arguments, lambda x, weight: x @ weight])
def test_done_without_an_operator_that_is_missing_or_another(amd, linear):
    amd.setattr(fast_cpu, "_linear", linear)
    assert not fast_cpu.faster_by_onednn(torch.float32)


@pytest.mark.parametrize("b_lies", ["rows", "columns"])
@pytest.mark.parametrize("a_lies", ["rows", "columns"])
@pytest.mark.parametrize(("M", "K", "N"), [(113, 31, 67), (7, 211, 3), (1, 5, 1)])
def test_its_product_is_the_product(monkeypatch, M, K, N, a_lies, b_lies):
    take_path(monkeypatch, ONEDNN)
    a = torch.randn(M, K) if a_lies == "rows" else torch.randn(K, M).T
    b = torch.randn(K, N) if b_lies == "rows" else torch.randn(N, K).T
    found, exact = fast_cpu._multiply_by_onednn(a, b), a.double() @ b.double()
    # float32 rounds a sum of K products to K units in its eighth digit at most.
    most = K * torch.finfo(torch.float32).eps * (a.double().abs() @ b.double().abs())
    assert ((found - exact).abs() <= most).all()
    # What a processor would give that multiplied in 16 bits.
    assert not ((a.bfloat16().double() @ b.bfloat16().double() - exact).abs() <= most).all()


# As layers hand them over: heads side by side in memory, one tensor for q, k and v, ...
LAYOUTS = {
    "heads side by side": lambda B, H, T, D: torch.randn(B, T, H, D).transpose(1, 2),
    "q, k and v in one": lambda B, H, T, D: torch.randn(B, T, 3, H, D)[:, :, 1].transpose(1, 2),
    "columns first": lambda B, H, T, D: torch.randn(B, H, D, T).mT,
    "one head for all": lambda B, H, T, D: torch.randn(B, 1, T, D).expand(B, H, T, D),
    "rows that overlap": lambda B, H, T, D: torch.randn(B, H, T + D).unfold(-1, D, 1)[:, :, :T],
}


@pytest.mark.parametrize("H", [2, 4])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_operands_have_no_gaps(monkeypatch, layout, H):
    """oneDNN takes a thousand times as long for gaps, and refuses rows that overlap."""
    take_path(monkeypatch, ONEDNN)
    multiply, gaps = fast_cpu._linear, []

    def looking(x, weight):
        # The second operand is the large one: its rows or its columns follow one another.
        gaps.append(not (weight.is_contiguous() or weight.mT.is_contiguous()))
        return multiply(x, weight)

    monkeypatch.setattr(fast_cpu, "_linear", looking)
    inputs = [LAYOUTS[layout](2, heads, T, 16) for heads, T in ((H, 211), (2, 307), (2, 307))]
    mine = run(inputs)
    true = run([x.double() for x in inputs], attend=attend_reference)
    assert gaps and not any(gaps)
    for one, other in zip(mine, true, strict=True):
        assert torch.allclose(one.double(), other, atol=1e-5, rtol=1e-5)


# Its threads


@pytest.mark.usefixtures("threads")
def test_the_same_again_bit_for_bit():
    inputs = qkv(131, 137, B=1, H=7, G=7, dtype=torch.float32)
    first, *others = (run(inputs) for _ in range(5))
    for again in others:
        assert all(map(torch.equal, first, again))


@pytest.mark.usefixtures("threads")
def test_nothing_is_left_behind():
    inputs = qkv(11, 13, dtype=torch.float32)
    with torch.inference_mode():
        assert flash_attend(*inputs).is_inference()
    assert torch.get_num_threads() == 3
    assert not [one for one in threading.enumerate() if "ThreadPool" in one.name]


@pytest.mark.usefixtures("threads")
def test_many_callers_at_once():
    given = [qkv(101, 103, B=1, H=3, G=3, dtype=torch.float32) for _ in range(24)]
    expected = [flash_attend(*each, backend="reference") for each in given]
    with ThreadPoolExecutor(8) as callers:
        found = list(callers.map(lambda each: flash_attend(*each), given))
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_an_error_ends_all(kind):
    q, k, _ = qkv(3, 5, B=1, H=1009, G=1009)
    done = []

    def work(head):
        done.append(head)
        if head == (0, 2):
            raise kind("stop")

    with pytest.raises(kind, match="stop"):
        fast_cpu._Tiles(q, k, causal=False).spread(work)
    assert len(done) < 1009 and torch.get_num_threads() == 3
