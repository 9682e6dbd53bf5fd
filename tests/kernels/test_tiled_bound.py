"""Where no maximum is carried: when that is safe, and that the results are the same."""

import math

import pytest
import torch
from support_paths import carry_the_maximum, spare_the_maximum
from support_tiled import qkv, run
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils.kernels import flash_attend, tiled, tiled_products, tiled_schedule
from course_utils.kernels.reference import attend_reference
from course_utils.kernels.tiled import forward_tiles

LIMIT = tiled_products._LARGEST_SCORE
WIDE = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
causal_or_not = pytest.mark.parametrize("causal", [False, True])


@pytest.fixture
def asked(monkeypatch):
    """The bound is asked for, though these inputs are too small to be worth it."""
    spare_the_maximum(monkeypatch)


def bounded(q, k, v, scale):
    return tiled_products.TileProducts(q, scale * tiled_products.LOG2_E).weights_are_bounded(
        q, k, v
    )


def parallel(score, dtype=torch.float32, T=101, S=1009, D=5):
    """Inputs whose scores, in units of log 2, are `score` and `-score`: the bound is reached."""
    along = torch.nn.functional.normalize(torch.randn(D, dtype=torch.float64), dim=0)
    sign = lambda n: torch.randint(2, (1, 1, n, 1)) * 2.0 - 1  # noqa: E731
    size = math.sqrt(score * math.log(2))
    q, k = (size * sign(n) * along for n in (T, S))
    return q.to(dtype), k.to(dtype), torch.randn(1, 1, S, D).to(dtype)


class Calls(TorchDispatchMode):
    """Counts how often an operation runs."""

    def __init__(self, *operations):
        super().__init__()
        self.operations, self.times = operations, 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.times += function.overloadpacket in self.operations
        return function(*args, **(kwargs or {}))


# The answer


@WIDE
@pytest.mark.parametrize("scale", [1.0, -1.0])
def test_the_limit_is_on_the_largest_score(dtype, scale):
    assert bounded(*parallel(0.99 * LIMIT, dtype), scale)
    assert not bounded(*parallel(1.01 * LIMIT, dtype), scale)


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("size", [0.5, 1, 2, 4])
def test_one_score_above_the_limit_is_enough(size):
    q, k, v = qkv(67, 103, D=16, dtype=torch.float32)
    for x in (q, k):
        x.mul_(size)
    largest = (q @ k.repeat_interleave(3, dim=1).mT).abs().amax() * tiled_products.LOG2_E
    scale = float(1.001 * LIMIT / largest)  # one score is just above the limit
    assert not bounded(q, k, v, scale)
    assert bounded(q, k, v, scale / 8)


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("which", range(3))
def test_what_is_not_finite_has_no_bound(which, number):
    inputs = qkv(11, 13, dtype=torch.float32)
    assert bounded(*inputs, 0.2)
    inputs[which][1, -1, -1, -1] = number
    assert not bounded(*inputs, 0.2)


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("size", [2.0**-70, 2.0**61, 3e38, 0])
def test_lengths_beyond_float32_have_no_bound(which, size):
    inputs = qkv(11, 13, dtype=torch.float32)
    inputs[which].mul_(size)
    assert not bounded(*inputs, 0.2 / max(size, 1e-30))


@pytest.mark.parametrize(
    ("sizes", "worth"),
    [
        ({"T": 128, "S": 128, "D": 64}, False),
        ({"T": 512, "S": 512, "D": 64}, True),
        ({"T": 8192, "S": 5, "D": 16}, False),
        ({"T": 64, "S": 4096, "H": 2, "G": 2, "D": 64}, False),
        ({"T": 64, "S": 4096, "H": 16, "G": 2, "D": 16}, True),  # of many query heads each
        ({"T": 1, "S": 9973, "D": 16}, False),
        ({"T": 0, "S": 5}, False),
        ({"T": 5, "S": 0}, False),
        ({"T": 5, "S": 5, "B": 0}, False),
    ],
)
def test_few_scores_need_no_bound(sizes, worth):
    q, k, v = qkv(**{"B": 1, "G": 2, "dtype": torch.float32, **sizes})
    with Calls(torch.ops.aten.linalg_vector_norm) as lengths:
        assert bounded(q, k, v, 0.2 * q.shape[-1] ** -0.5) == worth
    assert lengths.times == (3 if worth else 0)


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("fast", [False, True])
def test_16_bits_are_not_copied_to_be_asked(dtype, fast, monkeypatch):
    monkeypatch.setattr(tiled_products, "_cpu_multiplies_bfloat16", lambda: fast)
    with Calls(torch.ops.aten.linalg_vector_norm) as lengths:
        assert not bounded(*qkv(11, 13, dtype=dtype), 0.2)
    assert lengths.times == 0


@pytest.mark.usefixtures("asked")
def test_no_device_is_waited_for():
    q, k, v = (x.to("meta") for x in qkv(11, 13, dtype=torch.float32))
    assert not bounded(q, k, v, 0.2)


@pytest.mark.usefixtures("asked")
def test_fake_tensors_carry_a_maximum():
    class Layer(torch.nn.Module):
        def forward(self, x):
            return flash_attend(x, x, x, backend="tiled")

    with FakeTensorMode():
        q, k, v = qkv(11, 13, dtype=torch.float32)
        assert not bounded(q, k, v, 0.2)
    x = torch.randn(1, 2, 11, 16)
    exported = torch.export.export(Layer(), (x,), strict=False).module()
    assert torch.allclose(exported(50 * x), Layer()(50 * x), atol=1e-5)


# The results


@causal_or_not
@pytest.mark.usefixtures("asked")
def test_no_maximum_where_bounded(causal, monkeypatch):
    def count():
        with Calls(torch.ops.aten.maximum, torch.ops.aten.sub_) as calls:
            found = forward_tiles(*qkv(97, 203, dtype=torch.float32), causal=causal, scale=0.2)
        assert found[0].isfinite().all()
        return calls.times

    assert count() == 0
    carry_the_maximum(monkeypatch)
    assert count() > 0


@pytest.fixture(params=["Intel Xeon", "AMD EPYC"])
def maker(request, monkeypatch):
    """A processor of each maker: weights are powers of e by one, of 2 by the other."""
    known = {"cpu_name": request.param}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: known, raising=False)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: True)
    return request.param


def test_the_base_is_the_one_that_is_faster(maker, monkeypatch):
    exponentials = torch.ops.aten.exp_, torch.ops.aten.exp2_
    with Calls(exponentials[maker.startswith("AMD")]) as right:
        forward_tiles(*parallel(2.0), causal=False, scale=1.0)
    with Calls(exponentials[maker.startswith("Intel")]) as wrong:
        forward_tiles(*parallel(2.0), causal=False, scale=1.0)
    assert (right.times > 0, wrong.times) == (True, 0)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: False)
    assert tiled_products.TileProducts(torch.zeros(1), 1.0).log2_base == 1


@pytest.mark.parametrize(
    "defect", [None, "later keys stay", "base", "lse"], ids=["none", "later", "base", "lse"]
)
@pytest.mark.parametrize("blocks", [{}, {"block_m": 17, "block_n": 29}], ids=["large", "small"])
@pytest.mark.usefixtures("asked")
def test_results_without_a_maximum(maker, blocks, defect, monkeypatch):
    inputs = qkv(97, 203, dtype=torch.float64)
    assert bounded(*inputs, 0.2)
    exact = attend_reference(*inputs, causal=True, scale=0.2)
    if defect == "later keys stay":
        monkeypatch.setattr(tiled_schedule.TileSchedule, "drop_later", lambda *tile: None)
    if defect == "base":
        weights = tiled.add_weights
        monkeypatch.setattr(tiled, "add_weights", lambda q, *rest: weights(1.1 * q, *rest))
    out, lse_log2 = forward_tiles(*inputs, causal=True, scale=0.2, **blocks)
    lse = lse_log2 if defect == "lse" else lse_log2 / tiled_products.LOG2_E
    same = [torch.allclose(a, b, rtol=1e-12) for a, b in zip((out, lse), exact, strict=True)]
    assert same == {None: [True, True], "lse": [True, False]}.get(defect, [False, False])


@pytest.mark.parametrize("size", [2.0**-59, 1.0, 2.0**57])
def test_error_at_the_limit(size):
    """Weights of 2 ** 32 alone in one half of the rows, of 2 ** -32 in the other."""
    q, k, v = parallel(0.99 * LIMIT)
    inputs = q, k[:, :, :1].expand(1, 1, 500, 5), size * v[:, :, :500]
    assert bounded(*inputs, 1.0)
    truth = attend_reference(*(x.double() for x in inputs), causal=False, scale=1.0)
    plain = attend_reference(*inputs, causal=False, scale=1.0)
    found = forward_tiles(*inputs, causal=False, scale=1.0)
    found = found[0], found[1] / tiled_products.LOG2_E
    for ours, theirs, exact in zip(found, plain, truth, strict=True):
        floor = 4 * 2.0**-23 * exact.abs().max()  # plain torch may be exact by luck
        error, allowed = (ours.double() - exact).abs().max(), (theirs.double() - exact).abs().max()
        assert error <= 2 * allowed + floor


@pytest.mark.usefixtures("asked")
def test_small_values_and_small_weights(monkeypatch):
    """All weights are 2 ** -30: times such a value too small a number for float32."""
    x = torch.nn.functional.normalize(torch.ones(1, 1, 64, 8), dim=-1) * (30 * math.log(2)) ** 0.5
    v = 1e-37 * (1 + torch.rand(1, 1, 64, 8))

    def error():
        out, _ = forward_tiles(x, -x, v, causal=False, scale=1.0)
        return (out.double() / v.double().mean(dim=2, keepdim=True) - 1).abs().max()

    assert error() < 1e-5
    monkeypatch.setattr(tiled_products, "_LENGTHS", (0.0, 2.0**60))
    assert error() > 0.1


def test_beyond_the_limit_sums_would_overflow(monkeypatch):
    """So the limit does something, and what lies beyond it is computed with a maximum."""
    q, k, v = parallel(130.0)
    right = forward_tiles(q, k, v, causal=False, scale=1.0)
    assert all(x.isfinite().all() for x in right)
    monkeypatch.setattr(tiled_products, "_LARGEST_SCORE", 1000.0)
    assert bounded(q, k, v, 1.0)
    wrong = forward_tiles(q, k, v, causal=False, scale=1.0)
    assert not all(x.isfinite().all() for x in wrong)


@pytest.mark.usefixtures("asked")
def test_huge_scale_and_tiny_queries():
    """The lengths' squares underflow: their product says nothing of the scores."""
    q, k, v = qkv(11, 13, dtype=torch.float32)
    found = forward_tiles(1e-24 * q, k, v, causal=False, scale=1e27)
    exact = forward_tiles(q.double(), k.double(), v.double(), causal=False, scale=1e3)
    assert found[0].isfinite().all() and torch.allclose(found[0].double(), exact[0], atol=0.05)


@causal_or_not
@pytest.mark.usefixtures("asked")
def test_gradients_without_a_maximum(causal, monkeypatch):
    inputs = qkv(97, 203, dtype=torch.float64)
    assert bounded(*inputs, 0.2)
    without = run(inputs, causal=causal)
    carry_the_maximum(monkeypatch)
    carried = run(inputs, causal=causal)
    assert not torch.equal(without[0], carried[0])  # two ways indeed
    for a, b in zip(without, carried, strict=True):
        assert torch.allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("asked")
def test_who_watches_sees_the_running_maximum():
    q, k, v = qkv(11, 13, dtype=torch.float64)
    assert bounded(q, k, v, 0.2)
    tiles = []
    blocks = {"block_m": 11, "block_n": 5}
    out, _ = forward_tiles(q, k, v, causal=False, scale=0.2, **blocks, watch=tiles.append)
    assert torch.allclose(out, forward_tiles(q, k, v, causal=False, scale=0.2)[0], rtol=1e-12)
    scores = 0.2 * q @ k.repeat_interleave(3, dim=1).mT
    assert [tile.keys.stop for tile in tiles] == [5, 10, 13]
    for tile in tiles:
        assert torch.allclose(tile.m, scores[..., : tile.keys.stop].amax(dim=-1), rtol=1e-12)
